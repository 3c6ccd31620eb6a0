/**
 * Returns the local name of the elements of an unknown XML file that are probably its records. These are the outermost elements that repeat
 * and contain other elements. Returns undefined if there are none, for a web page, and for a feed, because its layout is known.
 * `beginning`: first part of the file, cut off anywhere.
 */
export function likelyItem(beginning: string): string | undefined {
  const statsByElement = new Map<string, { depth: number; count: number; hasChildren: boolean }>()
  const open: string[] = []
  for (const [, close, name = '', selfClosed] of beginning.matchAll(
    /<(\/)?([A-Za-z_][\w.:-]*)(?![\w.:-])(?:[^<>"']|"[^"<]*"|'[^'<]*')*?(\/)?>/g,
  )) {
    const local = name.slice(name.indexOf(':') + 1)
    if (close !== undefined) {
      open.pop()
      continue
    }
    if (open.length === 0 && /^(?:rss|feed|channel|html)$/i.test(local)) return undefined
    const parent = statsByElement.get(open.at(-1) ?? '')
    if (parent !== undefined) parent.hasChildren = true
    const known = statsByElement.get(local)
    if (known !== undefined) known.count++
    else statsByElement.set(local, { depth: open.length, count: 1, hasChildren: false })
    if (selfClosed === undefined) open.push(local)
  }
  const [best] = [...statsByElement]
    .filter(([, { depth, count, hasChildren }]) => depth > 0 && hasChildren && count > 1)
    .sort(([, a], [, b]) => a.depth - b.depth || b.count - a.count)
  return best?.[0]
}

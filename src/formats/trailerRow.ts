/**
 * Returns a function that reads the number of rows from a trailer row such as `#rows=1200`. The function returns undefined for any other
 * row. `pattern`: plain text with one `{n}`, never a regular expression (docs/inputs.md, case 136).
 */
export function trailerReader(pattern: string): (text: string) => number | undefined {
  const [before = '', after = ''] = pattern.split('{n}', 2)
  return (text) => {
    if (!text.startsWith(before) || !text.endsWith(after)) return undefined
    const digits = text.slice(before.length, text.length - after.length)
    return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined
  }
}

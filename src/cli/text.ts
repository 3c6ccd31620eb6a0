/** How numbers, times and foreign texts look for people. `--json` never passes through here. */
import { fitting, padded, width } from './width.ts'

const numbers = new Intl.NumberFormat('en-US')

/** `10,240`. */
export function count(value: number): string {
  return numbers.format(value)
}

/** `1 request`, `14 requests`. */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** `0.4 s`, `18 s`, `3 min 5 s`, `2 h 4 min`. */
export function duration(ms: number): string {
  const seconds = ms / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`
}

/** ISO instant without milliseconds, zone included. */
export function instant(value: string | Date | number): string {
  return new Date(value).toISOString().replace(/\.\d{3}Z$/, 'Z')
}

/**
 * A foreign text made safe for a terminal: control characters, bidirectional overrides and line breaks become visible
 * escapes, so that no feed can move the cursor or forge a line.
 */
export function safe(text: string): string {
  return text.replace(
    // oxlint-disable-next-line no-control-regex -- control characters are the point
    /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** A path below the working directory as a person would write it: sources know theirs as absolute ones, pipelines as written. */
export function below(where: string): string {
  const folder = `${process.cwd()}/`
  return where.startsWith(folder) ? where.slice(folder.length) : where
}

/** An address without what may be secret in it, names, passwords and queries: what is shown ends in logs. Paths stay as they are. */
export function shownAddress(source: string): string {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(source)) return source
  if (!URL.canParse(source)) return `${source.slice(0, source.indexOf(':') + 1)}…`
  const url = new URL(source)
  if (url.username + url.password + url.search === '') return source
  return `${url.protocol}//${url.host}${url.pathname}${url.search === '' ? '' : '?…'}`
}

/** Cut to so many columns with an ellipsis; for terminals only: what is piped is never cut. */
export function cut(text: string, columns: number): string {
  return width(text) <= columns ? text : `${fitting(text, columns - 1)}…`
}

/**
 * Lines as a terminal shows them without breaking words: what is wider than `columns` goes on below, under the last cell
 * that begins in the left half. A word wider than all columns stays whole, and so do pipes (`columns` undefined).
 */
export function fold(text: string, columns: number | undefined): string {
  if (columns === undefined) return text
  return text
    .split('\n')
    .map((line) => (shownLength(line) <= columns ? line : foldLine(line, columns)))
    .join('\n')
}

function foldLine(line: string, columns: number): string {
  const cells = [...line.matchAll(/ {2,}(?=\S)/g)].map(({ index, 0: blanks }) => shownLength(line.slice(0, index + blanks.length)))
  const indent = ' '.repeat(cells.findLast((at) => at <= columns / 2) ?? 2)
  const lines: string[] = []
  let current = ''
  for (const [word] of line.matchAll(/ *[^ ]+/g)) {
    if (current.trim() !== '' && shownLength(current + word) > columns) {
      lines.push(current)
      const next = word.trimStart()
      current = (shownLength(indent + next) <= columns ? indent : '  ') + next
    } else current += word
  }
  return [...lines, current].join('\n')
}

/** Colours take no room. */
function shownLength(text: string): number {
  // oxlint-disable-next-line no-control-regex -- the escape byte is what is left out
  return width(text.replaceAll(/\u001b\[\d+m/g, ''))
}

/** Lines of cells, each column as wide as its widest cell; the columns in `right` are aligned right. */
export function table(rows: readonly (readonly string[])[], right: ReadonlySet<number> = new Set()): string {
  const widths: number[] = []
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, width(cell))
  return rows
    .map((row) =>
      row
        .map((cell, i) => {
          const room = widths[i] ?? 0
          return right.has(i) ? ' '.repeat(room - width(cell)) + cell : i === row.length - 1 ? cell : padded(cell, room)
        })
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('')
}

/**
 * A table for a terminal that may be too narrow for it: then each row goes on below its first cell, and no cell is broken;
 * one that alone is wider than its room is cut. Pipes (`columns` undefined) get the table as it is.
 */
export function tableWithin(columns: number | undefined, rows: readonly (readonly string[])[], right?: ReadonlySet<number>): string {
  const whole = table(rows, right)
  if (columns === undefined || whole.split('\n').every((line) => width(line) <= columns)) return whole
  const indent = Math.max(...rows.map(([first = '']) => width(first))) + 2
  return rows
    .map(([first = '', ...cells]) => {
      const lines = [padded(first, indent)]
      for (const cell of cells) {
        const line = lines.at(-1) ?? ''
        const longer = `${line}${width(line) === indent ? '' : '  '}${cell}`
        if (width(line) === indent || width(longer) <= columns) lines[lines.length - 1] = cut(longer, columns)
        else lines.push(cut(' '.repeat(indent) + cell, columns))
      }
      return `${lines.join('\n')}\n`
    })
    .join('')
}

/** Formats numbers, times, external texts and tables for terminals. */
import type { Output } from '../context.ts'
import { fitting, padded, width } from './width.ts'

export { count, duration, instant, plural } from '../../format.ts'

/**
 * Makes an external text safe for a terminal: control characters, bidirectional overrides and line breaks become visible escapes. So a
 * feed cannot move the cursor or forge a line.
 */
export function safe(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Shortens a path below the working directory to a relative path; returns any other text unchanged. */
export function relativePath(where: string): string {
  const folder = `${process.cwd()}/`
  return where.startsWith(folder) ? where.slice(folder.length) : where
}

/** Cuts a text that is wider than `columns`, and ends it with an ellipsis. For a pipe, `columns` is undefined and the text is unchanged. */
export function cut(text: string, columns: number | undefined): string {
  return columns === undefined || width(text) <= columns ? text : `${fitting(text, columns - 1)}…`
}

/**
 * Folds lines that are wider than `columns`, between words. A cell is a text after two spaces. Further lines are indented like the last
 * cell that begins in the left half, else by two spaces. A word that is too wide is not broken. If `columns` is undefined (a pipe), returns
 * the text unchanged.
 */
export function fold(text: string, columns: number | undefined): string {
  if (columns === undefined) return text
  return text
    .split('\n')
    .map((line) => (shownLength(line) <= columns ? line : foldLine(line, columns)))
    .join('\n')
}

function foldLine(line: string, columns: number): string {
  let indentWidth = 2
  for (const { index, 0: spaces } of line.matchAll(/(?<! ) {2,}(?=\S)/g)) {
    const at = shownLength(line.slice(0, index + spaces.length))
    if (at > columns / 2) break
    indentWidth = at
  }
  const indent = ' '.repeat(indentWidth)
  const lines: string[] = []
  let current = ''
  for (const [word] of line.matchAll(/(?:(?<! ) +)?[^ ]+/g)) {
    if (current.trim() !== '' && shownLength(current + word) > columns) {
      lines.push(current)
      const next = word.trimStart()
      current = (shownLength(indent + next) <= columns ? indent : '  ') + next
    } else current += word
  }
  return [...lines, current].join('\n')
}

/** Returns the width of a text in columns, without its colour codes. */
function shownLength(text: string): number {
  return width(text.replaceAll(/\u001b\[\d+m/g, ''))
}

/** Returns a hint with the global options of the call in its commands. */
export function hintText(hint: string, { completeHint }: Pick<Output, 'completeHint'>): string {
  return completeHint?.(hint) ?? hint
}

/** Formats the next commands, one per line, the first after `Next`. They are never folded, so that they can be pasted. */
export function nextLines(commands: readonly string[], output: Pick<Output, 'completeHint'>): string {
  return commands.map((command, i) => `${i === 0 ? 'Next' : '    '}  ${hintText(command, output)}\n`).join('')
}

/** Formats rows as a table with two spaces between columns. `right`: indexes of the columns that are aligned right. */
export function table(rows: readonly (readonly string[])[], right: ReadonlySet<number> = new Set()): string {
  const widths: number[] = []
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, width(cell))
  return rows
    .map((row) =>
      row
        .map((cell, i) => {
          const columnWidth = widths[i] ?? 0
          return right.has(i) ? ' '.repeat(columnWidth - width(cell)) + cell : i === row.length - 1 ? cell : padded(cell, columnWidth)
        })
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('')
}

/**
 * Formats a table like `table`. If a line has more than `columns` columns, breaks each row between cells into several lines, without
 * alignment. Then a cell that is too wide is cut. For a pipe, `columns` is undefined and the table is whole.
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

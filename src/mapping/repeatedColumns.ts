/** Numbers repeated columns: the second `Email` in the fifth column is called `Email (column 5)`. */

const repeat = /^(.*) \(column \d+\)$/s

/** Returns the header with each repeated name numbered. Empty names stay. */
export function numberRepeats(header: readonly string[]): readonly string[] {
  const seen = new Set<string>()
  return header.map((column, index) => {
    if (column === '' || !seen.has(column)) {
      seen.add(column)
      return column
    }
    return `${column} (column ${index + 1})`
  })
}

export function isRepeat(column: string): boolean {
  return repeat.test(column)
}

/** Returns the numbered names of the columns that repeat `name` in the file; empty for most names. */
export function repeatsOf(name: string, columns: readonly string[]): readonly string[] {
  return columns.filter((column) => repeat.exec(column)?.[1] === name)
}

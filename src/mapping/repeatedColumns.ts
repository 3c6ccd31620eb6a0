/** Renames repeated columns by position: a second `Email`, in the fifth column, becomes `Email (column 5)`. */

const repeat = /^(.*) \(column \d+\)$/s

/** Returns the header with its repeated names renamed by position. The first column of a name keeps it. Empty names stay empty. */
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

/** Returns true for a name that has the form of a renamed column. */
export function isRepeat(column: string): boolean {
  return repeat.test(column)
}

/** Returns the new names of the columns that repeat `name` in the file; empty for most names. */
export function repeatsOf(name: string, columns: readonly string[]): readonly string[] {
  return columns.filter((column) => repeat.exec(column)?.[1] === name)
}

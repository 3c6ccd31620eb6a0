/** Renames repeated columns by position: a second `Email`, in the fifth column, becomes `Email (column 5)`. */

/** Matches the name of a renamed column. Group: the repeated name. */
const renamed = /^(.*) \(column \d+\)$/s

/** Returns the header with its repeated names renamed. The first column with a name keeps it. Empty names stay empty. */
export function renameRepeats(header: readonly string[]): readonly string[] {
  const seen = new Set<string>()
  return header.map((column, index) => {
    if (column === '' || !seen.has(column)) {
      seen.add(column)
      return column
    }
    return `${column} (column ${index + 1})`
  })
}

/** Returns true for a name in the form that `renameRepeats` gives to a repeated column. */
export function isRepeat(column: string): boolean {
  return renamed.test(column)
}

/** Returns the names that `renameRepeats` gave to the repeats of `name`. */
export function repeatsOf(name: string, columns: readonly string[]): readonly string[] {
  return columns.filter((column) => renamed.exec(column)?.[1] === name)
}

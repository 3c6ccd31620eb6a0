/**
 * Columns of formats whose rows name their own cells (JSON, XML): grows as names turn up. Rows of one batch share one
 * array, so that whoever maps them can keep what it worked out per array.
 */
export class ColumnRegistry {
  readonly #positions = new Map<string, number>()
  #names: readonly string[] = []

  /** Those that are known to be there already. */
  add(names: readonly string[]): void {
    for (const name of names) this.position(name)
  }

  /** Position of a column, added at the end when it is new. */
  position(name: string): number {
    const known = this.#positions.get(name)
    if (known !== undefined) return known
    const added = this.#positions.size
    this.#positions.set(name, added)
    return added
  }

  /** All names so far, in order of first appearance; the same array until a name is added. */
  names(): readonly string[] {
    if (this.#names.length !== this.#positions.size) this.#names = [...this.#positions.keys()]
    return this.#names
  }
}

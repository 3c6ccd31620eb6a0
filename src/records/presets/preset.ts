import type { PresetField } from '../fields.ts'

/** What an export of a well-known kind looks like: data only, one file each. */
export interface Preset {
  /** As written in `preset:`. */
  readonly name: string
  readonly title: string
  readonly kind: 'catalog' | 'members'
  /** A header as such an export has it. */
  readonly sample: readonly string[]
  /** Columns that together tell it from the others, compared by `normalizeHeader`. */
  readonly recognize: readonly string[]
  /** Other sets that tell it as well: earlier headers of the product, exports of fewer columns. */
  readonly recognizeAlso?: readonly (readonly string[])[]
  /** Target field → the names of its column, first present one first. */
  readonly map: Readonly<Record<string, PresetField>>
  /** Required fields that no such export has → the column to make them of, and what its owner puts before it. */
  readonly ask?: Readonly<Record<string, { readonly columns: readonly string[]; readonly prefix: string }>>
  /** What the export says of who may be reached: every test whose column is there has to pass. */
  readonly consent?: readonly PresetTest[]
}

export interface PresetTest {
  /** Names of the column, the first that is there counts. */
  readonly columns: readonly string[]
  /** Compared trimmed and case-blind; `''` is an empty cell. */
  readonly values: readonly string[]
  /** An export without the column cannot say who may be reached, and its owner is told. */
  readonly expected?: boolean
}

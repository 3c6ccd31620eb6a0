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
  /** How such an export spreads one product over several rows (records/spread/). */
  readonly spread?: HandleSpread | ParentSpread
}

/** Rows of a product follow each other under one handle. Names of columns, the first that is there counts. */
export interface HandleSpread {
  readonly kind: 'handle'
  readonly handle: readonly string[]
  /** Filled in the first row of a product, and there alone. */
  readonly title: readonly string[]
  readonly image: readonly string[]
  /** A row with nothing in any of them, but with an image, is a further image of its product. */
  readonly offer: readonly string[]
  /** What the product says for all of its rows: all of these that are there, and those that look so. */
  readonly inherited: readonly string[]
  readonly inheritedLike: RegExp
}

/** Products with variations have a row of their own, which their variations name by SKU or as `id:` and its number. */
export interface ParentSpread {
  readonly kind: 'parent'
  readonly type: string
  readonly id: string
  readonly sku: string
  readonly parent: string
  /** `1` for what is. */
  readonly published: string
  readonly inherited: readonly string[]
}

export interface PresetTest {
  /** Names of the column, the first that is there counts. */
  readonly columns: readonly string[]
  /** Compared trimmed and case-blind; `''` is an empty cell. */
  readonly values: readonly string[]
  /** An export without the column cannot say who may be reached, and its owner is told. */
  readonly expected?: boolean
}

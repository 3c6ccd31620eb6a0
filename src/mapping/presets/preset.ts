import type { PresetField } from '../fields.ts'

/** Description of a well-known export: data only, one file each. */
export interface Preset {
  /** Name in `preset:`. */
  readonly name: string
  readonly title: string
  readonly records: 'products' | 'members'
  /** Header of such an export. */
  readonly sample: readonly string[]
  /** Columns that together identify the export, compared by `normalizeHeader`. */
  readonly recognize: readonly string[]
  /** Other sets of columns that identify it: earlier headers, exports with fewer columns. */
  readonly recognizeAlso?: readonly (readonly string[])[]
  /** True for an upload template of common words (`Email`, `Phone`), which many other exports have too. */
  readonly isTemplate?: boolean
  /** Columns that only exports of other products have: a header with one of them is not this export. */
  readonly otherExports?: readonly string[]
  /** Target field → names of its column; the first present one counts. */
  readonly map: Readonly<Record<string, PresetField>>
  /** Required fields that no such export has → the column to derive them from, and the text that the user puts before it. */
  readonly ask?: Readonly<Record<string, { readonly columns: readonly string[]; readonly prefix: string }>>
  /** Consent tests of the export: every test whose column is present must pass. */
  readonly consent?: readonly PresetTest[]
  /** Columns that sound like consent and decide nothing beside these tests. */
  readonly irrelevant?: readonly string[]
  /** Row groups of the export: one product over several rows. */
  readonly rowGroups?: HandleRowGroups | ParentRowGroups
}

/** Row groups by handle: rows of a product follow each other. Of several names of a column, the first present one counts. */
export interface HandleRowGroups {
  readonly kind: 'handle'
  readonly handle: readonly string[]
  /** Filled only in the first row of a product. */
  readonly title: readonly string[]
  readonly image: readonly string[]
  /** A row with an image and none of these is a further image of its product. */
  readonly offer: readonly string[]
  /** Columns whose value applies to all rows of the product: all of these that are present, and those that match the pattern. */
  readonly inherited: readonly string[]
  readonly inheritedLike: RegExp
}

/** Row groups by parent: a product with variations has its own row, which variations name by SKU or as `id:` and its number. */
export interface ParentRowGroups {
  readonly kind: 'parent'
  readonly type: string
  readonly id: string
  readonly sku: string
  readonly parent: string
  /** Column that contains `1` for published products. */
  readonly published: string
  readonly inherited: readonly string[]
}

export interface PresetTest {
  /** Names of the column; the first present one counts. */
  readonly columns: readonly string[]
  /** Compared trimmed and ignoring case; `''` is an empty cell. */
  readonly values: readonly string[]
  /** True if an export without the column cannot prove consent, so that the user is warned. */
  readonly expected?: boolean
  /** Decides over the identifiers of this kind only; if absent, over the row. */
  readonly only?: 'phone_number'
}

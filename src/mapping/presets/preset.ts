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
  /** True for an upload template whose column names (`Email`, `Phone`) many other exports have too. */
  readonly isTemplate?: boolean
  /** Columns that only exports of other systems have. A header with one of them is not this export. */
  readonly otherExports?: readonly string[]
  /** Target field → names of its column. The first one in the header is used. */
  readonly map: Readonly<Record<string, PresetField>>
  /**
   * Required fields that no such export has. For each: the column to derive it from, and an example of the text to put before its
   * values.
   */
  readonly ask?: Readonly<Record<string, { readonly columns: readonly string[]; readonly prefix: string }>>
  /** Consent tests of the export: every test whose column is present must pass. */
  readonly consent?: readonly PresetTest[]
  /** Columns whose names look like consent, but which add nothing to these tests. */
  readonly irrelevant?: readonly string[]
  /** Row groups of the export: one product over several rows. */
  readonly rowGroups?: HandleRowGroups | ParentRowGroups
}

/**
 * Row groups by handle: the rows of a product follow each other. Each list has the possible names of one column; the first one in
 * the header is used.
 */
export interface HandleRowGroups {
  readonly kind: 'handle'
  readonly handle: readonly string[]
  /** Filled only in the first row of a product. */
  readonly title: readonly string[]
  readonly image: readonly string[]
  /** Columns of an offer. A row with an image but none of these only adds the image to its product. */
  readonly offer: readonly string[]
  /** Columns whose value in the first row applies to all rows of the product, in addition to those that match `inheritedLike`. */
  readonly inherited: readonly string[]
  readonly inheritedLike: RegExp
}

/** Row groups by parent: a product with variations has its own row. Its variations refer to it by SKU, or as `id:` and a number. */
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
  /** Names of the column. The first one in the header is used. */
  readonly columns: readonly string[]
  /** Compared trimmed and ignoring case; `''` is an empty cell. */
  readonly values: readonly string[]
  /** True if the user must be warned about an export without the column, because it cannot prove consent. */
  readonly expected?: boolean
  /** Applies only to the identifiers of this type. Without it, the test applies to the row. */
  readonly only?: 'phone_number'
}

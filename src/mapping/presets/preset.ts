import type { PresetField } from '../fields.ts'

/** Description of a well-known export: data, and functions of single fields (`compute`); one file each. */
export interface Preset {
  /** Name in `preset:`. */
  readonly name: string
  readonly title: string
  readonly records: 'products' | 'members'
  /** Header of an export. */
  readonly sample: readonly string[]
  /** Columns that together identify the export, compared by `normalizeHeader`. */
  readonly recognize: readonly string[]
  /** Other sets of columns that identify the export: earlier headers, exports with fewer columns. */
  readonly recognizeAlso?: readonly (readonly string[])[]
  /** True for an upload template whose column names (`Email`, `Phone`) many other exports have too. */
  readonly isTemplate?: boolean
  /** Columns that only exports of other systems have. A header with one of them is not this export. */
  readonly otherExports?: readonly string[]
  /**
   * Target field → the possible names of its columns. A row uses the first filled column. Identifiers, `additional_image_link` and fields
   * with `compute` use all columns.
   */
  readonly map: Readonly<Record<string, PresetField>>
  /**
   * Required field that the export never has → columns to derive it from (the first in the header is used), and an example of the prefix
   * for their values.
   */
  readonly ask?: Readonly<Record<string, { readonly columns: readonly string[]; readonly prefix: string }>>
  /**
   * Consent tests, used if the pipeline has no `consent:`. A row must pass every test whose column is in the header. A failed test with
   * `appliesTo` leaves out only the identifiers of that type.
   */
  readonly consent?: readonly PresetTest[]
  /** Columns that look like consent by their names, but add nothing to the tests of `consent`. No warning asks for a setting for them. */
  readonly irrelevant?: readonly string[]
  /** Row groups of the export: one product over several rows. */
  readonly rowGroups?: HandleRowGroups | ParentRowGroups
}

/**
 * Row groups by handle: the rows of a product follow each other. `handle`, `title` and `image` each list the possible names of one
 * column; the first one in the header is used.
 */
export interface HandleRowGroups {
  readonly kind: 'handle'
  readonly handle: readonly string[]
  /** Filled only in the first row of a product. */
  readonly title: readonly string[]
  readonly image: readonly string[]
  /** Columns of an offer. A row with an image but none of these only adds the image to its product. */
  readonly offer: readonly string[]
  /** Columns whose empty cells are filled from the first row of the product; also all columns that match `inheritedLike`. */
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
  /** Columns whose empty cells in a variation are filled from the row of its product. */
  readonly inherited: readonly string[]
}

export interface PresetTest {
  /** Names of the column. The first one in the header is used. */
  readonly columns: readonly string[]
  /** Values that pass, compared by `comparableText`; `''` is an empty cell. */
  readonly values: readonly string[]
  /** True if the user must be warned about an export without the column, because it cannot prove consent. */
  readonly expected?: boolean
  /** Identifier type that the test applies to. If undefined, or if no other type is sent, the test applies to the whole row. */
  readonly appliesTo?: 'phone_number'
}

import type { PresetField } from '../fields.ts'

/** Description of a well-known export. It contains only data, and functions that compute single fields. */
export interface Preset {
  /** Name in `preset:`. */
  readonly name: string
  readonly title: string
  readonly records: 'products' | 'members'
  /** Typical header of an export. */
  readonly sample: readonly string[]
  /** Columns that together identify the export, compared by `normalizeHeader`. */
  readonly recognize: readonly string[]
  /** Other sets of columns that identify the export: earlier headers, exports with fewer columns. */
  readonly recognizeAlso?: readonly (readonly string[])[]
  /**
   * True for an upload template whose column names (`Email`, `Phone`) many other exports have too. It is recognized only if it knows at
   * least half of the columns of the header.
   */
  readonly isTemplate?: boolean
  /** Columns that only exports of other systems have. A header with one of them is not this export. */
  readonly columnsOfOtherExports?: readonly string[]
  /**
   * Target field → the possible names of its columns. The field takes the first filled column of a row. Identifiers,
   * `additional_image_link` and fields with `compute` use all columns.
   */
  readonly map: Readonly<Record<string, PresetField>>
  /**
   * Required field that the export never has → how the hint derives it: put a prefix before the values of a column. The hint names the
   * first of `columns` that is in the header with exactly this name. `prefix` is an example.
   */
  readonly suggestedPrefix?: Readonly<Record<string, { readonly columns: readonly string[]; readonly prefix: string }>>
  /**
   * Consent tests, used if the pipeline has no `consent:`. A test is skipped if its column is not in the header. A row must pass every
   * other test; `appliesTo` limits a test to the identifiers of one type. On a do-not-reach list without `map: { remove }`, a row that
   * passes all tests without `appliesTo` is removed; no row is removed if the column of an `expected` test is missing.
   */
  readonly consent?: readonly PresetTest[]
  /**
   * Matches the name of a file of this export whose people did not agree, although it has the columns of those who did. Without `consent:`,
   * such a file causes the warning `CONSENT_UNKNOWN`.
   */
  readonly unconsentedFile?: RegExp
  /** Columns that look like consent columns by their names, but do not decide about consent. They cause no warning. */
  readonly irrelevant?: readonly string[]
  /** Row groups of the export: one product over several rows. */
  readonly rowGroups?: HandleRowGroups | ParentRowGroups
}

/**
 * Row groups by handle (the name of a product in its address): the rows of a product follow each other. `handle`, `title` and `image` each
 * list the possible names of one column. The first name that is in the header is used.
 */
export interface HandleRowGroups {
  readonly kind: 'handle'
  readonly handle: readonly string[]
  /** Filled only in the first row of a product. */
  readonly title: readonly string[]
  readonly image: readonly string[]
  /** Columns of an offer. A row with an image and with all of these empty only adds the image to its product. */
  readonly offer: readonly string[]
  /** Columns whose empty cells are filled from the first row of the product; also all columns that match `inheritedLike`. */
  readonly inherited: readonly string[]
  readonly inheritedLike: RegExp
}

/**
 * Row groups by parent: a product with variations has its own row. Its variations refer to it by SKU, or as `id:` and a number. The
 * properties are names of columns.
 */
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

/** Consent test of a preset: every text of one cell must be one of `values`. */
export interface PresetTest {
  /** Possible names of the column. The first name that is in the header is used. */
  readonly columns: readonly string[]
  /** Values that pass, compared by `comparableText`; `''` is an empty cell. */
  readonly values: readonly string[]
  /** True if an export without the column causes the warning `CONSENT_UNKNOWN`. */
  readonly expected?: boolean
  /**
   * Identifier type that the test is about. A row that fails the test loses its identifiers of this type. The whole row fails if
   * `appliesTo` is undefined, or if no other type is mapped. The test is skipped if this type is not mapped.
   */
  readonly appliesTo?: 'phone_number'
}

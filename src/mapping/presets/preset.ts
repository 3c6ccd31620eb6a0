import type { PresetField } from '../fields.ts'

/** Description of a well-known export. It contains only data, and functions that compute single fields. */
export interface Preset {
  /** Name in `preset:`. */
  readonly name: string
  readonly title: string
  readonly records: 'products' | 'members'
  /** Header of a typical file of the export. */
  readonly sample: readonly string[]
  /** Columns that together identify the export, compared by `normalizeHeader`. */
  readonly recognize: readonly string[]
  /** Other sets of columns that identify the export: earlier headers, exports with fewer columns. */
  readonly recognizeAlso?: readonly (readonly string[])[]
  /**
   * True for an upload template with common column names (`Email`, `Phone`). Many other exports have them too. So the preset is recognized
   * only if it names at least half of the columns of the header.
   */
  readonly isTemplate?: boolean
  /** Columns that only exports of other systems have. A header with one of them is not recognized as this export. */
  readonly columnsOfOtherExports?: readonly string[]
  /**
   * Target field → the possible names of its columns. The field takes the first filled column of a row. Identifiers,
   * `additional_image_link` and fields with `compute` use all columns.
   */
  readonly map: Readonly<Record<string, PresetField>>
  /**
   * Required field that the export never has → values for a hint that suggests a column and a prefix before its values. The hint names the
   * first of `columns` that is in the header with exactly this name, and `prefix` as an example.
   */
  readonly suggestedPrefix?: Readonly<Record<string, { readonly columns: readonly string[]; readonly prefix: string }>>
  /**
   * Consent tests, used if the pipeline has no `consent:`. A test is skipped if its column is not in the header. A row must pass every
   * other test; `appliesTo` limits a test to the identifiers of one type.
   *
   * A do-not-reach list without `map: { remove }` uses the tests without `appliesTo`: a row that passes all of them is removed from the
   * list. No row is removed if the column of an `expected` test is missing.
   */
  readonly consent?: readonly PresetTest[]
  /**
   * Matches the names of files of people who did not consent, if the columns of these files do not show it. Such a file causes the warning
   * `CONSENT_UNKNOWN`, except in a pipeline with `consent:`.
   */
  readonly unconsentedFile?: RegExp
  /** Columns that are not searched for consent and identifiers, like those of the pipeline's `ignore:`. They cause no warning. */
  readonly ignore?: readonly string[]
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
  /** Columns that each row inherits: an empty cell is filled from the first row of the product. */
  readonly inherited: readonly string[]
  /** Matches the names of further inherited columns. */
  readonly inheritedLike: RegExp
}

/**
 * Row groups by parent: a product with variations has a row, and each variation has a row. A variation refers to its product by SKU, or by
 * `id:` and the id of the product. The properties except `kind` are names of columns.
 */
export interface ParentRowGroups {
  readonly kind: 'parent'
  readonly type: string
  readonly id: string
  readonly sku: string
  readonly parent: string
  /** Column that contains `1` for published products. */
  readonly published: string
  /** Columns that a variation inherits: an empty cell is filled from the row of its product. */
  readonly inherited: readonly string[]
}

/** Consent test of a preset: every text of one cell must be one of `values`. */
export interface PresetTest {
  /** Possible names of the column. The first name that is in the header is used. */
  readonly columns: readonly string[]
  /** Values that pass, compared by `comparableText`; `''` is an empty cell. */
  readonly values: readonly string[]
  /**
   * True if an export without the column causes the warning `CONSENT_UNKNOWN`. A pipeline that defines its own tests has no such warning.
   */
  readonly expected?: boolean
  /**
   * Identifier type that the test is about; undefined if the test is about the whole row. A row that fails the test loses its identifiers
   * of this type. The whole row fails if no other type is mapped. The test is skipped if this type is not mapped.
   */
  readonly appliesTo?: 'phone_number'
}

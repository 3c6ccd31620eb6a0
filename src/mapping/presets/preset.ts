import type { PresetField } from '../fields.ts'

/** Description of a well-known export. It contains only data, and functions that compute single fields. */
export interface Preset {
  /** Name in `preset:`. */
  readonly name: string
  /** Name for messages and pages, after `a`: `HubSpot contact export`. */
  readonly title: string
  readonly records: 'products' | 'members'
  /** Column names of a typical file of the export. */
  readonly sample: readonly string[]
  /** Columns that together identify the export. Their names are compared by `normalizeHeader`. */
  readonly recognize: readonly string[]
  /** Other sets of columns that identify the export: earlier headers, exports with fewer columns. */
  readonly recognizeAlso?: readonly (readonly string[])[]
  /**
   * True for an upload template with column names that many other exports have too (`Email`, `Phone`). So the preset is recognized only if
   * it names at least half of the columns of the header.
   */
  readonly isTemplate?: boolean
  /** Columns that only exports of other systems have. A header with one of them is not recognized as this export. */
  readonly columnsOfOtherExports?: readonly string[]
  /**
   * Target field → its columns, each by all its possible names. In each row, a field takes the first of its columns that is not empty.
   * Identifiers, `additional_image_link` and fields with `compute` take all columns.
   */
  readonly map: Readonly<Record<string, PresetField>>
  /**
   * Required field that no export of this type has → parts of its hint. The hint maps a column, and puts a prefix before each value. The
   * column is the first of `columns` that the header has under exactly this name. `prefix` is an example.
   */
  readonly suggestedPrefix?: Readonly<Record<string, { readonly columns: readonly string[]; readonly prefix: string }>>
  /**
   * Consent tests. If the header lacks the column of a test, the test is skipped.
   * - In an audience, they are used if the pipeline has no `consent:`. A row must pass every test. `appliesTo` limits a test to the
   *   identifiers of one type.
   * - In a do-not-reach list, they are used if the pipeline has no `map: { remove }`. A row that passes every test without `appliesTo` is
   *   removed from the list. If the header lacks the column of an `expected` test, no row is removed.
   */
  readonly consent?: readonly PresetTest[]
  /**
   * Matches the name of a file of people who did not consent. Needed if no column of this file shows that. If the pipeline has no
   * `consent:`, such a file causes the warning `CONSENT_UNKNOWN`.
   */
  readonly unconsentedFile?: RegExp
  /** Unmapped columns that have the same effect as those of the pipeline's `ignore:`. They are not searched, and cause no warning. */
  readonly ignore?: readonly string[]
  /** Set if the export spreads one product over several rows. */
  readonly rowGroups?: HandleRowGroups | ParentRowGroups
}

/**
 * Row groups by handle, the name of a product in its address. The rows of a product have the same handle, and follow each other. `handle`,
 * `title` and `image` each list the possible names of one column. The first name that the header has is used.
 */
export interface HandleRowGroups {
  readonly kind: 'handle'
  readonly handle: readonly string[]
  /** Title, filled only in the first row of a product. */
  readonly title: readonly string[]
  /** Address of an image of the product. */
  readonly image: readonly string[]
  /** Columns of an offer. A row that has an image, but no value in these columns, only adds the image to its product. */
  readonly offer: readonly string[]
  /** Columns that the rows of a product inherit: an empty cell is filled from its first row. */
  readonly inherited: readonly string[]
  /** Matches the names of further inherited columns. */
  readonly inheritedLike: RegExp
}

/**
 * Row groups by parent. A product with variations has a row of its own, the parent. Each variation has a row that refers to the parent. All
 * properties except `kind` are names of columns.
 */
export interface ParentRowGroups {
  readonly kind: 'parent'
  /** Type of the row. A text that begins with `variable` is a parent. A text that contains `variation` is a variation. */
  readonly type: string
  /** Id of the product or variation. */
  readonly id: string
  /** SKU of the product or variation. */
  readonly sku: string
  /** Parent of a variation: the SKU of the parent, or its id after `id:`, such as `id:7`. */
  readonly parent: string
  /** `1` for a published product or variation. */
  readonly published: string
  /** Columns that a variation inherits: an empty cell is filled from its parent. */
  readonly inherited: readonly string[]
}

/** Consent test of a preset: every text of one cell must be one of `values`. */
export interface PresetTest {
  /** Possible names of the column. The first name that is in the header is used. */
  readonly columns: readonly string[]
  /** Values that pass, compared by `comparableText`; `''` is an empty cell. */
  readonly values: readonly string[]
  /** True if a header without the column causes the warning `CONSENT_UNKNOWN`. A pipeline with its own tests has no such warning. */
  readonly expected?: boolean
  /**
   * Identifier type that the test is about; undefined if the test is about the whole row. A row that fails the test loses its identifiers
   * of this type. If no other type is mapped, the whole row fails. If this type is not mapped, the test is skipped.
   */
  readonly appliesTo?: 'phone_number'
}

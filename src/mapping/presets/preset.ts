import type { PresetField } from '../fields.ts'

/** Well-known export: how to recognize its header, and what its columns mean. */
export interface Preset {
  /** Name in `preset:`. */
  readonly name: string
  /** Name for messages and pages, which write `a` before it: `HubSpot contact export`. */
  readonly title: string
  readonly records: 'products' | 'members'
  /** Column names of a typical file of the export. */
  readonly typicalColumns: readonly string[]
  /** Columns that together identify the export, compared by `normalizeHeader`. */
  readonly identifyingColumns: readonly string[]
  /** Other sets of columns that identify the export: earlier headers, exports with fewer columns. */
  readonly otherIdentifyingSets?: readonly (readonly string[])[]
  /**
   * True for an upload template whose column names (`Email`, `Phone`) many other exports have too. The template is recognized only if it
   * names at least half of the columns of the header.
   */
  readonly isTemplate?: boolean
  /** Columns that this export never has. A header with one of them is not recognized. */
  readonly columnsOfOtherExports?: readonly string[]
  /**
   * Target field → its columns, by all their possible names. In each row, a field takes its first column that is not empty. Identifiers,
   * `additional_image_link` and fields with `computeFromTexts` take all columns.
   */
  readonly map: Readonly<Record<string, PresetField>>
  /**
   * Required field that this export never has → parts of its hint. `columns`: exact names, of which the hint maps the first one in the
   * header. `prefix`: example of a text to put before each value.
   */
  readonly suggestedPrefix?: Readonly<Record<string, { readonly columns: readonly string[]; readonly prefix: string }>>
  /**
   * Consent tests. A test without a column in the header is skipped.
   * - In an audience: used if the pipeline has no `consent:`. A row must pass every test.
   * - In a do-not-reach list: used if the pipeline has no `map: { remove }`. A row that passes every test without `appliesTo` is removed
   *   from the list. If the header lacks the column of an `expected` test, no row is removed.
   */
  readonly consent?: readonly PresetTest[]
  /**
   * Matches the name of a file of people who did not consent, if no column of the file shows that. Without `consent:`, such a file causes
   * the warning `CONSENT_UNKNOWN`.
   */
  readonly unconsentedFile?: RegExp
  /** Columns to ignore as with the pipeline's `ignore:`: not searched, and without a warning. */
  readonly ignore?: readonly string[]
  /** Set if the export spreads one product over several rows. */
  readonly rowGroups?: HandleRowGroups | ParentRowGroups
}

/**
 * Row groups by handle, the name of a product in its address. The rows of a product follow each other. `handle`, `title` and `image` each
 * list the possible names of one column, in order of preference.
 */
export interface HandleRowGroups {
  readonly kind: 'handle'
  readonly handle: readonly string[]
  /** Title, filled only in the first row of a product. */
  readonly title: readonly string[]
  readonly image: readonly string[]
  /** Columns of an offer. A row with an image, and without a value in these columns, only adds the image to its product. */
  readonly offer: readonly string[]
  /** Columns whose empty cells are filled from the first row of the product. */
  readonly inherited: readonly string[]
  /** Matches the names of further inherited columns. */
  readonly inheritedLike: RegExp
}

/**
 * Row groups by parent. A product with variations has a row of its own, the parent. Each variation has a row that refers to the parent. The
 * properties are names of columns.
 */
export interface ParentRowGroups {
  readonly kind: 'parent'
  /** Type of the row: `variable…` for a parent, `…variation…` for a variation. */
  readonly type: string
  readonly id: string
  readonly sku: string
  /** Reference of a variation to its parent: the parent's SKU, or the parent's id such as `id:7`. */
  readonly parent: string
  /** `1` for a published product or variation. */
  readonly published: string
  /** Columns whose empty cells are filled from the parent. */
  readonly inherited: readonly string[]
}

/** Consent test of a preset: every text of one cell must be one of `values`. */
export interface PresetTest {
  /** Possible names of the column, in order of preference. */
  readonly columns: readonly string[]
  /** Values that pass, compared by `comparableText`; `''` is an empty cell. */
  readonly values: readonly string[]
  /** True if a header without the column causes the warning `CONSENT_UNKNOWN`, unless the pipeline has its own tests. */
  readonly expected?: boolean
  /**
   * Identifier type that the test is about: a row that fails it loses its identifiers of this type. If no other type is mapped, the whole
   * row fails. If this type is not mapped, the test is skipped.
   */
  readonly appliesTo?: 'phone_number'
}

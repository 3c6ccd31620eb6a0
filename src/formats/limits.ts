/** Limits above which a source is rejected (docs/guarantees.md#bounded-resources). */
export interface ReadLimits {
  /** Maximum size as received, in bytes. */
  readonly compressedBytes: number
  /** Maximum size after decompression, in bytes. */
  readonly expandedBytes: number
  /** Maximum ratio of expanded to compressed size, checked from `ratioFromBytes` expanded bytes on. */
  readonly ratio: number
  readonly ratioFromBytes: number
  /** Maximum size of one record. */
  readonly recordBytes: number
  /** Maximum size of one field of CSV or of a query, and of one start tag of XML. */
  readonly fieldBytes: number
  /** Maximum length of all shared texts of a workbook, in UTF-16 units. All of them are in memory. */
  readonly sharedTextLength: number
  /** Maximum number of columns. JSON may have eight times as many different keys. */
  readonly columns: number
  /** Maximum number of levels of nested elements, and of nested objects and arrays. */
  readonly xmlDepth: number
  readonly jsonDepth: number
  /** Maximum share of faulty rows. Above it, the whole file is rejected. Checked in files of at least `shareFromRows` rows. */
  readonly faultyShare: number
  readonly shareFromRows: number
  /** Maximum times in milliseconds: without data, and of the whole read. */
  readonly idleMs: number
  readonly totalMs: number
}

/** Limits of all reads; tests may lower them. */
export const readLimits: ReadLimits = {
  compressedBytes: 5_000_000_000,
  expandedBytes: 50_000_000_000,
  ratio: 200,
  ratioFromBytes: 1_048_576,
  recordBytes: 1_048_576,
  fieldBytes: 131_072,
  sharedTextLength: 67_108_864,
  columns: 512,
  xmlDepth: 64,
  jsonDepth: 32,
  faultyShare: 0.01,
  shareFromRows: 100,
  idleMs: 60_000,
  totalMs: 6 * 3_600_000,
}

/**
 * Rows per batch. With fewer rows, the promise of each batch would cost more. With more rows, V8 would not collect them as young objects.
 * Batches of 500 rows took 280 MB instead of 178 MB, and a fifth more time.
 */
export const rowsPerBatch = 64

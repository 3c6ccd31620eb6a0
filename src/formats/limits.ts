/** Limits above which a source is rejected (docs/guarantees.md#bounded-resources). */
export interface ReadLimits {
  /** Size as received. */
  readonly compressedBytes: number
  /** Size after decompression. */
  readonly expandedBytes: number
  /** Maximum ratio of expanded to compressed size, checked from `ratioFromBytes` expanded bytes on. */
  readonly ratio: number
  readonly ratioFromBytes: number
  /** Size of one record, of one field, and number of columns. */
  readonly recordBytes: number
  readonly fieldBytes: number
  readonly columns: number
  /** Levels of nested elements or objects. */
  readonly xmlDepth: number
  readonly jsonDepth: number
  /** Maximum share of faulty rows; above it, the whole file is rejected. Checked in files of at least `shareFromRows` rows. */
  readonly faultyShare: number
  readonly shareFromRows: number
  /** Milliseconds without data, and of the whole read. */
  readonly idleMs: number
  readonly totalMs: number
}

export const readLimits: ReadLimits = {
  compressedBytes: 5_000_000_000,
  expandedBytes: 50_000_000_000,
  ratio: 200,
  ratioFromBytes: 1_048_576,
  recordBytes: 1_048_576,
  fieldBytes: 131_072,
  columns: 512,
  xmlDepth: 64,
  jsonDepth: 32,
  faultyShare: 0.01,
  shareFromRows: 100,
  idleMs: 60_000,
  totalMs: 6 * 3_600_000,
}

/**
 * Rows per batch: enough that the promise of each batch costs little, and few enough that V8 collects the rows as young objects. Batches
 * of 500 rows took 280 MB instead of 178 MB, and a fifth more time.
 */
export const rowsPerBatch = 64

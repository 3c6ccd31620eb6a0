/** What a source may cost before it is refused (docs/guarantees.md#bounded-resources). Bytes unless said otherwise. */
export interface ReadLimits {
  /** As it arrives. */
  readonly compressedBytes: number
  /** After unpacking. */
  readonly expandedBytes: number
  /** Expanded to compressed, watched from `ratioFromBytes` expanded bytes on. */
  readonly ratio: number
  readonly ratioFromBytes: number
  readonly recordBytes: number
  readonly fieldBytes: number
  readonly columns: number
  readonly xmlDepth: number
  readonly jsonDepth: number
  /** Share of faulty rows above which the file itself is wrong, judged from `shareFromRows` rows on. */
  readonly faultyShare: number
  readonly shareFromRows: number
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
  // Templates of marketplaces have over 500 columns.
  columns: 2048,
  xmlDepth: 64,
  jsonDepth: 32,
  faultyShare: 0.01,
  shareFromRows: 100,
  idleMs: 60_000,
  totalMs: 6 * 3_600_000,
}

/** Rows handed over at once: enough that their promise costs little, few enough that they die young. Of 500, V8 kept what it
 * took for survivors: 280 MB rather than 178, and a fifth more time. */
export const rowsPerBatch = 64

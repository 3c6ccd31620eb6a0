/**
 * Raw records as byte ranges: what the cutters yield and what a record gate may digest before anything is parsed
 * (performance.md, gate 2). Arrays rather than objects, because a file has millions of records.
 */
export interface RecordBatch {
  readonly bytes: Buffer
  readonly count: number
  /** Range of record i: `bytes[starts[i], ends[i])`, line end not included. */
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  /** First line of record i in its file, from 1. */
  readonly lines: readonly number[]
  /** What the cutter saw in record i: a sum of `recordFlags`. */
  readonly flags: readonly number[]
}

export const recordFlags = {
  /** Holds a well-formed quoted field. */
  quoted: 1,
  /** A quote where none belongs: the careful parser decides. */
  oddQuote: 2,
  nul: 4,
} as const

export interface RecordCutter {
  /** Takes the next bytes and returns the records that they complete. The batch, and `chunk`, are valid until the next call. */
  push: (chunk: Buffer) => RecordBatch
  /** The last record, if the bytes end without a line end. */
  end: () => RecordBatch
}

/** Text of record `index`; the index must be below the batch's count. */
export function recordText(batch: RecordBatch, index: number): string {
  return batch.bytes.toString('utf8', batch.starts[index], batch.ends[index])
}

export const emptyBatch: RecordBatch = { bytes: Buffer.alloc(0), count: 0, starts: [], ends: [], lines: [], flags: [] }

/** Records of a stream, in batches, as byte ranges of UTF-8. */
export async function* cutRecords(chunks: AsyncIterable<Buffer>, cutter: RecordCutter): AsyncGenerator<RecordBatch> {
  for await (const chunk of chunks) {
    const batch = cutter.push(chunk)
    if (batch.count > 0) yield batch
  }
  const last = cutter.end()
  if (last.count > 0) yield last
}

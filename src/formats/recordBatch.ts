/**
 * Batch of raw records as byte ranges. The splitters fill the batch, and a record gate can digest the records before they are parsed
 * (docs/architecture.md, gate `record`). The arrays are reused, because a file has millions of records.
 */
export class RecordBatch {
  bytes: Buffer = Buffer.alloc(0)
  count = 0
  /** Range of record i: `bytes[starts[i], ends[i])`, line end not included. */
  starts = new Int32Array(256)
  ends = new Int32Array(256)
  /** First line of record i in its file, from 1. */
  lines = new Float64Array(256)
  /** Flags of record i: a sum of `recordFlags`. */
  flags = new Uint8Array(256)

  /** Empties the batch for records of `bytes`. */
  begin(bytes: Buffer): void {
    this.bytes = bytes
    this.count = 0
  }

  /** Returns the index of the first byte of record i; i must be below `count`. */
  startOf(i: number): number {
    return this.starts[i] ?? 0
  }

  /** Returns the index after the last byte of record i. */
  endOf(i: number): number {
    return this.ends[i] ?? 0
  }

  lineOf(i: number): number {
    return this.lines[i] ?? 0
  }

  flagsOf(i: number): number {
    return this.flags[i] ?? 0
  }

  /** Adds the record `bytes[start, end)`. */
  add(start: number, end: number, line: number, flags: number): void {
    const at = this.count++
    if (at === this.starts.length) {
      this.starts = grown(this.starts, new Int32Array(at * 2))
      this.ends = grown(this.ends, new Int32Array(at * 2))
      this.lines = grown(this.lines, new Float64Array(at * 2))
      this.flags = grown(this.flags, new Uint8Array(at * 2))
    }
    this.starts[at] = start
    this.ends[at] = end
    this.lines[at] = line
    this.flags[at] = flags
  }
}

function grown<Numbers extends Int32Array | Float64Array | Uint8Array>(from: Numbers, to: Numbers): Numbers {
  to.set(from)
  return to
}

export const recordFlags = {
  /** Contains a field that starts with a quote. */
  quoted: 1,
  /** Contains a misplaced quote, so csv-parse splits the record. */
  oddQuote: 2,
  /** Contains a NUL byte. */
  nul: 4,
} as const

/** Splitter of a stream of bytes into records. */
export interface RecordSplitter {
  /** Takes the next bytes and returns the records that end in them. The batch is valid until the next call. */
  push: (chunk: Buffer) => RecordBatch
  /** Must be called after the last bytes. Returns a batch with the last record if it has no line end, else an empty batch. */
  end: () => RecordBatch
}

/** Returns the text of record `index`; the index must be below the count of the batch. */
export function recordText(batch: RecordBatch, index: number): string {
  return batch.bytes.utf8Slice(batch.starts[index], batch.ends[index])
}

/** Yields the records of a stream in batches, as byte ranges of UTF-8. Each batch is valid until the next one. */
export async function* splitRecords(chunks: AsyncIterable<Buffer>, splitter: RecordSplitter): AsyncGenerator<RecordBatch> {
  for await (const chunk of chunks) {
    const batch = splitter.push(chunk)
    if (batch.count > 0) yield batch
  }
  const last = splitter.end()
  if (last.count > 0) yield last
}

declare global {
  interface Buffer {
    /** Present in Node since 0.5, and faster than `toString`; missing in the type package. */
    utf8Slice: (start: number | undefined, end: number | undefined) => string
  }
}

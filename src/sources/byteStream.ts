/** Bytes of a source as its transport delivers them, and facts about their end. */
export interface ByteStream {
  /** Address as configured, without secrets and query: for messages and facts. */
  readonly label: string
  readonly chunks: AsyncIterable<Buffer>
  /**
   * Allows the stream to reuse its buffers: then a chunk is valid only until the next one is requested. Absent if not supported.
   */
  readonly reuseBuffers?: () => void
  /** `charset` of an HTTP response. */
  readonly charset?: string
  /**
   * Reads the file beside the source, under its own path plus `suffix`; undefined if there is none. Call before `close`.
   * Absent if no file can be beside it.
   */
  readonly beside?: (suffix: string) => Promise<Beside | undefined>
  /** Call only after `chunks` has ended without an error. */
  end: () => Promise<TransportEnd>
  /** Can be called any time, and twice. */
  close: () => Promise<void>
}

export interface Beside {
  /** Whole content of a manifest; empty above `besideBytes`. */
  readonly content: Buffer
  /** True if the file is older than the source, so it belongs to an earlier export. False if one of the two times is not known. */
  readonly older: boolean
}

/** Maximum size of a manifest. A usual one has a few hundred bytes. */
export const besideBytes = 65_536

export interface TransportEnd {
  /** Proof such as `content-length met`; undefined if the transport proves nothing. */
  readonly proof?: string
  /**
   * True for plain local files: complete only if they end as in their last complete read
   * (docs/guarantees.md#deletes-need-proof).
   */
  readonly endsAsBefore?: boolean
  readonly reason?: string
  /** Reason to doubt the whole read even if its end is proven: the source changed while it was read. */
  readonly doubt?: string
  readonly etag?: string
  readonly lastModified?: string
}

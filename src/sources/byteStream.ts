/** Bytes of a source from its transport, with the transport's facts about their end. */
export interface ByteStream {
  /** Address as configured, without secrets and query: for messages and facts. */
  readonly label: string
  readonly chunks: AsyncIterable<Buffer>
  /** Makes each chunk valid only until the next one is requested, which saves a buffer each. Absent if not possible. */
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
  /** True if it changed before the source did: another export left it. False if one of the two times is not known. */
  readonly older: boolean
}

/** Limit of a manifest, which is a few hundred bytes. */
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
  /** Reason to doubt the whole read, whatever its end looks like: the source changed while it was read. */
  readonly doubt?: string
  readonly etag?: string
  readonly lastModified?: string
}

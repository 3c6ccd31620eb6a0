/** Bytes of a source as its transport delivers them, and functions for facts about their end. */
export interface ByteStream {
  /** Address of the file that is read, without secrets and query, for messages and facts. */
  readonly label: string
  readonly chunks: AsyncIterable<Buffer>
  /**
   * Allows the stream to reuse its buffers. A chunk is then valid only until the next chunk is requested. Absent if not supported.
   */
  readonly reuseBuffers?: () => void
  /** `charset` of an HTTP response; absent if it has none. */
  readonly charset?: string
  /**
   * Reads the file at the path of the source plus `suffix`. Resolves to undefined, or rejects, if there is no such file. Call this
   * before `close`. Absent if a source of this type has no path.
   */
  readonly beside?: (suffix: string) => Promise<Beside | undefined>
  /** Returns facts about the end. Rejects, or returns a `doubt`, if the source changed. Call this only after `chunks` ended without an error. */
  end: () => Promise<TransportEnd>
  /** Closes the source. Can be called at any time, and twice. */
  close: () => Promise<void>
}

/** File beside a source: a manifest or a done marker. */
export interface Beside {
  /** Whole content of the file; empty if it is larger than `besideBytes`, or its size is not known. */
  readonly content: Buffer
  /** True if the file is older than the source, so it belongs to an earlier export. False if one of the two times is not known. */
  readonly older: boolean
}

/** Maximum size of a manifest in bytes. A usual manifest has a few hundred bytes. */
export const besideBytes = 65_536

/** Facts of the transport about the end of a read. */
export interface TransportEnd {
  /** Proof such as `content-length met`; undefined if the transport proves nothing. */
  readonly proof?: string
  /**
   * True for plain files, local or over SFTP. Such a file is complete only if it ends as in its last complete read
   * (docs/guarantees.md#deletes-need-proof).
   */
  readonly endsAsBefore?: boolean
  /** Reason why there is no `proof`. */
  readonly reason?: string
  /** Reason to doubt the whole read even if its end is proven: the source changed while it was read. */
  readonly doubt?: string
  readonly etag?: string
  readonly lastModified?: string
}

/** Bytes of a source as its transport delivers them, with facts about their end. */
export interface ByteStream {
  /** Path or address of the file that is read, without secrets and query, for messages and facts. */
  readonly label: string
  /** Bytes in order, as received. Can be read once. */
  readonly chunks: AsyncIterable<Buffer>
  /** Allows the stream to reuse its buffers. A chunk is then valid only until the next chunk is requested. Absent if not supported. */
  readonly reuseBuffers?: () => void
  /** `charset` of an HTTP response; absent if it has none. */
  readonly charset?: string
  /**
   * Reads the file at the path of the source plus `suffix`. If there is no such file, resolves to undefined or rejects. Call this before
   * `close`. Absent if a source of this type has no path.
   */
  readonly readBeside?: (suffix: string) => Promise<BesideFile | undefined>
  /** Time of the last change of a local file, in milliseconds since 1970. Absent for other sources. */
  readonly changedMs?: number
  /**
   * Returns facts about the end. If the transport detects that the source changed, rejects or returns a `doubt`. Call this only after
   * `chunks` ended without an error.
   */
  end: () => Promise<TransportEnd>
  /** Closes the source. Can be called at any time, and twice. */
  close: () => Promise<void>
}

/** File in the folder of a source: a manifest or a completion marker. */
export interface BesideFile {
  /** Whole content of the file. Empty if the file is larger than `maxBesideBytes`, or if S3 does not declare its size. */
  readonly content: Buffer
  /** True if the file is older than the source: then it belongs to an earlier export. False if one of the two times is not known. */
  readonly older: boolean
}

/** Maximum size of a manifest in bytes. A usual manifest has a few hundred bytes. */
export const maxBesideBytes = 65_536

/** Facts of the transport about the end of a read. */
export interface TransportEnd {
  /** Proof such as `content-length met`; undefined if the transport proves nothing. */
  readonly proof?: string
  /**
   * True for files, local or over SFTP. A CSV, TSV or JSON lines file must then end as in its last complete read: with or without a line
   * end. If it ends differently, the read is not complete. A trailer, marker or manifest replaces this check
   * (docs/guarantees.md#deletes-need-proof).
   */
  readonly mustEndAsBefore?: boolean
  /** Reason why there is no `proof`. */
  readonly reason?: string
  /** Reason to doubt the whole read, even if its end is proven: the source changed during the read. */
  readonly doubt?: string
  /** ETag and time of change, for the conditional request of the next read. */
  readonly etag?: string
  readonly lastModified?: string
}

/** Bytes of a source as its transport hands them over, and what the transport knows about their end. */
export interface ByteStream {
  /** As a person wrote it, secrets and query removed: for messages and facts. */
  readonly label: string
  readonly chunks: AsyncIterable<Buffer>
  /** From here on a chunk is valid only until the next one is asked for, which saves a buffer each. Absent: not possible. */
  readonly reuseBuffers?: () => void
  /** `charset` of an HTTP answer. */
  readonly charset?: string
  /** Only once `chunks` has ended without an error. */
  end: () => Promise<TransportEnd>
  /** May be called any time and twice. */
  close: () => Promise<void>
}

export interface TransportEnd {
  /** `content-length met` …; undefined where the transport proves nothing. */
  readonly proof?: string
  /** True for plain local files: complete only if they end as their last closed snapshot ended (I8). */
  readonly endsAsBefore?: boolean
  readonly reason?: string
  readonly etag?: string
  readonly lastModified?: string
}

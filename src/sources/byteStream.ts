/** Bytes of a source as its transport hands them over, and what the transport knows about their end. */
export interface ByteStream {
  /** As a person wrote it, secrets and query removed: for messages and facts. */
  readonly label: string
  readonly chunks: AsyncIterable<Buffer>
  /** From here on a chunk is valid only until the next one is asked for, which saves a buffer each. Absent: not possible. */
  readonly reuseBuffers?: () => void
  /** `charset` of an HTTP answer. */
  readonly charset?: string
  /**
   * What lies beside the source, under its own path with `suffix` behind it; undefined where nothing does. Before `close`.
   * Absent where nothing can lie beside it.
   */
  readonly beside?: (suffix: string) => Promise<Beside | undefined>
  /** Only once `chunks` has ended without an error. */
  end: () => Promise<TransportEnd>
  /** May be called any time and twice. */
  close: () => Promise<void>
}

export interface Beside {
  /** Of a manifest, whole; of anything above `besideBytes` nothing. */
  readonly content: Buffer
  /** Changed before the source was: left behind by another export. False where one of both times is not known. */
  readonly older: boolean
}

/** A manifest is a few hundred bytes; anything larger is something else. */
export const besideBytes = 65_536

export interface TransportEnd {
  /** `content-length met` …; undefined where the transport proves nothing. */
  readonly proof?: string
  /** True for plain local files: complete only if they end as their last closed snapshot ended (I8). */
  readonly endsAsBefore?: boolean
  readonly reason?: string
  /** What speaks against the whole, whatever its end looks like: it changed while it was read. */
  readonly doubt?: string
  readonly etag?: string
  readonly lastModified?: string
}

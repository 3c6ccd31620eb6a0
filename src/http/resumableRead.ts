/** Reads one version of a file over as many connections as needed: one loop for HTTP, S3 and SFTP. */
import { RunError } from '../errors.ts'
import { SourceRetryLimit } from './sourceRetryLimit.ts'

/** Connection that broke, or that ended before the end of the file. */
export interface BrokenConnection {
  readonly cause: unknown
  /** Number of bytes that were read over all connections. */
  readonly received: number
  /** Number of bytes that this connection delivered. */
  readonly delivered: number
  /** Retries of the whole read. `recover` calls its `takeRetry` and `waitMs`. */
  readonly retryLimit: SourceRetryLimit
}

/** Access to one version of a file, as a source implements it. */
export interface ResumableFile {
  /**
   * Returns the bytes from `from` on. `cause`: error of the previous connection; undefined for the first one.
   *
   * @throws {RunError} if the source cannot deliver the rest of the same version
   */
  readonly part: (from: number, cause: unknown) => AsyncIterable<Buffer>
  /** Returns the length of the whole file; undefined if it is not known. A part without an error then ends at the end of the file. */
  readonly length: () => number | undefined
  /**
   * Waits until the next connection may be opened.
   *
   * @throws {RunError} if the file cannot be resumed, or no attempts are left
   * @throws the caller's reason to cancel
   */
  readonly recover: (broken: BrokenConnection) => Promise<void>
  /** Returns the error for a file that delivered more bytes than its length. */
  readonly changedError: () => RunError
}

/**
 * Yields the bytes of the file, each once and in order. After a broken connection, continues at the next byte.
 *
 * @throws {RunError} those of `part`, `recover` and `changedError`
 */
export async function* readResumable(file: ResumableFile): AsyncGenerator<Buffer> {
  const retryLimit = new SourceRetryLimit()
  let received = 0
  let cause: unknown
  for (;;) {
    const receivedBefore = received
    try {
      for await (const chunk of file.part(received, cause)) {
        received += chunk.length
        yield chunk
      }
      const length = file.length()
      if (length === undefined || received === length) return
      if (received > length) throw file.changedError()
      throw new Error('the body is shorter than its declared length')
    } catch (error) {
      if (error instanceof RunError) throw error
      await file.recover({ cause: error, received, delivered: received - receivedBefore, retryLimit })
      cause = error
    }
  }
}

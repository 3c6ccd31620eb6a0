/** Reading one version of a file over as many connections as it takes: the same loop for HTTP, S3 and SFTP. */
import { RunError } from '../errors.ts'
import { Tries } from './tries.ts'

/** A connection that broke, or ended too early. */
export interface Break {
  readonly cause: unknown
  /** Bytes that were read in all. */
  readonly received: number
  /** Bytes that this connection brought. */
  readonly brought: number
  readonly tries: Tries
}

export interface ResumableFile {
  /**
   * Returns the bytes from `from` on; `cause` is undefined for the first part.
   *
   * @throws RunError where what comes now is not the rest of the same version
   */
  readonly part: (from: number, cause: unknown) => AsyncIterable<Buffer>
  /** Returns the length of the whole, as far as the source has declared it by now. */
  readonly length: () => number | undefined
  /** Waits until another connection may be tried. @throws RunError where none is worth it; what cancelled the reading */
  readonly recover: (broken: Break) => Promise<void>
  /** Returns the error for a file that became longer. */
  readonly changed: () => RunError
}

/** @throws what `part` and `recover` throw */
export async function* readResumable(file: ResumableFile): AsyncGenerator<Buffer> {
  const tries = new Tries()
  let received = 0
  let cause: unknown
  for (;;) {
    const before = received
    try {
      for await (const chunk of file.part(received, cause)) {
        received += chunk.length
        yield chunk
      }
      const length = file.length()
      if (length === undefined || received === length) return
      if (received > length) throw file.changed()
      throw new Error('the body is shorter than its declared length')
    } catch (error) {
      if (error instanceof RunError) throw error
      await file.recover({ cause: error, received, brought: received - before, tries })
      cause = error
    }
  }
}

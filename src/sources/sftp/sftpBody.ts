import type { Timeouts } from '../timeouts.ts'
import type { SftpConnection } from './sftpConnection.ts'
import { changedFileError, truncatedFileError, isConnectionLost, sftpError } from './sftpErrors.ts'
import { openSftpFile, type SftpFacts } from './sftpFile.ts'
import { readResumable, type BrokenConnection } from '../../http/resumableRead.ts'

/** File to read, with its connection. */
export interface SftpReading {
  readonly connection: SftpConnection
  readonly path: string
  readonly label: string
  /** Facts about the file before the read. */
  readonly before: SftpFacts
  readonly timeouts: Timeouts
}

/** Maximum number of bytes that are read a second time after a broken connection, to verify that the file is the same. */
const overlapBytes = 32_768

/**
 * Minimum age of a reliable time of change, in milliseconds. Times are whole seconds, so two changes within one second have the same time.
 * One more second is added for clocks that differ.
 */
const reliableAgeMs = 2_000

/** Returns true if size and time of change are the same. */
export function isSameFile(one: SftpFacts, other: SftpFacts): boolean {
  return one.size === other.size && one.modifyTime === other.modifyTime
}

/**
 * Reads one file, over as many connections as needed. After the first bytes, a new connection continues only if all conditions hold:
 * - The file has the same size and time of change.
 * - The time is reliable (`reliableAgeMs`).
 * - The last bytes before the break are the same.
 */
export class SftpBody {
  readonly #reading: SftpReading
  /** True if the time of change is reliable, so that size and time identify the version of the file. */
  readonly #hasReliableTime: boolean
  #received = 0
  /** Last received bytes, at most `overlapBytes`. */
  #tail: Buffer = Buffer.alloc(0)

  constructor(reading: SftpReading, now: () => number = Date.now) {
    this.#reading = reading
    this.#hasReliableTime = now() - reading.before.modifyTime >= reliableAgeMs
  }

  get received(): number {
    return this.#received
  }

  /** Yields the bytes. @throws RunError FILE_TRUNCATED, SOURCE_CHANGED, or an error that a new connection would not fix */
  read(): AsyncGenerator<Buffer> {
    return readResumable({
      part: () => this.#readRest(),
      // The length is not checked here: after the read, `sftp.ts` compares the received bytes with the size of the file.
      length: () => undefined,
      recover: (broken) => this.#recover(broken),
      changedError: () => changedFileError(this.#reading.label),
    })
  }

  async #recover({ cause, received, delivered, retryLimit }: BrokenConnection): Promise<void> {
    const { connection, label, timeouts } = this.#reading
    timeouts.throwIfEnded()
    if (!isConnectionLost(cause)) {
      const failure = sftpError(cause, label)
      throw received > delivered && failure.code === 'SOURCE_MISSING' ? changedFileError(label, cause) : failure
    }
    const isResumable = received === 0 || this.#hasReliableTime
    if (isResumable && (await connection.prepareRetry(retryLimit, delivered))) return
    throw received === 0 ? sftpError(cause, label) : truncatedFileError(label, received, cause)
  }

  /** Reads from the end of the last connection to the end of the file. */
  async *#readRest(): AsyncGenerator<Buffer> {
    const { connection, path, label, before, timeouts } = this.#reading
    const file = await openSftpFile(await connection.client(), path, timeouts)
    if (this.#received > 0 && !isSameFile(before, await file.facts())) throw changedFileError(label)
    // A new connection first reads the last bytes again, to compare them.
    let overlap = this.#tail
    for await (const slot of file.read(this.#received - overlap.length)) {
      if (!slot.subarray(0, overlap.length).equals(overlap)) throw changedFileError(label)
      const chunk = slot.subarray(overlap.length)
      overlap = Buffer.alloc(0)
      if (chunk.length === 0) continue
      this.#received += chunk.length
      this.#tail = chunk.subarray(-overlapBytes)
      yield chunk
    }
  }
}

import { RunError } from '../errors.ts'
import type { Patience } from './patience.ts'
import type { SftpConnection } from './sftpConnection.ts'
import { changedFile, cutFile, isLost, sftpError } from './sftpErrors.ts'
import type { SftpFacts } from './sftpFile.ts'
import { openSftpFile } from './sftpFile.ts'
import { Tries } from './tries.ts'

export interface SftpReading {
  readonly connection: SftpConnection
  readonly path: string
  readonly label: string
  /** The file as it was before anything was read of it. */
  readonly before: SftpFacts
  readonly patience: Patience
}

/** What is asked for a second time after a cut, to see that it is what was read. */
const overlapBytes = 32_768

/**
 * Times are whole seconds: a file that changed in the second in which it was looked at may change again in it, and nothing
 * would show. One more second for clocks that differ.
 */
const settledMs = 2_000

/** Two answers that show the same file, as far as size and time can. */
export function isSameFile(one: SftpFacts, other: SftpFacts): boolean {
  return one.size === other.size && one.modifyTime === other.modifyTime
}

/**
 * The bytes of one file, over as many connections as it takes. The rest is joined to what is there only where the file has
 * the size and the time that it had, that time was over before the reading began, and the end of what is there comes again
 * as it was.
 */
export class SftpBody {
  readonly #reading: SftpReading
  /** Whether size and time tell one version of the file from the next. */
  readonly #settled: boolean
  #received = 0
  /** End of what was received. */
  #tail: Buffer = Buffer.alloc(0)

  constructor(reading: SftpReading, now: () => number = Date.now) {
    this.#reading = reading
    this.#settled = now() - reading.before.modifyTime >= settledMs
  }

  get received(): number {
    return this.#received
  }

  /** @throws RunError FILE_TRUNCATED, SOURCE_CHANGED, or what no other connection would mend */
  async *read(): AsyncGenerator<Buffer> {
    const { connection, label, patience } = this.#reading
    const tries = new Tries()
    for (;;) {
      const before = this.#received
      try {
        yield* this.#readOn()
        return
      } catch (error) {
        patience.throwIfCancelled()
        if (error instanceof RunError) throw error
        if (!isLost(error)) {
          const failure = sftpError(error, label)
          throw before > 0 && failure.code === 'SOURCE_MISSING' ? changedFile(label, error) : failure
        }
        const worth = this.#received === 0 || this.#settled
        if (worth && (await connection.another(tries, this.#received - before))) continue
        throw this.#received === 0 ? sftpError(error, label) : cutFile(label, this.#received, error)
      }
    }
  }

  /** From where the last connection ended to the end of the file. */
  async *#readOn(): AsyncGenerator<Buffer> {
    const { connection, path, label, before, patience } = this.#reading
    const file = await openSftpFile(await connection.client(), path, patience)
    if (this.#received > 0 && !isSameFile(before, await file.facts())) throw changedFile(label)
    let known = this.#tail
    for await (const slot of file.read(this.#received - known.length)) {
      if (!slot.subarray(0, known.length).equals(known)) throw changedFile(label)
      const chunk = slot.subarray(known.length)
      known = Buffer.alloc(0)
      if (chunk.length === 0) continue
      this.#received += chunk.length
      this.#tail = chunk.subarray(-overlapBytes)
      yield chunk
    }
  }
}

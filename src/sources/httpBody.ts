import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import type { Dispatcher } from 'undici'
import { setImmediate } from 'node:timers/promises'
import { RunError } from '../errors.ts'
import { bareCause } from './bareCause.ts'
import type { TransportEnd } from './byteStream.ts'
import type { DeclaredDigest } from './httpAnswer.ts'
import { contentRange, declaredDigests, declaredLength, header, isChunked, strongValidator } from './httpAnswer.ts'
import { Tries } from './tries.ts'

/** Whoever can ask for the rest. */
export interface Fetcher {
  readonly label: string
  /** Whether more came behind the body of the last answer than it was to hold. */
  readonly sentMore: boolean
  /** One answer with a body from byte `from` on; `unchanged` only for the whole. */
  fetch: (from: number, validator: string | undefined) => Promise<Dispatcher.ResponseData | 'unchanged'>
  pause: (tries: Tries) => Promise<void>
  throwIfCancelled: () => void
}

/**
 * The body of one entity, over as many connections as it takes. A part is joined to what is there only where it carries
 * the same strong validator, begins where that ended and belongs to a whole of the same length; a server that knows no
 * ranges and sends the same entity again is read past what is there already.
 */
export class ResumableBody {
  readonly #fetcher: Fetcher
  readonly #first: Dispatcher.ResponseData
  readonly #digests: readonly (DeclaredDigest & { readonly hash: Hash })[]
  readonly #validator: ReturnType<typeof strongValidator>
  /** Of the whole; without a declared length known from the first part that follows. */
  #length: number | undefined
  #received = 0

  constructor(fetcher: Fetcher, first: Dispatcher.ResponseData) {
    this.#fetcher = fetcher
    this.#first = first
    this.#digests = declaredDigests(first).map((digest) => ({ ...digest, hash: createHash(digest.algorithm) }))
    this.#validator = strongValidator(first)
    this.#length = declaredLength(first)
  }

  /** @throws RunError FILE_TRUNCATED, SOURCE_CHANGED, DIGEST_MISMATCH, or what `fetch` throws */
  async *read(): AsyncGenerator<Buffer> {
    let answer = this.#first
    /** Bytes of this answer that are there already. */
    let known = 0
    const tries = new Tries()
    for (;;) {
      const before = this.#received
      try {
        for await (const chunk of answer.body) {
          // undici hands bodies over as buffers.
          const bytes = (chunk as Buffer).subarray(known)
          known -= (chunk as Buffer).length - bytes.length
          if (bytes.length === 0) continue
          this.#received += bytes.length
          for (const { hash } of this.#digests) hash.update(bytes)
          yield bytes
        }
        if (this.#length === undefined || this.#received === this.#length) break
        if (this.#received > this.#length) throw this.#changed(undefined)
        throw new Error('the body is shorter than its declared length')
      } catch (error) {
        if (error instanceof RunError) throw error
        this.#fetcher.throwIfCancelled()
        if (!tries.another(this.#received - before) || this.#validator === undefined) throw this.#cut(error)
        await this.#fetcher.pause(tries)
        answer = await this.#resume(this.#validator, error)
        known = answer.statusCode === 200 ? this.#received : 0
      }
    }
    this.#checkDigests()
  }

  async end(): Promise<TransportEnd> {
    // What came behind the body ends the connection, which shows a turn later.
    for (let turn = 0; turn < 2; turn++) await setImmediate()
    const etag = header(this.#first, 'etag')
    const lastModified = header(this.#first, 'last-modified')
    const framed = this.#length !== undefined ? 'content-length met' : isChunked(this.#first) ? 'chunked end' : undefined
    const proof = this.#digests.length > 0 ? 'digest met' : this.#fetcher.sentMore ? undefined : framed
    const reason = this.#fetcher.sentMore
      ? 'the server sent more than the length it declared'
      : 'the server ended the answer by closing the connection, without a length'
    return {
      ...(proof === undefined ? { reason } : { proof }),
      ...(etag === undefined ? {} : { etag }),
      ...(lastModified === undefined ? {} : { lastModified }),
    }
  }

  async #resume(validator: NonNullable<ReturnType<typeof strongValidator>>, cause: unknown): Promise<Dispatcher.ResponseData> {
    const answer = await this.#fetcher.fetch(this.#received, validator.value)
    if (answer === 'unchanged') throw this.#cut(cause)
    const refuse = async (error: RunError): Promise<never> => {
      await answer.body.dump().catch(() => undefined)
      throw error
    }
    const shown = header(answer, validator.header)
    if (answer.statusCode === 200) {
      // The whole again: the same one only if it says so.
      if (shown !== validator.value || declaredLength(answer) !== this.#length) return refuse(this.#changed(cause))
      return answer
    }
    // A part may leave its validator out where If-Range was honoured, but not show another one.
    if (shown !== undefined && shown !== validator.value) return refuse(this.#changed(cause))
    const range = contentRange(answer)
    if (range?.from !== this.#received) return refuse(this.#cut(cause))
    const length = this.#length ?? range.total
    if (length === undefined) return refuse(this.#cut(cause))
    if (length !== (range.total ?? length)) return refuse(this.#changed(cause))
    this.#length = length
    return answer
  }

  #checkDigests(): void {
    for (const { hash, expected } of this.#digests) {
      if (hash.digest().equals(expected)) continue
      throw new RunError('DIGEST_MISMATCH', 'the bytes do not have the digest that the server declared', {
        where: this.#fetcher.label,
        mend: 'Run again; if it stays, ask whoever serves the feed.',
      })
    }
  }

  #changed(cause: unknown): RunError {
    return new RunError('SOURCE_CHANGED', 'the feed changed after the connection was cut', {
      where: this.#fetcher.label,
      mend: 'Run again.',
      cause: bareCause(cause),
    })
  }

  #cut(cause: unknown): RunError {
    return new RunError('FILE_TRUNCATED', `the connection was cut after ${this.#received} bytes`, {
      where: this.#fetcher.label,
      mend: 'Run again; the server should send a length and an ETag so that downloads can be resumed.',
      cause: bareCause(cause),
    })
  }
}

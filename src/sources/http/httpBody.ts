import { createHash, type Hash } from 'node:crypto'
import type { Dispatcher } from 'undici'
import { setImmediate } from 'node:timers/promises'
import { RunError } from '../../errors.ts'
import { bareCause } from '../bareCause.ts'
import type { TransportEnd } from '../byteStream.ts'
import { contentRange, declaredDigests, declaredLength, header, isChunked, strongValidator, type DeclaredDigest } from './httpAnswer.ts'
import { readResumable, type BrokenConnection } from '../../http/resumableRead.ts'
import type { SourceRetryLimit } from '../../http/sourceRetryLimit.ts'
import { bufferOf } from '../../unknownValue.ts'
import { withoutUndefined } from '../../withoutUndefined.ts'

/** Client that can request the rest of a body. */
export interface Fetcher {
  readonly label: string
  /** True if the last response had more bytes than its declared length, so the length proves nothing. */
  readonly sentExtraBytes: boolean
  /** Requests the body from byte `from`. Returns `unchanged` only if `from` is 0. */
  fetch: (from: number, validator: string | undefined) => Promise<Dispatcher.ResponseData | 'unchanged'>
  /** Waits before the rest is requested. */
  pause: (retryLimit: SourceRetryLimit) => Promise<void>
  /** Throws as `Timeouts.throwIfEnded`. */
  throwIfEnded: () => void
}

/**
 * Reads the body of one feed, over as many connections as needed. A part is appended only if all conditions hold:
 * - It begins where the last part ended.
 * - It does not declare a different validator than the first response (`strongValidator`).
 * - It does not declare a different length of the whole feed.
 *
 * If a server without ranges sends the whole feed again, the bytes already read are skipped.
 */
export class ResumableBody {
  readonly #fetcher: Fetcher
  readonly #firstAnswer: Dispatcher.ResponseData
  readonly #digests: readonly (DeclaredDigest & { readonly hash: Hash })[]
  readonly #validator: ReturnType<typeof strongValidator>
  /** Length of the whole feed in bytes, from the first response or the first resumed part; undefined until it is declared. */
  #length: number | undefined

  constructor(fetcher: Fetcher, firstAnswer: Dispatcher.ResponseData) {
    this.#fetcher = fetcher
    this.#firstAnswer = firstAnswer
    this.#digests = declaredDigests(firstAnswer).map((digest) => ({ ...digest, hash: createHash(digest.algorithm) }))
    this.#validator = strongValidator(firstAnswer)
    this.#length = declaredLength(firstAnswer)
  }

  /** Yields the bytes. @throws RunError FILE_TRUNCATED, SOURCE_CHANGED, DIGEST_MISMATCH, or an error of `fetch` */
  async *read(): AsyncGenerator<Buffer> {
    yield* readResumable({
      part: (from, cause) => this.#part(from, cause),
      length: () => this.#length,
      recover: (broken) => this.#recover(broken),
      changedError: () => this.#changedError(undefined),
    })
    this.#checkDigests()
  }

  async *#part(from: number, cause: unknown): AsyncGenerator<Buffer> {
    const answer = cause === undefined ? this.#firstAnswer : await this.#resume(from, cause)
    // The whole feed was sent again, so the bytes that were read before are skipped.
    let bytesToSkip = answer.statusCode === 200 ? from : 0
    for await (const chunk of answer.body) {
      const whole = bufferOf(chunk)
      const bytes = whole.subarray(bytesToSkip)
      bytesToSkip -= whole.length - bytes.length
      if (bytes.length === 0) continue
      for (const { hash } of this.#digests) hash.update(bytes)
      yield bytes
    }
  }

  async #recover({ cause, received, delivered, retryLimit }: BrokenConnection): Promise<void> {
    this.#fetcher.throwIfEnded()
    if (!retryLimit.takeRetry(delivered) || this.#validator === undefined) throw this.#truncatedError(received, cause)
    await this.#fetcher.pause(retryLimit)
  }

  /** Returns the facts about the end. Call this only after `read` has ended without an error. */
  async end(): Promise<TransportEnd> {
    // undici closes the connection if bytes follow the body. `sentExtraBytes` is true at most two turns of the event loop later.
    for (let turn = 0; turn < 2; turn++) await setImmediate()
    const etag = header(this.#firstAnswer, 'etag')
    // Without an ETag, a time of change less than 1 s before the response is not stored. If the feed changed again within that second, it
    // would have the same time. The next conditional request would then get 304.
    const lastModified = etag === undefined && this.#validator === undefined ? undefined : header(this.#firstAnswer, 'last-modified')
    const framingProof = this.#length !== undefined ? 'content-length met' : isChunked(this.#firstAnswer) ? 'chunked end' : undefined
    const proof = this.#digests.length > 0 ? 'digest met' : this.#fetcher.sentExtraBytes ? undefined : framingProof
    const reason = this.#fetcher.sentExtraBytes
      ? 'the server sent more than the length it declared'
      : 'the server ended the answer by closing the connection, without a length'
    return {
      ...(proof === undefined ? { reason } : { proof }),
      ...withoutUndefined({ etag, lastModified }),
    }
  }

  /** Requests the rest from byte `from`, and checks that the response belongs to the same feed. */
  async #resume(from: number, cause: unknown): Promise<Dispatcher.ResponseData> {
    const validator = this.#validator
    if (validator === undefined) throw this.#truncatedError(from, cause)
    const answer = await this.#fetcher.fetch(from, validator.value)
    if (answer === 'unchanged') throw this.#truncatedError(from, cause)
    const rejectWith = async (error: RunError): Promise<never> => {
      await answer.body.dump().catch(() => undefined)
      throw error
    }
    const declared = header(answer, validator.header)
    if (answer.statusCode === 200) {
      // The server sent the whole feed again. The response is accepted only with the same validator and length.
      if (declared !== validator.value || declaredLength(answer) !== this.#length) return rejectWith(this.#changedError(cause))
      return answer
    }
    // A part may omit its validator if If-Range was honoured, but must not have a different validator.
    if (declared !== undefined && declared !== validator.value) return rejectWith(this.#changedError(cause))
    const range = contentRange(answer)
    if (range?.from !== from) return rejectWith(this.#truncatedError(from, cause))
    const length = this.#length ?? range.total
    if (length === undefined) return rejectWith(this.#truncatedError(from, cause))
    if (length !== (range.total ?? length)) return rejectWith(this.#changedError(cause))
    this.#length = length
    return answer
  }

  #checkDigests(): void {
    for (const { hash, expected } of this.#digests) {
      if (hash.digest().equals(expected)) continue
      throw new RunError('DIGEST_MISMATCH', 'the bytes do not have the digest that the server declared', {
        where: this.#fetcher.label,
        hint: 'Run again; if it repeats, contact the owner of the feed.',
      })
    }
  }

  #changedError(cause: unknown): RunError {
    return new RunError('SOURCE_CHANGED', 'the feed changed after the connection was cut', {
      where: this.#fetcher.label,
      hint: 'Run again.',
      cause: bareCause(cause),
    })
  }

  #truncatedError(received: number, cause: unknown): RunError {
    return new RunError('FILE_TRUNCATED', `the connection was cut after ${received} bytes`, {
      where: this.#fetcher.label,
      hint: 'Run again; the server should send a length and an ETag so that downloads can be resumed.',
      cause: bareCause(cause),
    })
  }
}

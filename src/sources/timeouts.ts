import { setTimeout as delay } from 'node:timers/promises'
import { readLimits, type ReadLimits } from '../formats/limits.ts'
import { RunError } from '../errors.ts'
import { bufferOf } from '../unknownValue.ts'

/**
 * Timeouts of one read: `idleMs` for each step, and `totalMs` for the whole read. The caller's signal cancels the read too. `idleMs` does
 * not include the time in which the caller requests no data. A step that timed out continues in the background, so the caller must close
 * the resource of the step.
 */
export class Timeouts {
  readonly #where: string
  readonly #idleMs: number
  readonly #cancelled: AbortSignal | undefined
  readonly #end: AbortSignal

  /** `where`: label of the source for errors. */
  constructor(where: string, options: { readonly limits?: Pick<ReadLimits, 'idleMs' | 'totalMs'>; readonly signal?: AbortSignal }) {
    const { idleMs, totalMs } = options.limits ?? readLimits
    this.#where = where
    this.#idleMs = idleMs
    this.#cancelled = options.signal
    const total = AbortSignal.timeout(totalMs)
    this.#end = options.signal === undefined ? total : AbortSignal.any([options.signal, total])
  }

  /** Signal that aborts after the total time, or with the caller's signal. */
  get signal(): AbortSignal {
    return this.#end
  }

  /**
   * Throws the reason of the caller's signal if the caller cancelled, because that is not a failure of the source.
   *
   * @throws RunError SOURCE_UNAVAILABLE if the total time is over
   */
  throwIfEnded(): void {
    this.#cancelled?.throwIfAborted()
    if (this.#end.aborted) throw tooLongError(this.#where)
  }

  /**
   * Waits for a step, at most `idleMs`, and returns its result. If `idleMs` is infinite, only the total time limits the wait.
   *
   * @throws the error of `step`; `StalledError` after `idleMs`; as `throwIfEnded`
   */
  wait<T>(step: Promise<T>, idleMs = this.#idleMs): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const giveUp = () => reject(this.#cancelled?.aborted === true ? asError(this.#cancelled.reason) : tooLongError(this.#where))
      const timer = Number.isFinite(idleMs)
        ? setTimeout(() => reject(new StalledError(`nothing came for ${idleMs / 1000} s`)), idleMs)
        : undefined
      const cleanUp = () => {
        clearTimeout(timer)
        this.#end.removeEventListener('abort', giveUp)
      }
      step.then(resolve, reject).finally(cleanUp)
      if (this.#end.aborted) giveUp()
      else this.#end.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** Waits between two attempts. Throws as `throwIfEnded` if the read ends meanwhile. */
  async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#end }).catch(() => undefined)
    this.throwIfEnded()
  }

  /** Yields the chunks of a stream of bytes, with a timeout for each. Does not close the stream. */
  async *chunks(stream: AsyncIterable<unknown>, idleMs = this.#idleMs): AsyncGenerator<Buffer> {
    const iterator = stream[Symbol.asyncIterator]()
    for (;;) {
      const next = await this.wait(iterator.next(), idleMs)
      if (next.done === true) return
      yield bufferOf(next.value)
    }
  }
}

/** Returns the error of a read whose total time is over. */
export function tooLongError(where: string): RunError {
  return new RunError('SOURCE_UNAVAILABLE', 'the whole read took too long', {
    where,
    hint: 'A read may take six hours. Divide the export, or serve it faster.',
  })
}

/** Error of a step that did not end in time. */
export class StalledError extends Error {}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}

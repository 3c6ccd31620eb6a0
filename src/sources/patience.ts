import { setTimeout as delay } from 'node:timers/promises'
import type { ReadLimits } from '../formats/limits.ts'
import { readLimits } from '../formats/limits.ts'

/**
 * How long one reading is waited for: `idleMs` for each step, `totalMs` for all of them, and no longer than whoever
 * asked wants it. Time in which nobody asks the source for more is not counted against it.
 *
 * A step that is given up goes on by itself: close what it waits for.
 */
export class Patience {
  readonly #idleMs: number
  readonly #cancelled: AbortSignal | undefined
  readonly #end: AbortSignal

  constructor(options: { readonly limits?: Pick<ReadLimits, 'idleMs' | 'totalMs'>; readonly signal?: AbortSignal }) {
    const { idleMs, totalMs } = options.limits ?? readLimits
    this.#idleMs = idleMs
    this.#cancelled = options.signal
    const total = AbortSignal.timeout(totalMs)
    this.#end = options.signal === undefined ? total : AbortSignal.any([options.signal, total])
  }

  /** Aborted when all the time is over, or by whoever asked. */
  get signal(): AbortSignal {
    return this.#end
  }

  /** Whoever asked wants it no more: that is no failure of the source. */
  throwIfCancelled(): void {
    this.#cancelled?.throwIfAborted()
  }

  /** @throws what `step` throws; `StalledError`; the reason of whoever cancelled */
  wait<T>(step: Promise<T>, idleMs = this.#idleMs): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const giveUp = () =>
        reject(this.#cancelled?.aborted === true ? asError(this.#cancelled.reason) : new StalledError('it took too long in all'))
      const timer = Number.isFinite(idleMs)
        ? setTimeout(() => reject(new StalledError(`nothing came for ${idleMs / 1000} s`)), idleMs)
        : undefined
      const settle = () => {
        clearTimeout(timer)
        this.#end.removeEventListener('abort', giveUp)
      }
      step.then(resolve, reject).finally(settle)
      if (this.#end.aborted) giveUp()
      else this.#end.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** Between two tries; ends early when all the time is over or whoever asked wants it no more. */
  async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#end }).catch(() => undefined)
    this.throwIfCancelled()
  }

  /** The chunks of a stream, each waited for. Does not close the stream. */
  async *chunks<T>(stream: AsyncIterable<T>, idleMs = this.#idleMs): AsyncGenerator<T> {
    const iterator = stream[Symbol.asyncIterator]()
    for (;;) {
      const next = await this.wait(iterator.next(), idleMs)
      if (next.done === true) return
      yield next.value
    }
  }
}

/** A source that says nothing for too long. */
class StalledError extends Error {
  override get name(): string {
    return 'StalledError'
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}

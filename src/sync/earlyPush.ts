/** Sends the first parts of a plan while the later ones are being planned (`plan/loadParts.ts`). */
import type { RunRow } from '../db/runs.ts'
import type { EngineDeps } from './engine.ts'
import { pushPlan } from './push/push.ts'
import { type GrowingPlan } from './push/sendOpenBatches.ts'
import { timed } from './runUnderLease.ts'

/** Push of a plan that is not complete yet. */
export class EarlyPush implements GrowingPlan {
  readonly #deps: EngineDeps
  readonly #run: RunRow
  readonly #stop = new AbortController()
  #push: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined
  #change = Promise.withResolvers<void>()
  #isComplete = false
  #operations = 0

  constructor(deps: EngineDeps, run: RunRow) {
    this.#deps = deps
    this.#run = run
  }

  /** True after the first part: the plan is being applied. */
  get isBegun(): boolean {
    return this.#push !== undefined
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  get changed(): Promise<void> {
    return this.#change.promise
  }

  get operations(): number {
    return this.#operations
  }

  /** Runs `planning`. If `planning` throws, stops the push, waits until its requests in flight have ended, and throws the error. */
  async during<Result>(planning: () => Promise<Result>): Promise<Result> {
    try {
      return await planning()
    } catch (error) {
      this.#stop.abort()
      await this.#push
      throw error
    }
  }

  /**
   * Registers a stored part. Only the first call uses the arguments: it runs `begin` and starts the push. `operations`: estimated number
   * of operations of the whole plan.
   * @throws the error that ended the push
   */
  async registerPart(planId: string, operations: number, begin: () => Promise<void> | undefined): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error
    this.#wake()
    if (this.isBegun) return
    this.#operations = operations
    await begin()
    this.#push = pushPlan(this.#deps, planId, { signal: this.#stop.signal, growing: this }).catch((error: unknown) => {
      this.#failure = { error }
    })
  }

  /**
   * Marks the plan as complete and waits until all of it is sent. Only this wait counts as the stage `push`, so that no time counts twice.
   * @throws the error that ended the push
   */
  async end(): Promise<void> {
    this.#isComplete = true
    this.#wake()
    await timed(this.#deps, this.#run, 'push', async () => this.#push)
    if (this.#failure !== undefined) throw this.#failure.error
  }

  /** Resolves the promise `changed`. */
  #wake(): void {
    const { resolve } = this.#change
    this.#change = Promise.withResolvers()
    resolve()
  }
}

/** Sends the first parts of a plan while the later ones are being planned (`plan/loadParts.ts`). */
import type { RunRow } from '../db/runs.ts'
import type { EngineDeps } from './engine.ts'
import { pushPlan, type GrowingPlan } from './push/push.ts'
import { timed } from './runUnderLease.ts'

export class EarlyPush {
  readonly #deps: EngineDeps
  readonly #run: RunRow
  readonly #stop = new AbortController()
  #push: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined
  #change = Promise.withResolvers<void>()
  #isComplete = false

  constructor(deps: EngineDeps, run: RunRow) {
    this.#deps = deps
    this.#run = run
  }

  /** True after the first part: the plan is being applied. */
  get isBegun(): boolean {
    return this.#push !== undefined
  }

  /** Runs the planning. If it fails, requests in flight end before its error is thrown, and no others start. */
  async during<Result>(planning: () => Promise<Result>): Promise<Result> {
    try {
      return await planning()
    } catch (error) {
      this.#stop.abort()
      await this.#push
      throw error
    }
  }

  /** Begins to send with the first part. `operations`: number of those of the whole plan, at most. @throws the error that ended the push */
  grew(planId: string, operations: number): void {
    if (this.#failure !== undefined) throw this.#failure.error
    this.#notify()
    this.#push ??= this.#begin(planId, operations)
  }

  /** Waits until the complete plan is sent. @throws the error that ended the push */
  async end(): Promise<void> {
    this.#isComplete = true
    this.#notify()
    await this.#push
    if (this.#failure !== undefined) throw this.#failure.error
  }

  async #begin(planId: string, operations: number): Promise<void> {
    const isComplete = () => this.#isComplete
    const changed = () => this.#change.promise
    const growing: GrowingPlan = {
      operations,
      get isComplete() {
        return isComplete()
      },
      get changed() {
        return changed()
      },
    }
    await timed(this.#deps, this.#run, 'push', () => pushPlan(this.#deps, planId, { signal: this.#stop.signal, growing })).catch(
      (error: unknown) => (this.#failure = { error }),
    )
  }

  #notify(): void {
    const { resolve } = this.#change
    this.#change = Promise.withResolvers()
    resolve()
  }
}

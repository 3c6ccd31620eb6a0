/**
 * Runs a fault on one request: waits, applies the part that the fault sets, then answers or breaks the connection (docs/sandbox.md#faults).
 */
import { exactJson, type Answer } from '../answer.ts'
import { answerPartially, corruptAnswer } from './corruptedAnswers.ts'
import { injectAnswer, isInjected } from './injectedAnswers.ts'
import { lagMsOf, effectOf, wholeNumberOr, type Apply, type Fault } from './faultKinds.ts'
import type { FaultContext } from './faultContext.ts'
import type { FaultRule } from './armedFaults.ts'
import { Waits, type Hold } from './waits.ts'
import { adsRefusals, invalidParameter, type Refusal } from '../refusal.ts'
import { parseForm } from '../verify/signature.ts'
import type { TrafficRules } from '../ledger/trafficRules.ts'
import type { SandboxWorld } from '../state/world.ts'
import {
  readSlowly,
  reset,
  sendHalfThen,
  sendHttp10Answer,
  sendInterimAnswers,
  sendSlowly,
  sendThenCut,
  sendWithoutEnd,
  silence,
  type Port,
} from './wireFaults.ts'
import { recordOf } from '../../unknownValue.ts'

/** Functions of the server that a fault calls for its request. */
export interface FaultHooks {
  /** Handles the request. Returns refusals as answers. */
  readonly apply: (apply: Apply) => Answer | Promise<Answer>
  /** Converts a refusal to an answer. Sends nothing. */
  readonly refuse: (refusal: Refusal) => Answer
  /** Handles a read on the state as it was `lagMs` ago. */
  readonly applyAsOf: (lagMs: number) => Answer | Promise<Answer>
  readonly send: (answer: Answer) => void
  /** Number of products or users in the request. */
  readonly items: number
}

export class FaultRunner {
  readonly #world: SandboxWorld
  readonly #trafficRules: TrafficRules
  readonly #waits: Waits
  readonly #port: Port
  readonly #crash: (() => void) | undefined

  /** `crash` ends the process like a kill. Undefined where the sandbox shares its process with others. */
  constructor(world: SandboxWorld, trafficRules: TrafficRules, port: Port, crash: (() => void) | undefined) {
    this.#world = world
    this.#trafficRules = trafficRules
    this.#waits = new Waits(world.machineNow)
    this.#port = port
    this.#crash = crash
  }

  /** Returns why this sandbox cannot run the fault; undefined if it can. */
  unsupportedReason(fault: unknown): string | undefined {
    return recordOf(fault)['kind'] === 'crash' && this.#crash === undefined
      ? 'crash: this sandbox shares its process with others'
      : undefined
  }

  /** Returns the requests that wait to be released. */
  holds(): readonly Hold[] {
    return this.#waits.holds()
  }

  /** Releases the requests of a hold. Returns their number. */
  release(name: string): number {
    return this.#waits.release(name)
  }

  /** Ends every wait. */
  clear(): void {
    this.#waits.clear()
  }

  /** Runs a fault that acts before the body is read. Calls `readBody` if the request is to continue. */
  runBeforeBody(context: FaultContext, rule: FaultRule, readBody: () => void): void {
    const { fault } = rule
    const { stage } = effectOf(fault)
    if (fault.kind === 'hold') return void this.#waits.hold(rule, context.entry, stage).then(readBody)
    if (fault.kind === 'delay' || fault.kind === 'latency') return void this.#waits.pause(delayMsOf(fault, this.#world)).then(readBody)
    if (fault.kind === 'reset' || fault.kind === 'close') {
      if (stage !== 'mid_upload') return this.#break(context, fault)
      context.request.once('data', () => this.#break(context, fault))
      context.request.once('end', () => this.#break(context, fault))
      return
    }
    if (fault.kind === 'stall') return
    if (fault.kind === 'half_open') return silence(context.request.socket)
    if (fault.kind === 'crash') return this.#crash?.()
    if (fault.kind === 'slow_upload') {
      readBody()
      return readSlowly(context.request, wholeNumberOr(fault['bytes_per_s'], 65_536), (ms) => this.#waits.pause(ms))
    }
    const answer = injectAnswer({ world: this.#world, trafficRules: this.#trafficRules }, context, fault, (refusal) => ({
      status: refusal.status,
      headers: { 'content-type': 'application/json' },
      body: exactJson({ errors: [] }),
    }))
    context.entry.status = answer.status
    context.response.writeHead(answer.status, { ...answer.headers, connection: 'close' })
    context.response.end(answer.body)
  }

  /** Runs a fault that acts after the body is read. Resolves when the answer is sent, or when none will be. */
  async run(context: FaultContext, rule: FaultRule, hooks: FaultHooks): Promise<void> {
    const { fault } = rule
    const { stage, apply: usualApply } = effectOf(fault)
    // Only uploads of users have counts. Any other answer stays unchanged, so the request must be applied.
    const apply =
      fault.kind === 'counts' && fault.apply === undefined && context.endpoint?.path.endsWith('/users') !== true ? 'all' : usualApply
    const late = stage === 'after_apply' || stage === 'mid_response' || stage === 'after_response'
    if (!late) await this.#pause(context, rule, stage)
    if (fault.kind === 'crash' && !late) return this.#crash?.()
    if (fault.kind === 'clock_skew') return hooks.send(await this.#skewed(fault, hooks))
    if (fault.kind === 'cursor_expired' && cursorOf(context) !== undefined)
      return hooks.send(hooks.refuse(cursorExpired(cursorOf(context))))
    const applied =
      fault.kind === 'stale' && context.entry.method === 'GET'
        ? await hooks.applyAsOf(lagMsOf(fault))
        : await this.#apply(context, apply, hooks)
    if (context.response.destroyed) return
    if (late) await this.#pause(context, rule, stage)
    if (fault.kind === 'stall') return
    if (fault.kind === 'crash' && stage !== 'mid_response') return this.#crash?.()
    if (fault.kind === 'half_open' && stage !== 'after_response') return silence(context.request.socket)
    if (fault.kind === 'refuse' || fault.kind === 'accept_close') {
      this.#port[fault.kind === 'refuse' ? 'refuse' : 'acceptAndClose'](wholeNumberOr(fault['ms'], 1000))
      return reset(context.request.socket)
    }
    const answer = await this.#answer(context, rule, applied, hooks)
    if (fault.kind === 'crash') return sendHalfThen(context, answer, () => this.#crash?.())
    if (fault.kind === 'http10') return sendHttp10Answer(context, answer)
    if (fault.kind === 'interim') sendInterimAnswers(context, fault)
    if (fault.kind === 'half_open') context.response.once('finish', () => silence(context.request.socket))
    if (fault.kind === 'idle_close')
      context.response.once(
        'finish',
        () => void this.#waits.pause(delayMsOf(fault, this.#world, 0)).then(() => context.request.socket.destroySoon()),
      )
    if (fault.kind === 'commit_then_reset' || fault.kind === 'reset' || fault.kind === 'close')
      return this.#breakAt(context, fault, stage, answer)
    if (fault.kind === 'truncate') return sendThenCut(context, answer, wholeNumberOr(fault['bytes'], Math.floor(answer.body.length / 2)))
    if (fault.kind === 'slow' || fault.kind === 'drip')
      return sendSlowly(context, answer, wholeNumberOr(fault['bytes_per_s'], 100), (ms) => this.#waits.pause(ms))
    if (fault.kind === 'wrong_length')
      return sendThenCut(context, answer, answer.body.length, answer.body.length + wholeNumberOr(fault['by'], 10))
    if (fault.kind === 'no_chunk_end') return sendWithoutEnd(context, answer)
    if (fault['close'] === true) answer.headers['connection'] = 'close'
    hooks.send(answer)
  }

  /** Waits for the faults `hold`, `delay` and `latency`. */
  async #pause(context: FaultContext, rule: FaultRule, stage: string): Promise<void> {
    const { fault } = rule
    if (fault.kind === 'hold') await this.#waits.hold(rule, context.entry, stage)
    if (fault.kind === 'delay' || fault.kind === 'latency') await this.#waits.pause(delayMsOf(fault, this.#world))
  }

  /** Applies a part of the request. Undefined if nothing is applied before the answer. */
  async #apply(context: FaultContext, apply: Apply, hooks: FaultHooks): Promise<Answer | undefined> {
    if (apply === 'none') return undefined
    if (apply === 'twice') await hooks.apply('all')
    if (typeof apply === 'string' && apply.startsWith('later:')) {
      // Answers now and applies the request later, after requests that arrive in between.
      void this.#waits.pause(Number(apply.slice(6))).then(() => hooks.apply('all'))
      return undefined
    }
    if (apply === 'half') return hooks.apply(`first:${Math.floor(hooks.items / 2)}`)
    return hooks.apply(apply === 'twice' ? 'all' : apply)
  }

  /** Returns the answer that the fault injects, or else the answer of the handler as the fault corrupts it. */
  async #answer(context: FaultContext, rule: FaultRule, applied: Answer | undefined, hooks: FaultHooks): Promise<Answer> {
    const { fault } = rule
    if (isInjected(fault.kind)) return injectAnswer({ world: this.#world, trafficRules: this.#trafficRules }, context, fault, hooks.refuse)
    const base = applied ?? (await this.#answerWithoutApplying(context, fault, hooks))
    if (fault.kind === 'cursor_repeats') return corruptAnswer(base, { ...fault, cursor: cursorOf(context) })
    if (fault.kind === 'partial_apply') return answerPartially(base, fault, hooks.items)
    return corruptAnswer(base, fault)
  }

  /** Returns the answer that the request would get, without applying it; `{}` for kinds that replace or never send the answer. */
  async #answerWithoutApplying(context: FaultContext, fault: Fault, hooks: FaultHooks): Promise<Answer> {
    if (fault.kind === 'errors_in_200' || fault.kind === 'operation_errors' || UNANSWERED.has(fault.kind))
      return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: '{}' }
    const answer = await hooks.apply('first:0')
    context.entry.applied = false
    context.entry.applied_at = null
    return answer
  }

  /** Closes the connection for `close`, and resets it for any other kind. */
  #break(context: FaultContext, fault: Fault): void {
    if (fault.kind === 'close') context.request.socket.destroySoon()
    else reset(context.request.socket)
  }

  /** Breaks the connection at a stage after applying: before, in the middle of, or after the answer. */
  #breakAt(context: FaultContext, fault: Fault, stage: string, answer: Answer): void {
    if (stage === 'mid_response') return sendThenCut(context, answer, Math.floor(answer.body.length / 2))
    if (stage === 'after_response') {
      context.response.once('finish', () => this.#break(context, fault))
      context.entry.status = answer.status
      context.response.writeHead(answer.status, answer.headers)
      return void context.response.end(answer.body)
    }
    this.#break(context, fault)
  }

  /** Handles the request by a clock that is `s` seconds ahead: for the check of the caller's timestamp, and for the `Date` header. */
  async #skewed(fault: Fault, hooks: FaultHooks): Promise<Answer> {
    const skewMs = wholeNumberOr(fault['s'], 3600) * 1000
    this.#world.skewMs = skewMs
    // Authentication ends before `apply` returns, so the clock can be reset before the handler ends.
    const applied = hooks.apply('all')
    this.#world.skewMs = 0
    const answer = await applied
    answer.headers['date'] = new Date(this.#world.machineNow() + skewMs).toUTCString()
    return answer
  }
}

/** Kinds that break the connection after the answer would be known. If they apply nothing, they need no answer. */
const UNANSWERED = new Set(['reset', 'close', 'commit_then_reset', 'crash'])

function cursorOf(context: FaultContext): string | undefined {
  return parseForm(context.entry.query).find(([name]) => name === 'cursor')?.[1]
}

function cursorExpired(cursor: string | undefined): Refusal {
  return adsRefusals([invalidParameter('cursor', 'a cursor of an earlier answer', cursor)])
}

function delayMsOf(fault: Fault, world: SandboxWorld, defaultMs = 1000): number {
  return wholeNumberOr(fault['ms'], defaultMs) + Math.floor(world.random() * wholeNumberOr(fault['jitter'], 0))
}

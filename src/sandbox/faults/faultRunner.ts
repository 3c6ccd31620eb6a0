/** Runs the fault of a rule on the request that the rule hits (docs/sandbox.md#faults). */
import type { Answer } from '../answer.ts'
import { appliedCount } from '../appliedPart.ts'
import type { TrafficRules } from '../ledger/trafficRules.ts'
import type { SandboxWorld } from '../state/world.ts'
import { actsBeforeBody, bodyMatchOf, type ArmedRule } from './armedFaults.ts'
import { corruptAnswer } from './corruptedAnswers.ts'
import { actionsOf, cursorOf, type FaultHooks, type FaultTools, type HitRequest } from './faultActions.ts'
import type { FaultContext } from './faultContext.ts'
import { actsAfterApplying, stageAndPartOf } from './faultKinds.ts'
import type { FaultRule } from './faultRule.ts'
import { injectAnswer, isInjected } from './injectedAnswers.ts'
import { Waits, type Hold } from './waits.ts'
import type { PortFaults } from './wireFaults.ts'

/** Names of the endpoints whose answers have counts. */
const UPLOADS_OF_USERS: readonly string[] = ['audiences.users', 'doNotReachLists.users']

export class FaultRunner {
  readonly #tools: FaultTools
  readonly #trafficRules: TrafficRules

  /** `crash`: as in `FaultTools`. */
  constructor(world: SandboxWorld, trafficRules: TrafficRules, portFaults: PortFaults, crash: (() => void) | undefined) {
    this.#tools = { world, waits: new Waits(world.machineNow), portFaults, crash }
    this.#trafficRules = trafficRules
  }

  /**
   * Returns an error message if this sandbox cannot run the fault, or if its stage or `match` leaves it without effect. Otherwise returns
   * undefined.
   */
  rejectionReason({ fault, match }: FaultRule): string | undefined {
    const { wait, upload, end } = actionsOf(fault.kind)
    if (fault.kind === 'crash' && this.#tools.crash === undefined)
      return 'crash needs a sandbox with a process of its own: start one with sluice sandbox'
    if (actsBeforeBody(fault) && !isInjected(fault.kind) && (wait ?? upload ?? end) === undefined)
      return `${fault.kind} has no effect at the stage ${stageAndPartOf(fault).stage}: it changes the answer, or how the request is applied`
    if (upload === undefined) return undefined
    const bodyMatch = bodyMatchOf(match)
    if (bodyMatch !== undefined) return `${fault.kind} has no effect with match.${bodyMatch}: the body is already read`
    if (!actsBeforeBody(fault)) return `${fault.kind} has no effect at the stage ${stageAndPartOf(fault).stage}: the body is already read`
    return undefined
  }

  holds(): readonly Hold[] {
    return this.#tools.waits.holds()
  }

  release(name: string): number {
    return this.#tools.waits.release(name)
  }

  clear(): void {
    this.#tools.waits.clear()
  }

  /** Runs the fault of a rule that hits before the body is read. Calls `hooks.readBody` if the request continues after the fault. */
  runBeforeBody(
    context: FaultContext,
    rule: ArmedRule,
    hooks: Pick<FaultHooks, 'answerRefusal' | 'send'> & { readonly readBody: () => void },
  ): void {
    const hit = this.#hitRequest(context, rule)
    const { upload, wait, end } = actionsOf(hit.fault.kind)
    if (wait !== undefined) return void wait(hit).then(hooks.readBody)
    if (upload !== undefined) return upload(hit, hooks.readBody)
    if (end?.(hit) === true) return
    const answer = this.#inject(hit, hooks)
    // The body stays unread, so the connection cannot serve another request.
    answer.headers['connection'] = 'close'
    hooks.send(answer)
  }

  /**
   * Runs the fault of a rule that hits after the body is read. Resolves when the answer is sent, or when it is certain that none follows.
   */
  async run(context: FaultContext, rule: ArmedRule, hooks: FaultHooks): Promise<void> {
    const hit = this.#hitRequest(context, rule)
    const actions = actionsOf(hit.fault.kind)
    const isLate = actsAfterApplying(hit.stage)
    if (!isLate) await actions.wait?.(hit)
    const applied = (await actions.apply?.(hit, hooks)) ?? (await this.#apply(hit, hooks))
    if (context.response.destroyed) return
    if (isLate) await actions.wait?.(hit)
    if (actions.end?.(hit) === true) return
    const answer = await this.#answer(hit, applied, hooks)
    actions.beforeSend?.(hit)
    if (actions.send !== undefined) return actions.send(hit, answer)
    if (hit.fault['close'] === true) answer.headers['connection'] = 'close'
    hooks.send(answer)
  }

  #hitRequest(context: FaultContext, rule: ArmedRule): HitRequest {
    return { context, rule, fault: rule.fault, stage: stageAndPartOf(rule.fault).stage, tools: this.#tools }
  }

  /**
   * Applies the part of the request that `stageAndPartOf` returns, and returns the answer. Returns undefined if the fault applies nothing, or
   * applies the request only after the answer.
   */
  async #apply({ context, fault, tools }: HitRequest, hooks: FaultHooks): Promise<Answer | undefined> {
    // By default `counts` applies nothing. Only answers to uploads of users have counts, so any other request is applied as usual.
    const isUpload = UPLOADS_OF_USERS.includes(context.endpoint?.name ?? '')
    const part = fault.kind === 'counts' && fault.apply === undefined && !isUpload ? 'all' : stageAndPartOf(fault).apply
    if (part === 'none') return undefined
    if (part === 'twice') await hooks.apply('all')
    if (typeof part === 'string' && part.startsWith('later:')) {
      // Not awaited, so that the answer is sent first. Requests that arrive in between are applied before this one.
      void tools.waits
        .pause(Number(part.slice(6)))
        .then(() => hooks.apply('all'))
        .catch(hooks.fail)
      return undefined
    }
    if (part === 'half') return hooks.apply(`first:${appliedCount(part, hooks.items)}`)
    return hooks.apply(part === 'twice' ? 'all' : part)
  }

  /** Returns the answer to send. `applied`: answer of the handler, if the request was applied. Some kinds replace it, others corrupt it. */
  async #answer(hit: HitRequest, applied: Answer | undefined, hooks: FaultHooks): Promise<Answer> {
    const { context, fault } = hit
    if (isInjected(fault.kind)) return this.#inject(hit, hooks)
    const uncorrupted = applied ?? (await this.#answerWithoutApplying(hit, hooks))
    return corruptAnswer(uncorrupted, fault, {
      cursor: cursorOf(context),
      items: hooks.items,
      json: context.json,
      hasFlatErrors: this.#tools.world.switchValue('operation_errors') === 'flat',
      codes: this.#tools.world.switchValue('ads_error_codes'),
    })
  }

  #inject({ context, fault }: HitRequest, hooks: Pick<FaultHooks, 'answerRefusal'>): Answer {
    return injectAnswer({ world: this.#tools.world, trafficRules: this.#trafficRules }, context, fault, hooks.answerRefusal)
  }

  /** Returns the answer that the request would get, but applies nothing. For kinds that replace the body, returns `{}`. */
  async #answerWithoutApplying({ context, fault }: HitRequest, hooks: FaultHooks): Promise<Answer> {
    if (fault.kind === 'errors_in_200' || fault.kind === 'operation_errors')
      return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: '{}' }
    const answer = await hooks.apply('first:0')
    context.entry.applied = false
    context.entry.applied_at = null
    return answer
  }
}

/** Carries a fault out on one request: holds, waits, applies as much as the rule says, and answers or breaks (docs/sandbox.md). */
import { exactJson, type Answer } from '../answer.ts'
import { partial, corrupt } from './corruptedAnswers.ts'
import { cutOff, drip, halfThen, unended } from './brokenAnswers.ts'
import { OWN_ANSWER, injectedAnswers } from './injectedAnswers.ts'
import { lagOf, planOf, whole, type Apply, type Fault } from './faultKinds.ts'
import type { FaultContext } from './faultContext.ts'
import type { FaultRule } from './faults.ts'
import { Waits, type Hold } from './waits.ts'
import { adsRefusals, invalidParameter, type Refusal } from '../refusal.ts'
import { parseForm } from '../verify/signature.ts'
import type { Watch } from '../ledger/watch.ts'
import type { SandboxWorld } from '../state/world.ts'
import { interim, oldAnswer, readSlowly, reset, vanish, type Port } from './wireFaults.ts'

export interface FaultWays {
  /** Handles the request; refusals come as answers. */
  readonly apply: (apply: Apply) => Answer | Promise<Answer>
  readonly refuse: (refusal: Refusal) => Answer
  /** Handles a read on the state as it was so many milliseconds ago. */
  readonly applyAsOf: (lagMs: number) => Answer | Promise<Answer>
  readonly send: (answer: Answer) => void
  /** Products or users in the request. */
  readonly items: number
}

export class FaultRunner {
  readonly #world: SandboxWorld
  readonly #watch: Watch
  readonly #waits: Waits
  readonly #port: Port
  readonly #crash: (() => void) | undefined

  /** `crash` ends the process as a kill would; absent where the sandbox shares its process with others. */
  constructor(world: SandboxWorld, watch: Watch, port: Port, crash: (() => void) | undefined) {
    this.#world = world
    this.#watch = watch
    this.#waits = new Waits(world.machineNow)
    this.#port = port
    this.#crash = crash
  }

  /** Why this sandbox cannot do what the fault asks; undefined when it can. */
  whyNot(fault: unknown): string | undefined {
    const kind = typeof fault === 'object' && fault !== null ? (fault as { kind?: unknown }).kind : undefined
    return kind === 'crash' && this.#crash === undefined ? 'crash: this sandbox shares its process with others' : undefined
  }

  holds(): readonly Hold[] {
    return this.#waits.holds()
  }

  /** Lets every request of that hold go on; answers how many. */
  release(name: string): number {
    return this.#waits.release(name)
  }

  /** Ends every wait immediately: the sandbox closes or restarts. */
  clear(): void {
    this.#waits.clear()
  }

  /** Runs faults that act before the body is read; `goOn` reads it. */
  early(requestContext: FaultContext, rule: FaultRule, goOn: () => void): void {
    const { fault } = rule
    const { stage } = planOf(fault)
    if (fault.kind === 'hold') return void this.#waits.hold(rule, requestContext.entry, stage).then(goOn)
    if (fault.kind === 'delay' || fault.kind === 'latency') return void this.#waits.pause(delayOf(fault, this.#world)).then(goOn)
    if (fault.kind === 'reset' || fault.kind === 'close') {
      if (stage !== 'mid_upload') return this.#break(requestContext, fault)
      requestContext.request.once('data', () => this.#break(requestContext, fault))
      requestContext.request.once('end', () => this.#break(requestContext, fault))
      return
    }
    if (fault.kind === 'stall') return
    if (fault.kind === 'half_open') return vanish(requestContext.request.socket)
    if (fault.kind === 'crash') return this.#crash?.()
    if (fault.kind === 'slow_upload') {
      goOn()
      return readSlowly(requestContext.request, whole(fault['bytes_per_s'], 65_536), (ms) => this.#waits.pause(ms))
    }
    const answer = injectedAnswers({ world: this.#world, watch: this.#watch }, requestContext, fault, (refusal) => ({
      status: refusal.status,
      headers: { 'content-type': 'application/json' },
      body: exactJson({ errors: [] }),
    }))
    requestContext.entry.status = answer.status
    requestContext.response.writeHead(answer.status, { ...answer.headers, connection: 'close' })
    requestContext.response.end(answer.body)
  }

  async run(requestContext: FaultContext, rule: FaultRule, ways: FaultWays): Promise<void> {
    const { fault } = rule
    const { stage, apply: usual } = planOf(fault)
    // Answers without counts stay as they are, and so they have to be true.
    const apply =
      fault.kind === 'counts' && fault.apply === undefined && requestContext.endpoint?.path.endsWith('/users') !== true ? 'all' : usual
    const late = stage === 'after_apply' || stage === 'mid_response' || stage === 'after_response'
    if (!late) await this.#pause(requestContext, rule, stage)
    if (fault.kind === 'crash' && !late) return this.#crash?.()
    if (fault.kind === 'clock_skew') return ways.send(await this.#skewed(fault, ways))
    if (fault.kind === 'cursor_expired' && cursorOf(requestContext) !== undefined)
      return ways.send(ways.refuse(cursorExpired(cursorOf(requestContext))))
    const made =
      fault.kind === 'stale' && requestContext.entry.method === 'GET'
        ? await ways.applyAsOf(lagOf(fault))
        : await this.#apply(requestContext, apply, ways)
    if (requestContext.response.destroyed) return
    if (late) await this.#pause(requestContext, rule, stage)
    if (fault.kind === 'stall') return
    if (fault.kind === 'crash' && stage !== 'mid_response') return this.#crash?.()
    if (fault.kind === 'half_open' && stage !== 'after_response') return vanish(requestContext.request.socket)
    if (fault.kind === 'refuse' || fault.kind === 'accept_close') {
      this.#port[fault.kind === 'refuse' ? 'refuse' : 'acceptAndClose'](whole(fault['ms'], 1000))
      return reset(requestContext.request.socket)
    }
    const answer = await this.#answer(requestContext, rule, made, ways)
    if (answer === undefined) return
    if (fault.kind === 'crash') return halfThen(requestContext, answer, () => this.#crash?.())
    if (fault.kind === 'http10') return oldAnswer(requestContext, answer)
    if (fault.kind === 'interim') interim(requestContext, fault)
    if (fault.kind === 'half_open') requestContext.response.once('finish', () => vanish(requestContext.request.socket))
    if (fault.kind === 'idle_close')
      requestContext.response.once(
        'finish',
        () => void this.#waits.pause(delayOf(fault, this.#world, 0)).then(() => requestContext.request.socket.destroySoon()),
      )
    if (fault.kind === 'commit_then_reset' || fault.kind === 'reset' || fault.kind === 'close')
      return this.#breakAt(requestContext, fault, stage, answer)
    if (fault.kind === 'truncate') return cutOff(requestContext, answer, whole(fault['bytes'], Math.floor(answer.body.length / 2)))
    if (fault.kind === 'slow' || fault.kind === 'drip')
      return drip(requestContext, answer, whole(fault['bytes_per_s'], 100), (ms) => this.#waits.pause(ms))
    if (fault.kind === 'wrong_length')
      return cutOff(requestContext, answer, answer.body.length, answer.body.length + whole(fault['by'], 10))
    if (fault.kind === 'no_chunk_end') return unended(requestContext, answer)
    if (fault['close'] === true) answer.headers['connection'] = 'close'
    ways.send(answer)
  }

  /** Kinds that wait before they go on. */
  async #pause(requestContext: FaultContext, rule: FaultRule, stage: string): Promise<void> {
    const { fault } = rule
    if (fault.kind === 'hold') await this.#waits.hold(rule, requestContext.entry, stage)
    if (fault.kind === 'delay' || fault.kind === 'latency') await this.#waits.pause(delayOf(fault, this.#world))
  }

  async #apply(requestContext: FaultContext, apply: Apply, ways: FaultWays): Promise<Answer | undefined> {
    if (apply === 'none') return undefined
    if (apply === 'twice') await ways.apply('all')
    if (typeof apply === 'string' && apply.startsWith('later:')) {
      // The answer goes out now; the bytes reach the state afterwards, whatever else came between.
      void this.#waits.pause(Number(apply.slice(6))).then(() => ways.apply('all'))
      return undefined
    }
    if (apply === 'half') return ways.apply(`first:${Math.floor(ways.items / 2)}`)
    return ways.apply(apply === 'twice' ? 'all' : apply)
  }

  /** Returns the answer: the handler's, corrupted, or one that the fault injects. */
  async #answer(requestContext: FaultContext, rule: FaultRule, made: Answer | undefined, ways: FaultWays): Promise<Answer | undefined> {
    const { fault } = rule
    if (OWN_ANSWER.has(fault.kind)) return injectedAnswers({ world: this.#world, watch: this.#watch }, requestContext, fault, ways.refuse)
    const base = made ?? (await this.#rehearse(requestContext, fault, ways))
    if (fault.kind === 'cursor_repeats') return corrupt(base, { ...fault, cursor: cursorOf(requestContext) })
    if (fault.kind === 'partial_apply') return partial(base, fault, ways.items)
    return corrupt(base, fault)
  }

  /** The answer that the request would have had, with nothing applied. */
  async #rehearse(requestContext: FaultContext, fault: Fault, ways: FaultWays): Promise<Answer> {
    if (fault.kind === 'errors_in_200' || fault.kind === 'operation_errors' || BREAKS.has(fault.kind))
      return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: '{}' }
    const answer = await ways.apply('first:0')
    requestContext.entry.applied = false
    requestContext.entry.applied_at = null
    return answer
  }

  #break(requestContext: FaultContext, fault: Fault): void {
    if (fault.kind === 'close') requestContext.request.socket.destroySoon()
    else reset(requestContext.request.socket)
  }

  #breakAt(requestContext: FaultContext, fault: Fault, stage: string, answer: Answer): void {
    if (stage === 'mid_response') return cutOff(requestContext, answer, Math.floor(answer.body.length / 2))
    if (stage === 'after_response') {
      requestContext.response.once('finish', () => this.#break(requestContext, fault))
      requestContext.entry.status = answer.status
      requestContext.response.writeHead(answer.status, answer.headers)
      return void requestContext.response.end(answer.body)
    }
    this.#break(requestContext, fault)
  }

  /** Checks the caller's timestamp by a clock that is `s` seconds ahead; the `Date` header shows that clock. */
  async #skewed(fault: Fault, ways: FaultWays): Promise<Answer> {
    const skewMs = whole(fault['s'], 3600) * 1000
    this.#world.skewMs = skewMs
    // The caller is classified before anything waits.
    const made = ways.apply('all')
    this.#world.skewMs = 0
    const answer = await made
    answer.headers['date'] = new Date(this.#world.machineNow() + skewMs).toUTCString()
    return answer
  }
}

/** Kinds that break the connection: without `apply` there is no answer to break off in. */
const BREAKS = new Set(['reset', 'close', 'commit_then_reset', 'crash'])

function cursorOf(requestContext: FaultContext): string | undefined {
  return parseForm(requestContext.entry.query).find(([name]) => name === 'cursor')?.[1]
}

function cursorExpired(cursor: string | undefined): Refusal {
  return adsRefusals([invalidParameter('cursor', 'a cursor of an earlier answer', cursor)])
}

function delayOf(fault: Fault, world: SandboxWorld, usual = 1000): number {
  return whole(fault['ms'], usual) + Math.floor(world.random() * whole(fault['jitter'], 0))
}

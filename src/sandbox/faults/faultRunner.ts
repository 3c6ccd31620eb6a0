/** Carries a fault out on one request: holds, waits, applies as much as the rule says, and answers or breaks (guarantees 6.1, 6.2). */
import { exactJson, type Answer } from '../answer.ts'
import { partial, spoil } from './spoiledAnswers.ts'
import { cutOff, drip, halfThen, unended } from './brokenAnswers.ts'
import { OWN_ANSWER, ownAnswer } from './ownAnswers.ts'
import { lagOf, planOf, whole, type Apply, type Fault } from './faultKinds.ts'
import type { FaultSeat } from './faultSeat.ts'
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

  /** Ends every wait at once: the sandbox closes or starts anew. */
  clear(): void {
    this.#waits.clear()
  }

  /** What acts before the body is read; `goOn` reads it. */
  early(seat: FaultSeat, rule: FaultRule, goOn: () => void): void {
    const { fault } = rule
    const { stage } = planOf(fault)
    if (fault.kind === 'hold') return void this.#waits.hold(rule, seat.entry, stage).then(goOn)
    if (fault.kind === 'delay' || fault.kind === 'latency') return void this.#waits.pause(delayOf(fault, this.#world)).then(goOn)
    if (fault.kind === 'reset' || fault.kind === 'close') {
      if (stage !== 'mid_upload') return this.#break(seat, fault)
      seat.request.once('data', () => this.#break(seat, fault))
      seat.request.once('end', () => this.#break(seat, fault))
      return
    }
    if (fault.kind === 'stall') return
    if (fault.kind === 'half_open') return vanish(seat.request.socket)
    if (fault.kind === 'crash') return this.#crash?.()
    if (fault.kind === 'slow_upload') {
      goOn()
      return readSlowly(seat.request, whole(fault['bytes_per_s'], 65_536), (ms) => this.#waits.pause(ms))
    }
    const answer = ownAnswer({ world: this.#world, watch: this.#watch }, seat, fault, (refusal) => ({
      status: refusal.status,
      headers: { 'content-type': 'application/json' },
      body: exactJson({ errors: [] }),
    }))
    seat.entry.status = answer.status
    seat.response.writeHead(answer.status, { ...answer.headers, connection: 'close' })
    seat.response.end(answer.body)
  }

  async run(seat: FaultSeat, rule: FaultRule, ways: FaultWays): Promise<void> {
    const { fault } = rule
    const { stage, apply: usual } = planOf(fault)
    // Answers without counts stay as they are, and so they have to be true.
    const apply = fault.kind === 'counts' && fault.apply === undefined && seat.endpoint?.path.endsWith('/users') !== true ? 'all' : usual
    const late = stage === 'after_apply' || stage === 'mid_response' || stage === 'after_response'
    if (!late) await this.#pause(seat, rule, stage)
    if (fault.kind === 'crash' && !late) return this.#crash?.()
    if (fault.kind === 'clock_skew') return ways.send(await this.#skewed(fault, ways))
    if (fault.kind === 'cursor_expired' && cursorOf(seat) !== undefined) return ways.send(ways.refuse(cursorExpired(cursorOf(seat))))
    const made =
      fault.kind === 'stale' && seat.entry.method === 'GET' ? await ways.applyAsOf(lagOf(fault)) : await this.#apply(seat, apply, ways)
    if (seat.response.destroyed) return
    if (late) await this.#pause(seat, rule, stage)
    if (fault.kind === 'stall') return
    if (fault.kind === 'crash' && stage !== 'mid_response') return this.#crash?.()
    if (fault.kind === 'half_open' && stage !== 'after_response') return vanish(seat.request.socket)
    if (fault.kind === 'refuse' || fault.kind === 'accept_close') {
      this.#port[fault.kind === 'refuse' ? 'refuse' : 'acceptAndClose'](whole(fault['ms'], 1000))
      return reset(seat.request.socket)
    }
    const answer = await this.#answer(seat, rule, made, ways)
    if (answer === undefined) return
    if (fault.kind === 'crash') return halfThen(seat, answer, () => this.#crash?.())
    if (fault.kind === 'http10') return oldAnswer(seat, answer)
    if (fault.kind === 'interim') interim(seat, fault)
    if (fault.kind === 'half_open') seat.response.once('finish', () => vanish(seat.request.socket))
    if (fault.kind === 'idle_close')
      seat.response.once(
        'finish',
        () => void this.#waits.pause(delayOf(fault, this.#world, 0)).then(() => seat.request.socket.destroySoon()),
      )
    if (fault.kind === 'commit_then_reset' || fault.kind === 'reset' || fault.kind === 'close')
      return this.#breakAt(seat, fault, stage, answer)
    if (fault.kind === 'truncate') return cutOff(seat, answer, whole(fault['bytes'], Math.floor(answer.body.length / 2)))
    if (fault.kind === 'slow' || fault.kind === 'drip')
      return drip(seat, answer, whole(fault['bytes_per_s'], 100), (ms) => this.#waits.pause(ms))
    if (fault.kind === 'wrong_length') return cutOff(seat, answer, answer.body.length, answer.body.length + whole(fault['by'], 10))
    if (fault.kind === 'no_chunk_end') return unended(seat, answer)
    if (fault['close'] === true) answer.headers['connection'] = 'close'
    ways.send(answer)
  }

  /** Kinds that wait before they go on. */
  async #pause(seat: FaultSeat, rule: FaultRule, stage: string): Promise<void> {
    const { fault } = rule
    if (fault.kind === 'hold') await this.#waits.hold(rule, seat.entry, stage)
    if (fault.kind === 'delay' || fault.kind === 'latency') await this.#waits.pause(delayOf(fault, this.#world))
  }

  async #apply(seat: FaultSeat, apply: Apply, ways: FaultWays): Promise<Answer | undefined> {
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

  /** What is answered: the handler's answer made wrong, or one of the fault's own. */
  async #answer(seat: FaultSeat, rule: FaultRule, made: Answer | undefined, ways: FaultWays): Promise<Answer | undefined> {
    const { fault } = rule
    if (OWN_ANSWER.has(fault.kind)) return ownAnswer({ world: this.#world, watch: this.#watch }, seat, fault, ways.refuse)
    const base = made ?? (await this.#rehearse(seat, fault, ways))
    if (fault.kind === 'cursor_repeats') return spoil(base, { ...fault, cursor: cursorOf(seat) })
    if (fault.kind === 'partial_apply') return partial(base, fault, ways.items)
    return spoil(base, fault)
  }

  /** The answer that the request would have had, with nothing applied. */
  async #rehearse(seat: FaultSeat, fault: Fault, ways: FaultWays): Promise<Answer> {
    if (fault.kind === 'errors_in_200' || fault.kind === 'operation_errors' || BREAKS.has(fault.kind))
      return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: '{}' }
    const answer = await ways.apply('first:0')
    seat.entry.applied = false
    seat.entry.applied_at = null
    return answer
  }

  #break(seat: FaultSeat, fault: Fault): void {
    if (fault.kind === 'close') seat.request.socket.destroySoon()
    else reset(seat.request.socket)
  }

  #breakAt(seat: FaultSeat, fault: Fault, stage: string, answer: Answer): void {
    if (stage === 'mid_response') return cutOff(seat, answer, Math.floor(answer.body.length / 2))
    if (stage === 'after_response') {
      seat.response.once('finish', () => this.#break(seat, fault))
      seat.entry.status = answer.status
      seat.response.writeHead(answer.status, answer.headers)
      return void seat.response.end(answer.body)
    }
    this.#break(seat, fault)
  }

  /** Judges the caller's timestamp by a clock that is `s` seconds ahead; `Date` tells that clock. */
  async #skewed(fault: Fault, ways: FaultWays): Promise<Answer> {
    const skewMs = whole(fault['s'], 3600) * 1000
    this.#world.skewMs = skewMs
    // The caller is judged before anything waits.
    const made = ways.apply('all')
    this.#world.skewMs = 0
    const answer = await made
    answer.headers['date'] = new Date(this.#world.machineNow() + skewMs).toUTCString()
    return answer
  }
}

/** Kinds that break the connection: without `apply` there is no answer to break off in. */
const BREAKS = new Set(['reset', 'close', 'commit_then_reset', 'crash'])

function cursorOf(seat: FaultSeat): string | undefined {
  return parseForm(seat.entry.query).find(([name]) => name === 'cursor')?.[1]
}

function cursorExpired(cursor: string | undefined): Refusal {
  return adsRefusals([invalidParameter('cursor', 'a cursor of an earlier answer', cursor)])
}

function delayOf(fault: Fault, world: SandboxWorld, usual = 1000): number {
  return whole(fault['ms'], usual) + Math.floor(world.random() * whole(fault['jitter'], 0))
}

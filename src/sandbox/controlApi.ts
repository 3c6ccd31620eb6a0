/** Serves the control API `/_sandbox/…` (docs/sandbox.md#the-control-api). The ledger does not contain calls of the control API. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ControlText } from './area.ts'
import { ControlError, readFields } from './controlError.ts'
import { exactJson } from './answer.ts'
import type { StateWriter } from './state/stateWriter.ts'
import { readRule } from './faults/faultRule.ts'
import type { ArmedFaults } from './faults/armedFaults.ts'
import type { FaultRunner } from './faults/faultRunner.ts'
import type { ValueOrder } from './ledger/valueOrder.ts'
import type { Ledger } from './ledger/ledger.ts'
import type { Rates } from './verify/rates.ts'
import { SWITCHES } from './state/switches.ts'
import { parseTimestamp } from './timestamps.ts'
import type { RequestHandler } from './http/requestHandler.ts'
import type { TlsListeners } from './http/tls/listeners.ts'
import type { Observer } from './ledger/observer.ts'
import type { SandboxWorld, Snapshot } from './state/world.ts'
import { isPlainRecord } from '../unknownValue.ts'

/** Parts of the sandbox that the control API reads or changes. */
export interface ControlParts {
  readonly world: SandboxWorld
  readonly stateWriter: StateWriter
  readonly ledger: Ledger
  readonly rates: Rates
  readonly faults: ArmedFaults
  readonly runner: FaultRunner
  readonly valueOrder: ValueOrder
  readonly observer: Observer
  readonly handler: RequestHandler
  readonly listeners: TlsListeners
}

interface ControlAnswer {
  readonly status: number
  readonly type: string
  readonly pieces: readonly Buffer[]
}

/**
 * Upper limit of the clock, exclusive. By default, an identifier expires 13 months later. This end must fit into 32 bits of seconds, which
 * end in February 2106.
 */
const MAX_CLOCK_MS = Date.UTC(2105, 0, 1)

/** Path segments after the name of the call, parsed body, and query. */
type Input = { readonly rest: readonly string[]; readonly body: unknown; readonly query: URLSearchParams }

/** Reads and answers requests to the control API. Calls that return undefined are answered with 404. */
export class ControlApi {
  readonly #parts: ControlParts
  readonly #snapshots = new Map<string, Snapshot>()
  readonly #calls: Readonly<Record<string, (input: Input) => unknown>>
  #nextSnapshot = 1

  constructor(parts: ControlParts) {
    this.#parts = parts
    const { ledger, faults, runner, world } = parts
    this.#calls = {
      'GET health': () => ({ ok: true }),
      'GET instance': () => ({ instance: world.core.instance }),
      'POST reset': ({ body }) => this.reset(readSeed(body)),
      'GET ledger': ({ query }) => ledger.after(readSeq(query.get('after') ?? '0')),
      'GET stats': () => ledger.stats(),
      'GET violations': () => ledger.violations,
      'GET clock': () => ({ now: new Date(world.now()).toISOString(), offset_ms: world.core.clockOffsetMs }),
      'PUT clock': ({ body }) => this.#setClock(body),
      'POST faults': ({ body }) => this.#arm(body),
      'POST tls': ({ body }) => parts.listeners.open(body),
      'GET faults': ({ rest }) => (rest[0] === undefined ? faults.list() : faults.list().find((rule) => rule.id === rest[0])),
      'DELETE faults': ({ rest }) => this.#removeFaults(rest[0]),
      'GET switches': () => world.switches.all(),
      'PUT switches': ({ body }) => this.#setSwitches(body),
      'GET holds': () => runner.holds(),
      'POST release': ({ rest }) => ({ released: runner.release(rest[0] ?? '') }),
      'POST snapshot': () => this.#snapshot(),
      'POST restore': ({ rest, body }) => this.#restore(rest[0] ?? readSnapshotId(body)),
    }
  }

  receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      void this.#answer(request, Buffer.concat(chunks)).then(({ status, pieces, type }) => {
        const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
        response.writeHead(status, { 'content-type': type, 'content-length': String(length) })
        for (const piece of pieces) response.write(piece)
        response.end()
      })
    })
  }

  /**
   * Restores the first state. Default seed: the current seed. Also ends waits, closes TLS listeners, and clears faults, ledger, violations,
   * rates and nonces. Keeps the snapshots.
   */
  reset(seed?: number): { readonly ok: true } {
    const { stateWriter, rates, faults, runner, observer, handler, listeners } = this.#parts
    runner.clear()
    listeners.close()
    faults.clear()
    stateWriter.reset(seed)
    observer.clearRecords()
    rates.clear()
    handler.clearNonces()
    return { ok: true }
  }

  async #answer(request: IncomingMessage, bytes: Buffer): Promise<ControlAnswer> {
    const url = new URL(request.url ?? '/', 'http://sandbox')
    try {
      const [, , name = '', ...rest] = url.pathname.split('/').map(decodeURIComponent)
      const body: unknown = bytes.length === 0 ? undefined : JSON.parse(bytes.toString())
      const result = await this.#call(`${request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET')} ${name}`, {
        rest: rest.filter((part) => part !== ''),
        body,
        query: url.searchParams,
      })
      if (result === undefined) return jsonAnswer(404, { error: `no call or record for ${request.method} ${url.pathname}` })
      if (result instanceof ControlText) return { status: 200, pieces: result.pieces, type: 'text/plain; charset=utf-8' }
      return jsonAnswer(200, result)
    } catch (error) {
      // SyntaxError: the body is not JSON. URIError: the path has an invalid percent-encoding.
      const isWrongInput = error instanceof ControlError || error instanceof SyntaxError || error instanceof URIError
      if (!isWrongInput)
        this.#parts.world.log.error(
          { path: url.pathname, error: error instanceof Error ? (error.stack ?? error.message) : 'unknown' },
          'a call of the control API failed',
        )
      return jsonAnswer(isWrongInput ? 400 : 500, { error: error instanceof Error ? error.message : 'unknown' })
    }
  }

  /** Runs the call `METHOD NAME` of this class or of an area. Returns undefined for an unknown call. */
  #call(methodAndName: string, input: Input): unknown {
    const own = this.#calls[methodAndName]
    if (own !== undefined) return own(input)
    const { world } = this.#parts
    const nameInArea = methodAndName.replace(' ', ' /_sandbox/')
    for (const area of world.areas) {
      const handler = area.control?.[nameInArea]
      if (handler !== undefined) return handler({ world, state: world.stateOf(area.ref), ...input })
    }
    return undefined
  }

  /**
   * Sets the clock to `{ now: ISO }`, or moves it by `{ advance_s: n }`. Resolves when the work that became due is done.
   *
   * @throws {ControlError}
   */
  async #setClock(body: unknown): Promise<unknown> {
    const { world, stateWriter } = this.#parts
    // `offset_ms` is ignored, so that an answer of `GET clock` can be sent back.
    const { now, advance_s: advanceS } = readFields(body, ['now', 'advance_s'], ['offset_ms'])
    if (now !== undefined && advanceS !== undefined) throw new ControlError('give now or advance_s, not both')
    let offsetMs = world.core.clockOffsetMs
    if (typeof now === 'string') {
      const at = parseTimestamp(now)
      if (at === undefined) throw new ControlError('now must be an ISO 8601 time')
      offsetMs = at - world.machineNow()
    } else if (typeof advanceS === 'number' && Number.isFinite(advanceS)) offsetMs += Math.round(advanceS * 1000)
    else throw new ControlError('give { "now": ISO } or { "advance_s": seconds }')
    const nowMs = world.machineNow() + offsetMs
    if (!(nowMs >= 0 && nowMs < MAX_CLOCK_MS)) throw new ControlError('the time must be in the years 1970 to 2104')
    await stateWriter.setClock(offsetMs)
    return { now: new Date(world.now()).toISOString(), offset_ms: offsetMs }
  }

  #setSwitches(body: unknown): unknown {
    const { world, stateWriter } = this.#parts
    if (!isPlainRecord(body)) throw new ControlError(`give { name: value }; the names are: ${SWITCHES.map(({ name }) => name).join(', ')}`)
    stateWriter.setSwitches(body)
    return world.switches.all()
  }

  /** Arms a fault. Returns the armed rule. @throws {ControlError} for a wrong rule, or a fault that cannot run or has no effect */
  #arm(body: unknown): unknown {
    const { faults, runner, world } = this.#parts
    const rule = readRule(body)
    const problem = runner.rejectionReason(rule)
    if (problem !== undefined) throw new ControlError(problem)
    // Frees the past states that no armed fault needs. A fault never shows a state from before it was armed (`faultActions.ts`).
    if (faults.longestLagMs === 0) world.dropPastStates()
    return faults.add(rule)
  }

  /**
   * Removes the fault with this id, or all faults if the id is undefined. For an unknown id, returns undefined, which is answered with 404.
   */
  #removeFaults(id: string | undefined): unknown {
    const { faults, world } = this.#parts
    const isKnown = id === undefined || faults.remove(id)
    if (id === undefined) faults.clear()
    if (faults.longestLagMs === 0) world.dropPastStates()
    return isKnown ? { ok: true } : undefined
  }

  /** Stores a copy of the state and the switches. Returns its id. */
  #snapshot(): unknown {
    const id = `s${this.#nextSnapshot++}`
    this.#snapshots.set(id, this.#parts.world.snapshot())
    return { id }
  }

  /**
   * Restores the state and the switches from the snapshot with this id, by default from the newest. Keeps ledger, faults, violations and
   * rates. If there is no such snapshot, returns undefined, which is answered with 404.
   */
  #restore(id: string | undefined): unknown {
    const snapshot = id === undefined ? [...this.#snapshots.values()].at(-1) : this.#snapshots.get(id)
    if (snapshot === undefined) return undefined
    this.#parts.stateWriter.restore(snapshot)
    // The restored state is older, so callers may send a product or user with a value that it had before.
    this.#parts.valueOrder.clear()
    return { ok: true }
  }
}

function jsonAnswer(status: number, value: unknown): ControlAnswer {
  return { status, type: 'application/json; charset=utf-8', pieces: [Buffer.from(exactJson(value))] }
}

/** Reads the parameter `after` of `GET ledger`. @throws {ControlError} for a text that is not a whole number */
function readSeq(text: string): number {
  if (!/^-?\d+$/.test(text)) throw new ControlError('after must be the seq of a request, a whole number')
  return Number(text)
}

function readSeed(body: unknown): number | undefined {
  const { seed } = readFields(body, ['seed'])
  if (seed !== undefined && typeof seed !== 'number') throw new ControlError('seed must be a number')
  return seed
}

function readSnapshotId(body: unknown): string | undefined {
  const { id } = readFields(body, ['id'])
  if (id !== undefined && typeof id !== 'string') throw new ControlError('id must be the id of a snapshot, as text')
  return id
}

/**
 * Changes the state for API calls, events and the control API, and writes the changes to the journal. No other module writes the journal.
 *
 * Two kinds of changes get no entry in the journal. Listings of products store cursors. Refused calls and faults change the counters of ids
 * and random numbers.
 */
import { accountPath, type Endpoint } from '../../service/contract/endpoint.ts'
import { readerOf } from '../../service/contract/fieldAccess.ts'
import { findEndpoint } from '../../service/contract/index.ts'
import type { Area, Call, Handler, Reply, SandboxUser } from '../area.ts'
import { appliedCount, type AppliedPart } from '../appliedPart.ts'
import { DroppedRequest } from '../droppedRequest.ts'
import { Journal, type Counters, type JournalEntry } from './journal.ts'
import { adsRefusal, Refusal } from '../refusal.ts'
import type { Pair } from '../verify/signature.ts'
import { refuseChangedFields } from '../verify/sentBackFields.ts'
import { validate, type Validated } from '../verify/validate.ts'
import { recordOf } from '../../unknownValue.ts'
import { laterRandom, WorldState, type SandboxWorld, type Snapshot, type WorldOptions } from './world.ts'
import { PAGE_FIELDS } from '../auth/page.ts'
import { READ_ONLY_ROLES } from '../auth/users.ts'

/** Request that passed all checks except those of its parameters. */
export interface AdmittedRequest {
  readonly endpoint: Endpoint
  readonly path: Readonly<Record<string, string>>
  /** Decoded pairs of query and form. Their names are neutral (`names.ts`), even if the service's own names were sent. */
  readonly pairs: readonly Pair[]
  /** Decoded pairs of the query, with their names as sent. */
  readonly query: readonly Pair[]
  readonly oauth: ReadonlyMap<string, string>
  readonly user: SandboxUser | undefined
  /** Parsed JSON with neutral keys; undefined without a JSON body. */
  readonly body: unknown
  readonly rawBody: Buffer
}

/** Result of a handler. `echo`: `request.params` of the answer. `isApplied`: false if a fault omitted the whole request. */
export interface HandlerResult {
  readonly reply: Reply
  readonly echo: Readonly<Record<string, unknown>>
  readonly isApplied: boolean
}

/** Inputs of a call besides the request. A replay takes them from the journal. */
interface CallConditions {
  /** Milliseconds since 1970, by the sandbox's clock. */
  readonly now: number
  readonly appliesEntry: Call<unknown>['appliesEntry']
  readonly runEffect: Call<unknown>['runEffect']
}

type CallEntry = Extract<JournalEntry, { kind: 'call' }>

interface AreaHandler {
  readonly area: Area<unknown>
  readonly handler: Handler<unknown>
}

const NO_QUERY: ReadonlyMap<string, string> = new Map()
const appliesToAll = () => true

export class StateWriter {
  readonly #world: WorldState
  readonly #handlers = new Map<string, AreaHandler>()
  #journal: Journal | undefined

  constructor(options: Omit<WorldOptions, 'onEvent'>) {
    this.#world = new WorldState({
      ...options,
      onEvent: (area, event) => this.#write({ kind: 'event', now: this.#world.now(), ...this.#counters(), area, event }),
    })
    for (const area of options.areas)
      for (const [name, handler] of Object.entries(area.handlers)) {
        if (this.#handlers.has(name)) throw new Error(`two handlers for ${name}`)
        this.#handlers.set(name, { area, handler })
      }
  }

  get world(): SandboxWorld {
    return this.#world
  }

  /**
   * Restores the state from the journal at `path`, then writes every change to it. `compactAfterBytes`: as for `Journal`.
   *
   * @throws {UsageError} if the file is locked or damaged, or of another version
   */
  async openJournal(path: string, compactAfterBytes?: number): Promise<void> {
    const journal = new Journal(path, () => this.#world.save(), compactAfterBytes)
    await journal.open(
      (parts) => this.#world.load(parts),
      (entry) => this.#replay(entry),
    )
    this.#world.setReplayTime(undefined)
    this.#journal = journal
    if (journal.isEmpty) this.#write({ kind: 'reset', seed: this.#world.seed })
    this.#writeInstance()
  }

  /** Restores the first state, with a new seed if one is given. */
  reset(seed?: number): void {
    this.#world.reset(seed)
    this.#journal?.empty()
    this.#write({ kind: 'reset', seed: this.#world.seed })
    this.#writeInstance()
  }

  /** Sets the clock to the machine's plus `offsetMs`. Resolves when the work that became due is done. */
  async setClock(offsetMs: number): Promise<void> {
    const world = this.#world
    world.setClockOffset(offsetMs)
    this.#write({ kind: 'clock', offsetMs })
    for (const area of world.areas) await area.onClock?.(world, world.stateOf(area.ref))
  }

  /** Changes the named switches. @throws {ControlError} for an unknown name or value */
  setSwitches(values: Readonly<Record<string, unknown>>): void {
    this.#world.switches.set(values)
    this.#write({ kind: 'switches', values: this.#world.switches.all() })
  }

  /** Restores the state from a snapshot. No kind of entry describes a restore, so the whole state replaces the journal. */
  restore(snapshot: Snapshot): void {
    this.#world.keepPastState()
    this.#world.restore(snapshot)
    this.#journal?.compact()
  }

  /** Stops writing changes, and releases the file. */
  closeJournal(): void {
    this.#journal?.close()
  }

  /** Decodes and checks the parameters. Returns errors in the result. */
  readParameters(request: AdmittedRequest): Validated {
    const pairs = request.endpoint.auth === 'browser' ? request.pairs.filter(([name]) => !PAGE_FIELDS.includes(name)) : request.pairs
    const strict = this.#world.switchValue('unknown_parameters') === 'strict'
    return validate(request.endpoint, { path: request.path, pairs, body: request.body, oauth: request.oauth, strict })
  }

  /**
   * Runs the handler for a part of the request. Writes the call to the journal if it succeeded, or if it was refused but partly applied
   * (`Refusal.isPartlyApplied`). Returns a promise only if the handler does.
   *
   * @throws {Refusal}
   * @throws {DroppedRequest} if a reset or restore replaced the state while the handler waited
   */
  apply(request: AdmittedRequest, checked: Validated, part: AppliedPart): HandlerResult | Promise<HandlerResult> {
    const { area, handler } = this.#handlerOf(request.endpoint)
    const world = this.#world
    const before = { now: world.now(), ...this.#counters() }
    const effectResults: unknown[] = []
    const entryCounts = { applied: 0, omitted: 0 }
    const isIncluded = appliesOf(part)
    const call = this.#callOf(area, request, checked, {
      now: before.now,
      appliesEntry: (index, key) => {
        const included = isIncluded(index, key)
        entryCounts[included ? 'applied' : 'omitted']++
        return included
      },
      runEffect: async (run) => {
        const value = await run()
        // A handler waits only for effects, so a reset or restore can replace the state of the call only now.
        if (world.stateOf(area.ref) !== call.state) throw new DroppedRequest('the state was replaced')
        effectResults.push(value)
        return value
      },
    })
    const write = (): void => this.#writeCall(request, { ...before, apply: part, effects: effectResults })
    const hasApplied = (): boolean => entryCounts.omitted === 0 || entryCounts.applied > 0
    const finish = (reply: Reply): HandlerResult => {
      if (reply.kind === 'stream' || (reply.status ?? 200) < 400) write()
      return { reply, echo: call.echo, isApplied: hasApplied() }
    }
    if (checked.sentBack.size > 0) refuseChangedFields(checked.sentBack, () => this.#readRecord(request, checked))
    try {
      const reply = handler(call)
      return reply instanceof Promise ? reply.then(finish) : finish(reply)
    } catch (error) {
      // Only a synchronous handler applies a part of a refused call.
      if (error instanceof Refusal && error.isPartlyApplied) {
        // Written even if a fault omitted every entry, because the call may start the processing of the audience.
        write()
        // For the answer, the call is applied only if an entry was.
        error.isPartlyApplied = hasApplied()
      }
      throw error
    }
  }

  /** Returns true if `part` applies a request without entries. Such a request counts as one entry with an empty key. */
  appliesWithoutEntries(part: AppliedPart): boolean {
    return appliesOf(part)(0, '')
  }

  /**
   * Runs the handler on a copy of the state (`WorldState.runOnCopy`), for the answer to a request that a fault omits. Runs no effects. Does
   * not check create-only fields that the client sent back.
   *
   * @throws {Refusal}
   */
  dryRun(request: AdmittedRequest, checked: Validated): HandlerResult | Promise<HandlerResult> {
    const { area, handler } = this.#handlerOf(request.endpoint)
    return this.#world.runOnCopy(() => {
      const call = this.#callOf(area, request, checked, {
        now: this.#world.now(),
        appliesEntry: appliesToAll,
        runEffect: (_run, unapplied) => Promise.resolve(unapplied),
      })
      const finish = (reply: Reply): HandlerResult => ({ reply, echo: call.echo, isApplied: false })
      const reply = handler(call)
      return reply instanceof Promise ? reply.then(finish) : finish(reply)
    })
  }

  #handlerOf({ name }: Endpoint): AreaHandler {
    const found = this.#handlers.get(name)
    if (found === undefined) throw new Error(`no handler for ${name}`)
    return found
  }

  /** Returns the record that the call updates, as its read endpoint shows it. */
  #readRecord(request: AdmittedRequest, checked: Validated): unknown {
    const endpoint = readerOf(request.endpoint)
    if (endpoint === undefined) throw new Error(`no endpoint reads the record of ${request.endpoint.name}`)
    const { area, handler } = this.#handlerOf(endpoint)
    const params = Object.fromEntries(Object.keys(request.path).map((name) => [name, checked.params[name]]))
    const reading = { ...checked, params, givenNames: new Set(Object.keys(params)), echo: {} }
    const reply = handler(
      this.#callOf(area, { ...request, endpoint }, reading, {
        now: this.#world.now(),
        appliesEntry: appliesToAll,
        runEffect: (run) => run(),
      }),
    )
    if (reply instanceof Promise || reply.kind !== 'ads') throw new Error(`${endpoint.name} does not return a record`)
    return Array.isArray(reply.data) ? reply.data[0] : reply.data
  }

  /**
   * Returns the account of the path, and checks that the user may make the call. Undefined without an account in the path.
   *
   * @throws {Refusal} in these cases:
   * - The account is unknown, or the user has no access to it.
   * - The call writes, and the role of the user may only read.
   * - The account is deleted, and `with_deleted` is not set.
   */
  #checkedAccount(request: AdmittedRequest, checked: Validated): Call<unknown>['account'] {
    const id = request.path['account_id']
    if (id === undefined) return undefined
    const account = this.#world.accounts.get(id)
    const hasAccess = account !== undefined && (request.user === undefined || account.userIds.includes(request.user.id))
    if (!hasAccess) throw adsRefusal('ACCOUNT_NOT_FOUND', `Account ${id} was not found`)
    // An estimate is a POST request that changes nothing.
    if (
      request.endpoint.method !== 'GET' &&
      !request.endpoint.name.endsWith('.estimate') &&
      READ_ONLY_ROLES.includes(account.roles[request.user?.id ?? ''] ?? '')
    )
      throw adsRefusal('ACTION_NOT_ALLOWED', `The role of user ${request.user?.id ?? ''} on account ${id} may only read`)
    // A deleted account answers 404, as any deleted record does (docs/spec-notes.md#errors). Other paths with its id answer 403.
    if (account.deleted && checked.params['with_deleted'] !== true)
      throw adsRefusal('ACCOUNT_NOT_FOUND', `Account ${id} was not found`, request.endpoint.path === accountPath ? { status: 404 } : {})
    return account
  }

  /** Writes a call to the journal, if there is one and the endpoint can change the state. */
  #writeCall(request: AdmittedRequest, otherFields: Pick<CallEntry, 'now' | 'apply' | 'effects' | keyof Counters>): void {
    if (this.#journal === undefined || !canChangeState(request.endpoint)) return
    this.#write({
      kind: 'call',
      ...otherFields,
      endpoint: request.endpoint.name,
      path: request.path,
      pairs: request.pairs,
      query: request.query,
      oauth: [...request.oauth].filter(([name]) => name === 'oauth_token' || name === 'oauth_verifier' || name === 'oauth_callback'),
      user: request.user?.id ?? null,
      body: request.rawBody.toString(),
    })
  }

  #write(entry: JournalEntry): void {
    this.#journal?.write(entry)
  }

  /** Writes the current instance id to the journal, so that a replay restores it. */
  #writeInstance(): void {
    this.#write({ kind: 'instance', id: this.#world.core.instance })
  }

  async #replay(entry: JournalEntry): Promise<void> {
    const world = this.#world
    switch (entry.kind) {
      case 'call':
        return this.#replayCall(entry)
      case 'event':
        world.setReplayTime(entry.now)
        this.#restoreCounters(entry)
        return world.applyEvent(entry.area, entry.event)
      case 'clock':
        return world.setClockOffset(entry.offsetMs)
      case 'switches':
        return world.switches.set(entry.values)
      case 'reset':
        return world.reset(entry.seed)
      case 'instance':
        world.core.instance = entry.id
        return undefined
      default:
        throw new Error(`unknown kind ${String(recordOf(entry)['kind'])}`)
    }
  }

  async #replayCall(entry: CallEntry): Promise<void> {
    const endpoint = findEndpoint(entry.endpoint)
    if (endpoint === undefined) throw new Error(`unknown endpoint ${entry.endpoint}`)
    const { area, handler } = this.#handlerOf(endpoint)
    const world = this.#world
    world.setReplayTime(entry.now)
    const { nextId, nextShortId, random } = world.core
    this.#restoreCounters(entry)
    const rawBody = Buffer.from(entry.body)
    const request: AdmittedRequest = {
      endpoint,
      path: entry.path,
      pairs: entry.pairs,
      query: entry.query,
      oauth: new Map(entry.oauth),
      user: entry.user === null ? undefined : world.users.get(entry.user),
      body: endpoint.body === 'json' && rawBody.length > 0 ? world.names.withNeutralKeys(JSON.parse(entry.body)) : undefined,
      rawBody,
    }
    const effects = [...entry.effects]
    const call = this.#callOf(area, request, this.readParameters(request), {
      now: entry.now,
      appliesEntry: appliesOf(entry.apply),
      // The journal has the results of the effects, in their order.
      runEffect: <T>() => Promise.resolve(effects.shift() as T),
    })
    try {
      await handler(call)
    } catch (error) {
      if (!(error instanceof Refusal && error.isPartlyApplied)) throw error
    }
    // A call that waited for an effect is written after calls that began later but ended earlier. Its counters are then lower than theirs.
    // The ids and random texts of those calls are in use, so no counter goes back.
    if (nextId > world.core.nextId) world.core.nextId = nextId
    world.core.nextShortId = Math.max(nextShortId, world.core.nextShortId)
    world.core.random = laterRandom(random, world.core.random)
  }

  #counters(): Counters {
    const { nextId, nextShortId, random } = this.#world.core
    return { nextId: String(nextId), nextShortId, random }
  }

  #restoreCounters({ nextId, nextShortId, random }: Counters): void {
    const { core } = this.#world
    core.nextId = BigInt(nextId)
    core.nextShortId = nextShortId
    core.random = random
  }

  /** Returns the call that the handler gets. @throws {Refusal} as `#checkedAccount` */
  #callOf(area: Area<unknown>, request: AdmittedRequest, checked: Validated, conditions: CallConditions): Call<unknown> {
    return {
      endpoint: request.endpoint,
      world: this.#world,
      state: this.#world.stateOf(area.ref),
      now: conditions.now,
      params: checked.params,
      givenNames: checked.givenNames,
      body: request.body,
      rawBody: request.rawBody,
      query: request.query.length === 0 ? NO_QUERY : new Map(request.query),
      echo: checked.echo,
      user: request.user,
      account: this.#checkedAccount(request, checked),
      oauth: request.oauth,
      appliesEntry: conditions.appliesEntry,
      runEffect: conditions.runEffect,
    }
  }
}

/** Returns true if the endpoint may change the state. The authorization pages may, although browsers request them with GET. */
function canChangeState(endpoint: Endpoint): boolean {
  return endpoint.method !== 'GET' || endpoint.answer.resource === 'page'
}

/** Returns `Call.appliesEntry` for `all`, `first:N` or `only`. `FaultRunner` replaces all other parts by these. */
function appliesOf(part: AppliedPart): (index: number, key: string) => boolean {
  if (typeof part === 'object') return (_, key) => part.only.includes(key)
  if (!part.startsWith('first:')) return appliesToAll
  const count = appliedCount(part, Infinity)
  return (index) => index < count
}

/** Stores the state of the sandbox: the part that all areas share, and the state of each area. Resets, copies and restores the state. */
import { randomUUID } from 'node:crypto'
import { deserialize, serialize } from 'node:v8'
import type { Logger } from '../../log.ts'
import { areaRefs } from '../areaRefs.ts'
import type { Area, AreaRef, SandboxAccount, SandboxCredentials, SandboxUser, World } from '../area.ts'
import type { StatePart } from './journal.ts'
import { FIRST_DAY, FIXED_ACCOUNT, FIXED_USER, SECOND_ACCOUNT } from '../firstIds.ts'
import type { Names } from '../names.ts'
import { Switches, type SwitchName, type SwitchValue } from './switches.ts'

/** State that all areas share. */
export interface CoreState {
  /** Counters of `newId` and `newShortId`, and the state of `random`. */
  nextId: bigint
  nextShortId: number
  random: number
  /** Milliseconds from the machine's clock to the sandbox's clock. */
  clockOffsetMs: number
  /** Random id of this state. A reset sets a new id. A restore sets the id of the snapshot, and a replay the id in the journal. */
  instance: string
  users: Map<string, SandboxUser>
  accounts: Map<string, SandboxAccount>
}

export interface WorldOptions {
  readonly areas: readonly Area<unknown>[]
  readonly credentials: SandboxCredentials
  readonly machineNow: () => number
  readonly seed: number
  readonly log: Logger
  readonly names: Names
  readonly reportViolation: (rule: string, detail: string) => void
  /** Returns the longest lag of the armed `stale` faults in milliseconds; 0 without one. */
  readonly staleLagMs: () => number
  /** Called with each event before it is applied. Not called on a copy of the state, or in a replay. */
  readonly onEvent: (area: string, event: unknown) => void
}

/** Copy of the state and the switches, without the seed. */
export interface Snapshot {
  readonly core: CoreState
  readonly areas: ReadonlyMap<string, unknown>
  readonly switches: Readonly<Record<string, string>>
}

/** World without the members that change the state but write no entry to the journal. Only `StateWriter` uses those. */
export type SandboxWorld = Omit<
  WorldState,
  'core' | 'switches' | 'reset' | 'restore' | 'load' | 'setClockOffset' | 'setReplayTime' | 'applyEvent'
> & { readonly core: Readonly<CoreState>; readonly switches: Pick<Switches, 'all'> }

/** Name of the shared part in the journal. */
const CORE = 'core'

/** Difference of two successive states of `random`, modulo 2^32, and the inverse of this step. */
const RANDOM_STEP = 0x6d2b79f5
const RANDOM_STEP_INVERSE = 0xdc58aa5d

/** Returns the one of two states of `random` that comes later in the sequence. */
export function laterRandom(a: number, b: number): number {
  // The product is the number of steps from `a` to `b`.
  return Math.imul(b - a, RANDOM_STEP_INVERSE) > 0 ? b : a
}

/** State and switches of a sandbox. */
export class WorldState implements World {
  readonly credentials: SandboxCredentials
  readonly log: Logger
  readonly names: Names
  readonly machineNow: () => number
  readonly reportViolation: (rule: string, detail: string) => void
  readonly switches = new Switches()
  readonly areas: readonly Area<unknown>[]
  url = ''
  /** Milliseconds that the check of timestamps adds to the machine's clock. The fault `clock_skew` sets them during one request. */
  skewMs = 0
  readonly #staleLagMs: () => number
  readonly #onEvent: (area: string, event: unknown) => void
  #seed: number
  #core: CoreState
  #states = new Map<string, unknown>()
  /** Past states for the fault `stale`, oldest first. `until`: machine time of the change that ended the state. */
  #past: { readonly until: number; readonly snapshot: Snapshot }[] = []
  /** True while `runOnCopy` runs. */
  #isCopy = false
  /** Time of the journal entry that is replayed; undefined outside a replay. */
  #replayNow: number | undefined

  constructor(options: WorldOptions) {
    this.credentials = options.credentials
    this.log = options.log
    this.names = options.names
    this.machineNow = options.machineNow
    this.reportViolation = options.reportViolation
    this.areas = options.areas
    this.#staleLagMs = options.staleLagMs
    this.#onEvent = options.onEvent
    this.#seed = options.seed
    this.#core = initialCore(options.seed)
    this.reset()
  }

  get users(): Map<string, SandboxUser> {
    return this.#core.users
  }
  get accounts(): Map<string, SandboxAccount> {
    return this.#core.accounts
  }
  get core(): CoreState {
    return this.#core
  }

  now = (): number => this.#replayNow ?? this.machineNow() + this.#core.clockOffsetMs
  newId = (): string => String(this.#core.nextId++)
  newShortId = (): string => (this.#core.nextShortId++).toString(36)
  switchValue = <N extends SwitchName>(name: N): SwitchValue<N> => this.switches.get(name)

  stateOf = <S>(area: AreaRef<S, unknown>): S => {
    // The area made this value, and `AreaRef` has the type of the area's state.
    return this.#states.get(area.name) as S
  }

  random = (): number => {
    // mulberry32, because its whole state is one number, which fits into snapshots and the journal.
    this.#core.random = (this.#core.random + RANDOM_STEP) | 0
    let t = Math.imul(this.#core.random ^ (this.#core.random >>> 15), 1 | this.#core.random)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  recordEvent = <Event>({ name }: AreaRef<unknown, Event>, event: NoInfer<Event>): void => {
    if (!this.#isCopy) {
      if (this.#areaOf(name).isHiddenFromReads?.(event) !== true) this.keepPastState()
      this.#onEvent(name, event)
    }
    this.applyEvent(name, event)
  }

  /** Applies an event with the function of its area. Does not write it to the journal. */
  applyEvent(name: string, event: unknown): void {
    const area = this.#areaOf(name)
    if (area.applyEvent === undefined) throw new Error(`the area ${name} has no events`)
    area.applyEvent(this, this.#states.get(name), event)
  }

  #areaOf(name: string): Area<unknown> {
    const area = this.areas.find(({ ref }) => ref.name === name)
    if (area === undefined) throw new Error(`unknown area ${name}`)
    return area
  }

  /** Keeps a copy of the state before a change, if a `stale` fault is armed. Drops copies that are older than its lag. */
  keepPastState(): void {
    const lagMs = this.#staleLagMs()
    if (lagMs === 0) return
    const now = this.machineNow()
    this.#past = this.#past.filter(({ until }) => until > now - lagMs)
    // `readAsOf` reads only the first of several copies with the same time.
    if (this.#past.at(-1)?.until !== now) this.#past.push({ until: now, snapshot: this.snapshot() })
  }

  /** Drops all copies of `keepPastState`. */
  dropPastStates(): void {
    this.#past = []
  }

  /**
   * Runs `read` on the state at `time` of the machine's clock. If all kept states are later, uses the oldest of them. If no change came
   * after `time`, the state is the current one. The sandbox's clock, instance, users, tokens and roles are always the current ones. `read`
   * must be synchronous, and must not change the state.
   */
  readAsOf<T>(time: number, read: () => T): T {
    const past = this.#past.find(({ until }) => until >= time)
    if (past === undefined) return read()
    const [core, states] = [this.#core, this.#states]
    const { clockOffsetMs, instance, users } = core
    this.#core = { ...structuredClone(past.snapshot.core), clockOffsetMs, instance, users }
    for (const account of this.#core.accounts.values()) {
      const { userIds, roles } = core.accounts.get(account.id) ?? account
      Object.assign(account, { userIds, roles })
    }
    const { name: auth } = areaRefs.auth
    this.#states = new Map(past.snapshot.areas).set(auth, states.get(auth))
    try {
      return read()
    } finally {
      this.#core = core
      this.#states = states
    }
  }

  /**
   * Runs `change` on a copy of the state, then drops the copy. Writes no event to the journal. An async `change` gets the copy from the
   * world only until its first `await`.
   */
  runOnCopy<T>(change: () => T): T {
    const [core, states] = [this.#core, this.#states]
    const copied = this.snapshot()
    this.#core = copied.core
    this.#states = new Map(copied.areas)
    this.#isCopy = true
    try {
      return change()
    } finally {
      this.#core = core
      this.#states = states
      this.#isCopy = false
    }
  }

  /** Sets the sandbox's clock to the machine's plus `ms`. */
  setClockOffset(ms: number): void {
    this.#core.clockOffsetMs = ms
  }

  /** Sets the time of the journal entry that is replayed; undefined after the replay. */
  setReplayTime(now: number | undefined): void {
    this.#replayNow = now
  }

  /** Seed of the last reset, or of the start. */
  get seed(): number {
    return this.#seed
  }

  /** Restores the first state, with the given seed, and the defaults of the switches. Calls `stop` first. */
  reset(seed: number = this.#seed): void {
    this.stop()
    this.#seed = seed
    this.#core = initialCore(seed)
    this.#past = []
    this.switches.restoreDefaults()
    this.#states = new Map()
    for (const area of this.areas) this.#states.set(area.ref.name, area.createState(this))
  }

  /** Cancels running work and ends open connections of all areas. */
  stop(): void {
    for (const area of this.areas) area.stop?.(this)
  }

  /** Returns a copy of the state and the switches. */
  snapshot(): Snapshot {
    return {
      core: structuredClone(this.#core),
      areas: new Map(this.areas.map((area) => [area.ref.name, copyState(area, this.#states.get(area.ref.name))])),
      switches: this.switches.all(),
    }
  }

  /** Yields the state as bytes for the journal, with the seed and the switches. */
  *save(): Iterable<StatePart> {
    yield { name: CORE, bytes: serialize({ core: this.#core, seed: this.#seed, switches: this.switches.all() }) }
    for (const area of this.areas) {
      const state = this.#states.get(area.ref.name)
      const { plain, bytes } = area.saveState?.(state) ?? { plain: state, bytes: [] }
      yield { name: area.ref.name, bytes: serialize(plain) }
      for (const [index, one] of bytes.entries()) yield { name: `${area.ref.name} ${index}`, bytes: one }
    }
  }

  /** Restores the state, the seed and the switches from the bytes of `save`. An area without bytes gets its first state. */
  load(parts: ReadonlyMap<string, Buffer>): void {
    // `save` wrote these bytes, so they have this type.
    const { core, seed, switches } = deserialize(parts.get(CORE) ?? serialize(null)) as {
      core: CoreState
      seed: number
      switches: Record<string, string>
    }
    this.reset(seed)
    this.#core = core
    for (const [name, value] of Object.entries(switches)) if (this.switches.has(name)) this.switches.set({ [name]: value })
    for (const area of this.areas) {
      const saved = parts.get(area.ref.name)
      if (saved === undefined) continue
      const bytes: Buffer[] = []
      for (let one = parts.get(`${area.ref.name} 0`); one !== undefined; one = parts.get(`${area.ref.name} ${bytes.length}`))
        bytes.push(one)
      const plain: unknown = deserialize(saved)
      this.#states.set(area.ref.name, area.loadState === undefined ? plain : area.loadState(this, plain, bytes))
    }
  }

  /** Restores the state and the switches. Copies the snapshot, so that it can be restored again. First cancels running work. */
  restore(snapshot: Snapshot): void {
    for (const area of this.areas) area.cancelWork?.(this)
    this.#core = structuredClone(snapshot.core)
    this.#states = new Map(this.areas.map((area) => [area.ref.name, copyState(area, snapshot.areas.get(area.ref.name))]))
    this.switches.restoreDefaults()
    this.switches.set(snapshot.switches)
  }
}

function copyState(area: Area<unknown>, state: unknown): unknown {
  return area.cloneState === undefined ? structuredClone(state) : area.cloneState(state)
}

function initialCore(seed: number): CoreState {
  const account = (id: string, name: string): SandboxAccount => ({
    id,
    name,
    business_name: 'Example Shop',
    business_id: null,
    timezone: 'Europe/Berlin',
    timezone_switch_at: '2026-01-15T23:00:00Z',
    approval_status: 'ACCEPTED',
    industry_type: 'RETAIL',
    created_at: FIRST_DAY,
    updated_at: FIRST_DAY,
    deleted: false,
    userIds: [FIXED_USER],
    roles: {},
    currency: 'USD',
  })
  return {
    nextId: 1_576_769_414_321_651_714n,
    nextShortId: Number.parseInt('8x2fg0', 36),
    random: seed | 0,
    clockOffsetMs: 0,
    instance: randomUUID(),
    users: new Map([[FIXED_USER, { id: FIXED_USER, name: 'Sandbox', screenName: 'sandbox', premium: true }]]),
    accounts: new Map([
      [FIXED_ACCOUNT, account(FIXED_ACCOUNT, 'Sandbox account')],
      [SECOND_ACCOUNT, account(SECOND_ACCOUNT, 'Sandbox media account')],
    ]),
  }
}

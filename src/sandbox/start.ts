/** Starts a sandbox in this process, on one loopback port. The control API can open further ports with TLS. */
import { systemClock, type Clock } from '../clock.ts'
import { silentLogger, type Logger } from '../log.ts'
import { endpoints } from '../service/contract/index.ts'
import { fixedCredentials, type SandboxCredentials } from './area.ts'
import { areas } from './areas.ts'
import { namesOf } from './names.ts'
import { ControlApi } from './controlApi.ts'
import { sandboxControl, type SandboxControl } from './controlClient.ts'
import { StateWriter } from './state/stateWriter.ts'
import type { SandboxWorld } from './state/world.ts'
import { FaultRunner } from './faults/faultRunner.ts'
import { ArmedFaults } from './faults/armedFaults.ts'
import { ValueOrder } from './ledger/valueOrder.ts'
import { Ledger, type LedgerEntry } from './ledger/ledger.ts'
import { Rates } from './verify/rates.ts'
import { Router } from './http/router.ts'
import { RequestHandler } from './http/requestHandler.ts'
import { SandboxServer } from './http/server.ts'
import { TlsListeners } from './http/tls/listeners.ts'
import { Observer } from './ledger/observer.ts'
import { TrafficRules } from './ledger/trafficRules.ts'
import { withoutUndefined } from '../withoutUndefined.ts'

export interface SandboxOptions {
  /** Default: 0, any free port. */
  readonly port?: number
  /** Default: `fixedCredentials`. */
  readonly credentials?: Partial<SandboxCredentials>
  /** Journal that keeps the state across restarts and kills. Default: the state is only in memory. */
  readonly stateFile?: string
  /**
   * Maximum number of bytes of the journal's lines. If they exceed it and the size of the state before them, the current state replaces
   * them. Default: 64 MiB.
   */
  readonly compactAfterBytes?: number
  /** Clock of the machine. Default: the system's. */
  readonly clock?: Clock
  /** Seed of tokens and random numbers. Default: 1. Ignored if the state file is not empty: it contains the seed. */
  readonly seed?: number
  /** Default: logs nothing. */
  readonly logger?: Logger
  /** Neutral word of the specification → the service's own name (`SLUICE_SERVICE_NAMES`). Requests may use either. */
  readonly names?: Readonly<Record<string, string>>
  /** Ends this process like a kill, for the fault `crash`. Without this function, arming the fault is rejected. */
  readonly crash?: () => void
}

export interface Sandbox extends SandboxControl {
  /** `http://127.0.0.1:PORT`, the address of all three hosts. */
  readonly url: string
  readonly port: number
  readonly credentials: SandboxCredentials
  /** Drops waiting requests, ends all connections and releases the state file. */
  readonly close: () => Promise<void>
  /** Closes the sandbox: `await using sandbox = await startSandbox()`. */
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/**
 * Starts a sandbox. Resolves when the journal is replayed and the sandbox listens. Rejects if the port is in use.
 *
 * @throws {UsageError} if the state file is locked, damaged, or of another version
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const clock = options.clock ?? systemClock
  const credentials = { ...fixedCredentials, ...withoutUndefined(options.credentials ?? {}) }
  const ledger = new Ledger()
  const recordViolation = (entry: LedgerEntry | undefined, rule: string, detail: string): void =>
    ledger.recordViolation(entry, new Date(clock.now()).toISOString(), rule, detail)
  const stateWriter = new StateWriter({
    areas,
    credentials,
    machineNow: clock.now,
    seed: options.seed ?? 1,
    log: options.logger ?? silentLogger,
    names: namesOf(options.names),
    staleLagMs: () => faults.longestLagMs,
    reportViolation: (rule, detail) => recordViolation(ledger.current, rule, detail),
  })
  const { world } = stateWriter
  const trafficRules = new TrafficRules(clock.now, recordViolation, () => Number(world.switchValue('retry_after_grace_ms')))
  const valueOrder = new ValueOrder(recordViolation)
  const faults = new ArmedFaults(clock.now, world.random)
  const portFaults = {
    refuse: (ms: number): void => {
      server.listener.refuse(ms)
      listeners.refuse(ms)
    },
    acceptAndClose: (ms: number) => server.listener.acceptAndClose(ms),
  }
  const runner = new FaultRunner(world, trafficRules, portFaults, options.crash)
  const listeners = new TlsListeners((socket) => server.listener.adopt(socket), world.log)
  const rates = new Rates(clock.now)
  const observer = new Observer({ world, ledger, trafficRules, valueOrder })
  const handler = new RequestHandler({ world, stateWriter, ledger, rates, trafficRules })
  const control = new ControlApi({ world, stateWriter, ledger, rates, faults, runner, valueOrder, observer, handler, listeners })
  const server: SandboxServer = new SandboxServer({
    world,
    router: new Router(endpoints),
    ledger,
    observer,
    faults,
    runner,
    handler,
    control,
  })
  if (options.stateFile !== undefined) {
    await stateWriter.openJournal(options.stateFile, options.compactAfterBytes)
    // Removes the violations that the replay reported again.
    ledger.clear()
  }
  const boundPort = await server.listener.listen(options.port ?? 0).catch((error: unknown) => {
    stateWriter.closeJournal()
    throw error
  })
  world.url = `http://127.0.0.1:${boundPort}`
  const ticker = setInterval(() => runDueWork(world), 1000).unref()
  const close = async () => {
    clearInterval(ticker)
    handler.close()
    runner.clear()
    listeners.close()
    world.stop()
    // The journal is closed before the connections. Their end cancels work, and its failures must not be recorded.
    stateWriter.closeJournal()
    await server.listener.close()
  }
  return {
    url: world.url,
    port: boundPort,
    credentials,
    ...sandboxControl(world.url),
    reset: async ({ seed } = {}) => void control.reset(seed),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Starts the due work of every area. Logs an error of one area; the work of the others starts too. */
export function runDueWork(world: SandboxWorld): void {
  for (const area of world.areas) {
    const work = async () => area.onClock?.(world, world.stateOf(area.ref))
    work().catch((error: unknown) => world.log.error({ area: area.ref.name, error: String(error) }, 'due work of an area failed'))
  }
}

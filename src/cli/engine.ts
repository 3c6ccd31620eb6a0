import type { CompleteServiceSettings, LogLevel } from '../config/config.ts'
import { createTransport } from '../service/client/transport.ts'
import type { Transport } from '../service/client/exchange.ts'
import { registerWorker } from '../db/workers.ts'
import { engineSettings, type EngineDeps } from '../sync/engine.ts'
import { serviceIdentity } from '../sync/serviceIdentity.ts'
import type { Context } from './context.ts'
import { operator } from './operator.ts'
import { createProgress } from './terminal/progress.ts'
import { namesOfSettings, serviceOf } from './services.ts'
import { withStore } from './store.ts'
import type { Store } from '../db/open.ts'

/** Dependencies of the engine's functions, for one command. */
export interface Engine {
  readonly deps: EngineDeps
  /** Calls `work` with dependencies that show progress on stderr, in lines with `label`. */
  readonly withProgress: <Result>(label: string, work: (deps: EngineDeps) => Promise<Result>) => Promise<Result>
}

export interface EngineOptions {
  /** Maximum number of requests in flight; default 64. Below it, the engine adapts the number to the latency. */
  readonly concurrency?: number
  /** Role of this process in the worker table; default `command`. */
  readonly role?: 'command' | 'worker' | 'serve'
  /** Level if SLUICE_LOG_LEVEL is not set; default `warn`. */
  readonly logLevel?: LogLevel
  /** Named credentials of sluice.yaml. Default: the credentials of the environment. */
  readonly credentials?: string | undefined
}

/**
 * Opens database and service, registers this process as a worker, calls `work`, and closes database and service.
 *
 * @throws {ConfigError} as `serviceOf`
 * @throws as `openStore`
 */
export async function withEngine<Result>(
  context: Context,
  work: (engine: Engine) => Promise<Result>,
  options: EngineOptions = {},
): Promise<Result> {
  const service = await serviceOf(context, options.credentials)
  return withStore(
    context,
    async (store) => {
      await using engine = await openEngine(context, store, service, options)
      return await work(engine)
    },
    storeOptions,
  )
}

/**
 * Options of `withStore` for commands with an engine. A run reserves one connection for its temporary tables, and writes its row and its
 * progress on two others.
 */
export const storeOptions = { connections: 3 }

/** Registers this process as a worker of an open database, and opens the service. The caller must dispose of the engine. */
export async function openEngine(
  context: Context,
  store: Store,
  service: CompleteServiceSettings,
  options: EngineOptions = {},
): Promise<Engine & AsyncDisposable> {
  const config = context.config()
  const identity = serviceIdentity(service)
  const transport = commandTransport(
    createTransport(service, options.concurrency === undefined ? {} : { connections: options.concurrency }),
    context.inFlight,
    options.credentials,
  )
  const settings = engineSettings(identity.origin, options.concurrency)
  const workerId = await registerWorker(store.db, { role: options.role ?? 'command', concurrency: settings.concurrency })
  const deps: EngineDeps = {
    db: store.db,
    transport,
    clock: context.clock,
    log: context.log(options.logLevel),
    workerId,
    ...(options.role === undefined || options.role === 'command' ? { actor: operator().actor } : {}),
    service: identity,
    settings: {
      ...settings,
      ...(config.keepRunsDays === undefined ? {} : { keepRunsDays: config.keepRunsDays }),
    },
    env: config.env,
    signal: context.signal,
  }
  return {
    deps,
    async withProgress(label, work) {
      const progress = createProgress(context.stderr, context.clock, label, config.log.format)
      try {
        return await work({ ...deps, onProgress: progress.update })
      } finally {
        progress.end()
      }
    },
    [Symbol.asyncDispose]: () => transport.close(),
  }
}

/**
 * Returns a transport that also counts its requests in flight in `inFlight.requests`. With `set`, the name of its credentials in
 * sluice.yaml, `refusedCredentials` returns settings of the set instead of variables.
 */
function commandTransport(transport: Transport, inFlight: { requests: number }, set: string | undefined): Transport {
  const { refusedCredentials: refused } = transport
  return {
    async exchange(request) {
      inFlight.requests++
      try {
        return await transport.exchange(request)
      } finally {
        inFlight.requests--
      }
    },
    ...(refused === undefined
      ? {}
      : {
          async refusedCredentials() {
            const names = await refused()
            return names === undefined || set === undefined ? names : namesOfSettings(names, set)
          },
        }),
    ...(transport.load === undefined ? {} : { load: transport.load }),
    close: () => transport.close(),
  }
}

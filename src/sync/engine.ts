import type { Clock } from '../clock.ts'
import { longestRequestedWaitMs } from '../http/retryAfter.ts'
import type { Logger } from '../log.ts'
import { isLoopback } from '../loopback.ts'
import type { Transport } from '../service/client/exchange.ts'
import { batchLimits } from '../service/contract/limits.ts'
import type { Database } from '../db/database.ts'
import type { Fence } from '../db/fence.ts'
import { defaultKeepRunsDays } from '../db/runRetention.ts'
import { RunError } from '../errors.ts'
import type { Progress } from '../model/report.ts'

/**
 * External dependencies of a run. The engine (`src/sync`) reads settings and the environment only from here, except `CRASH_AT` for tests.
 */
export interface EngineDeps {
  readonly db: Database
  readonly transport: Transport
  readonly clock: Clock
  readonly log: Logger
  /** Id of this process in the table `worker`. */
  readonly workerId: string
  /** User of the command, for the audit log. Undefined for schedulers and workers. */
  readonly actor?: string
  readonly service: ServiceIdentity
  readonly settings: EngineSettings
  /** Environment variables, for the credentials of sources and for `${…}` in pipeline files. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly onProgress?: (progress: Progress) => void
  /**
   * After an abort, the engine starts no more work. A push waits at most 15 s for answers to the requests that it has sent. Other requests
   * are abandoned immediately. The run ends with `RUN_INTERRUPTED`, unless it is done.
   */
  readonly signal?: AbortSignal
}

/** Address and version of the service, and a name of the credentials of this environment (`credentialsOf`). */
export interface ServiceIdentity extends Fence {
  /** Version in the paths of the ads API, such as `12`. */
  readonly version: string
}

/** Limits and times of the engine. Names that end in `Ms` are milliseconds. */
export interface EngineSettings {
  /** Time after which the lease of a worker without a heartbeat expires. */
  readonly leaseMs: number
  readonly heartbeatMs: number
  /** Timeout of one request to the service. */
  readonly httpTimeoutMs: number
  /** Horizon: time during which an abandoned request may still reach the service (docs/decisions/late-arrival-horizon.md). */
  readonly horizonMs: number
  /** Time after a write during which a read may still return the state before it. */
  readonly readLagMs: number
  /** Maximum number of attempts of one request in a run. */
  readonly maxAttempts: number
  readonly backoffMinMs: number
  readonly backoffMaxMs: number
  /** A longer wait that the service requests (`Retry-After`) is shortened to this time. */
  readonly retryAfterCapMs: number
  /** Maximum number of parallel requests of one push. */
  readonly concurrency: number
  /** A queued run is skipped after this time if no worker has the requested version of its pipeline. */
  readonly unclaimedAfterMs: number
  /**
   * Approximate maximum of the bytes of all request bodies in memory. A push holds a body from the claim of its batch until the answer is
   * recorded.
   */
  readonly maxBytesInMemory: number
  /** Maximum number of users in the first part of a first load (docs/decisions/first-load-in-parts.md). */
  readonly usersInFirstPart: number
  /** Days after which ended runs are deleted, except data that the current state refers to. */
  readonly keepRunsDays: number
}

/** Maximum number of answers that a push records in parallel. Each uses its own database connection. */
export const maxParallelRecordings = 4

/**
 * Returns the default settings. For a service on loopback these times are shorter, because it has no gateway or replica in front of it:
 *
 * - `horizonMs` (docs/decisions/late-arrival-horizon.md)
 * - `readLagMs` (docs/faults.md, C1)
 * - both limits of the backoff
 */
export function engineSettings(serviceOrigin: string, concurrency = 64): EngineSettings {
  const isLocal = URL.canParse(serviceOrigin) && isLoopback(new URL(serviceOrigin).hostname)
  return {
    leaseMs: 60_000,
    heartbeatMs: 20_000,
    httpTimeoutMs: 30_000,
    horizonMs: isLocal ? 10_000 : 120_000,
    readLagMs: isLocal ? 0 : 60_000,
    maxAttempts: 8,
    backoffMinMs: isLocal ? 100 : 1_000,
    backoffMaxMs: isLocal ? 5_000 : 60_000,
    retryAfterCapMs: longestRequestedWaitMs,
    concurrency,
    unclaimedAfterMs: 10 * 60_000,
    maxBytesInMemory: 48 * 1024 * 1024,
    usersInFirstPart: 3 * batchLimits.userOperations.entries,
    keepRunsDays: defaultKeepRunsDays,
  }
}

/** Returns the error `RUN_INTERRUPTED` of a run that a signal stopped, or that another process ended or replaced. */
export function interruptedError(by: 'signal' | 'otherProcess' = 'signal'): RunError {
  const cause = by === 'signal' ? 'stopped by a signal' : 'ended or replaced by another process'
  return new RunError('RUN_INTERRUPTED', `${cause}; what was confirmed is kept`, {
    hint: 'run the same command again to continue',
  })
}

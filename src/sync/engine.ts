import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'
import { isLoopback } from '../loopback.ts'
import type { Transport } from '../service/client/exchange.ts'
import type { Database } from '../store/database.ts'
import { defaultKeepRunsDays } from '../store/runRetention.ts'
import type { Progress } from './report.ts'

/** All that a run needs from outside; nothing below reads a clock, the environment or a setting by itself. */
export interface EngineDeps {
  readonly db: Database
  readonly transport: Transport
  readonly clock: Clock
  readonly log: Logger
  /** Row of `sluice.worker` that stands for this process. */
  readonly workerId: string
  readonly service: ServiceIdentity
  readonly settings: EngineSettings
  /** Environment, for the sources' credentials. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly onProgress?: (progress: Progress) => void
  /** Aborted: stop claiming, finish or give up what is in flight, leave the state safe. */
  readonly signal?: AbortSignal
}

export interface ServiceIdentity {
  /** Origin of the advertising host: the state of one service is never taken for that of another. */
  readonly origin: string
  /** Version segment of advertising paths. */
  readonly version: string
}

export interface EngineSettings {
  readonly leaseMs: number
  readonly heartbeatMs: number
  readonly httpTimeoutMs: number
  /** How long bytes of an attempt that was given up may still land (guarantees 1, horizon). */
  readonly horizonMs: number
  /** How long a read may still show what was before a write. */
  readonly readLagMs: number
  readonly maxAttempts: number
  readonly backoffMinMs: number
  readonly backoffMaxMs: number
  readonly retryAfterCapMs: number
  /** Requests in flight at once, at the most, in this process. */
  readonly concurrency: number
  /** Runs that ended longer ago are forgotten, but for what something that stands leans on. */
  readonly keepRunsDays: number
}

/**
 * The figures of guarantees 3. Three are shorter on loopback, where no network, gateway or replica stands between us and the
 * service: the horizon (docs/decisions/late-arrival-horizon.md), the lag of reads (guarantees 4, C1) and the first backoff.
 */
export function engineSettings(serviceOrigin: string, concurrency = 16): EngineSettings {
  const local = URL.canParse(serviceOrigin) && isLoopback(new URL(serviceOrigin).hostname)
  return {
    leaseMs: 60_000,
    heartbeatMs: 20_000,
    httpTimeoutMs: 30_000,
    horizonMs: local ? 10_000 : 120_000,
    readLagMs: local ? 0 : 60_000,
    maxAttempts: 8,
    backoffMinMs: local ? 100 : 1_000,
    backoffMaxMs: local ? 5_000 : 60_000,
    retryAfterCapMs: 15 * 60_000,
    concurrency,
    keepRunsDays: defaultKeepRunsDays,
  }
}

import type { ApiDeps } from '../api/api.ts'
import type { ReadyDeps } from '../api/readiness.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Pipeline } from '../model/pipeline.ts'
import type { Finding } from '../model/report.ts'

/** Dependencies of pages, API and metrics. */
export interface ServerDeps extends ApiDeps, Omit<ReadyDeps, 'db'> {
  readonly version: string
  readonly metrics: Metrics
  readonly log: Logger
  /** Loads the valid pipelines, the problems of the others, and a text for each valid pipeline that this process cannot run. */
  readonly loadPipelines: () => Promise<{
    readonly pipelines: readonly Pipeline[]
    readonly problems: readonly string[]
    readonly unserved?: readonly string[]
  }>
  /** Returns the names of the receivers of alerts. */
  readonly receivers: () => Promise<readonly string[]>
  /** Adds the global options of this process to the commands in a hint. Absent if it has none. */
  readonly completeHint?: ((hint: string) => string) | undefined
  /** Runs the checks of `sluice doctor`. */
  readonly examine: () => Promise<readonly Finding[]>
}

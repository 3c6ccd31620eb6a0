import type { Database } from '../../db/database.ts'
import type { DbRow, Value } from '../../db/row.ts'
import { loadReport } from './history.ts'
import { declarationValidS } from '../../db/schedules.ts'
import { givenPipelines, isRunOf, pipelineColumns, type PipelineInEnvironment } from './overview.ts'
import type { RunReport } from '../../model/report.ts'

export interface PipelineState {
  readonly pipeline: string
  /** Newest ended run. Plans, audits and skipped runs do not count. Null if there is none. */
  readonly last: RunReport | null
  /** Id of the running run (`r_81`), also of a plan or an audit. Null if none is running. */
  readonly running: string | null
  /** End of the last successful run. Plans and audits do not count. Null if there is none. */
  readonly lastSuccessAt: string | null
}

export interface States {
  /** Time by the database's clock. */
  readonly now: Date
  /**
   * State of the schedulers within the last minute:
   *
   * - `none`: no `sluice serve` process sent a heartbeat.
   * - `elsewhere`: a process sent a heartbeat, but no process declared a schedule of these pipelines. The running processes have another
   *   environment or folder, or do not know newer migrations of the database.
   * - `running`: a process sent a heartbeat. A process declared such a schedule, or the environment of a pipeline is not known.
   */
  readonly scheduler: 'none' | 'elsewhere' | 'running'
  readonly pipelines: readonly PipelineState[]
}

/** Returns the states of the pipelines, in their order. */
export async function pipelineStates(db: Database, given: readonly PipelineInEnvironment[]): Promise<States> {
  const rows = await db.query<
    DbRow<'run', 'pipeline'> & { last: Value<'run', 'id'> | null; running: Value<'run', 'id'> | null; success: Value<'run', 'finished_at'> }
  >(
    `select p.name as pipeline, ended.id as last, running.id as running, success.at as success
     from unnest($1::text[], $2::text[], $3::text[]) with ordinality as p (name, origin, credentials, place)
       left join lateral (select max(id) as id from run r where ${isRunOf} and r.trigger <> 'plan'
         and r.status in ('succeeded', 'partial', 'withheld', 'failed', 'cancelled')) ended on true
       left join lateral (select max(id) as id from run r where ${isRunOf} and r.status = 'running') running on true
       left join lateral (select max(finished_at) as at from run r where ${isRunOf} and r.trigger <> 'plan'
         and r.status = 'succeeded') success on true
     order by p.place`,
    pipelineColumns(given),
  )
  const [clock] = await db.query<{ now: Date; scheduler: States['scheduler'] }>(
    `select statement_timestamp() as now,
       case when not exists (select from worker where role = 'serve' and seen_at > statement_timestamp() - interval '1 minute') then 'none'
         when exists (select from ${givenPipelines} where p.origin is null) or exists (
           select from ${givenPipelines} join pipeline_schedule s on (s.pipeline, s.credentials) = (p.name, p.credentials)
             join destination d on d.id = s.destination_id and d.service = p.origin
           where s.declared_at > statement_timestamp() - ${declarationValidS} * interval '1 second') then 'running'
         else 'elsewhere' end as scheduler`,
    pipelineColumns(given),
  )
  const pipelines: PipelineState[] = []
  for (const { pipeline, last, running, success } of rows) {
    const report = last === null ? null : await loadReport(db, Number(last))
    pipelines.push({
      pipeline,
      last: report,
      running: running === null ? null : `r_${running}`,
      lastSuccessAt: success === null ? null : success.toISOString(),
    })
  }
  return { now: clock?.now ?? new Date(0), scheduler: clock?.scheduler ?? 'none', pipelines }
}

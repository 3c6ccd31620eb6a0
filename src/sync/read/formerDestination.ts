/**
 * Finds the destination that a pipeline wrote to before its file named another one. Unless another pipeline writes to that destination, no
 * run updates or removes its content. People who opt out stay there too. A pause of that destination does not stop runs to the present one.
 */
import type { Pipeline } from '../../model/pipeline.ts'
import type { WarningSummary } from '../../model/report.ts'
import { noteOf } from '../../mapping/statistics/qualityCodes.ts'
import { destinationOf } from '../../destinations/index.ts'
import { hasRows } from '../../db/queryable.ts'
import type { Outer, DbRow } from '../../db/row.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import type { EngineDeps } from '../engine.ts'

/** SQL condition: run `r` may have sent something. A run that a guard stopped has no plan. */
const maySend = `r.trigger <> 'plan' and r.plan_id is not null`

/** Returns the notes on an earlier destination of the pipeline; none once an earlier run may have sent to the present one. */
export async function formerDestinationNotes(
  { db, service }: EngineDeps,
  { name }: Pipeline,
  run: ClaimedRun,
): Promise<readonly WarningSummary[]> {
  const mayHaveSent = `select from run r where r.pipeline = $1 and r.destination_id = $2 and r.id < $3 and ${maySend}`
  if (await hasRows(db, mayHaveSent, [name, run.destinationId, run.id])) return []
  // Nearly every pipeline has only one destination. This short query saves the long one.
  if (!(await hasRows(db, 'select from run where pipeline = $1 and destination_id <> $2', [name, run.destinationId]))) return []
  // The last run of this pipeline to another destination that still has records. No other pipeline has had a run to it since.
  const [former] = await db.query<
    DbRow<'run', 'id'> & DbRow<'destination', 'kind' | 'target_id'> & Outer<DbRow<'pipeline_pause', 'actor' | 'paused_at'>>
  >(
    `select r.id, d.kind, d.target_id, p.actor, p.paused_at
     from run r join destination d on d.id = r.destination_id left join pipeline_pause p on p.destination_id = d.id
     where r.pipeline = $1 and r.destination_id <> $2 and r.id < $3 and ${maySend} and d.service = $4 and d.credentials = $5
       and exists (select from record c where c.destination_id = d.id)
       and not exists (select from run later where later.destination_id = d.id and later.pipeline <> $1 and later.id > r.id)
     order by r.id desc limit 1`,
    [name, run.destinationId, run.id, service.origin, service.credentials],
  )
  if (former === undefined) return []
  const { init, words } = destinationOf(former.kind)
  const formerName = `the ${init?.noun ?? former.kind} ${former.target_id}`
  const stays = `${name} wrote to ${formerName} before (r_${former.id}): unless another pipeline writes to it, its ${words.records} stay there, and no run updates or removes them`
  const changed = noteOf('DESTINATION_CHANGED', stays)
  if (former.paused_at === null) return [changed]
  const paused = `${name} was paused by ${former.actor} when it wrote to ${formerName}, and is not paused for its present destination`
  return [changed, noteOf('PAUSE_ELSEWHERE', paused)]
}

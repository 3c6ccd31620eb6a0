/** Lists the destinations of the database, also those that no pipeline syncs any more. */
import { openStatuses, erasurePhase } from '../../db/batches/states.ts'
import type { Queryable } from '../../db/database.ts'
import type { DestinationKey } from '../../db/destinations.ts'
import type { DbRow } from '../../db/row.ts'
import { decodeRowCounts } from '../../db/snapshots.ts'

export interface StoredDestination extends DestinationKey {
  /** `d_3`. */
  readonly id: string
  /** Newest run, the name of its pipeline, and the time at which the run was requested. Null if there is no run. */
  readonly lastRun: { readonly id: string; readonly pipeline: string; readonly at: string } | null
  /** Number of valid rows at the last complete read. Null if there was none. */
  readonly rows: number | null
  /** Number of requests that have no final answer, except those of erasures. */
  readonly openRequests: number
  /** Number of delete requests of erasures that have no final answer. */
  readonly openErasureDeletes: number
}

/** Returns all destinations of the database, of every environment, in the order in which they were added. */
export async function listDestinations(db: Queryable): Promise<readonly StoredDestination[]> {
  const rows = await db.query<
    DbRow<'destination', 'id' | 'service' | 'kind' | 'account_id' | 'target_id'> & {
      run_id: string | null
      pipeline: string | null
      created_at: Date | null
      snapshot_id: string | null
      counts: unknown
      open_requests: number
      open_deletes: number
    }
  >(
    `select d.id, d.service, d.kind, d.account_id, d.target_id, r.id as run_id, r.pipeline, r.created_at, s.id as snapshot_id, s.counts,
       coalesce(b.requests, 0) as open_requests, coalesce(b.deletes, 0) as open_deletes
     from destination d
       left join lateral (select id, pipeline, created_at from run where destination_id = d.id order by id desc limit 1) r on true
       left join lateral (select id, counts from snapshot where destination_id = d.id and status = 'closed' order by id desc limit 1) s on true
       left join lateral (select count(*) filter (where phase <> ${erasurePhase})::int as requests,
           count(*) filter (where phase = ${erasurePhase})::int as deletes
         from batch where destination_id = d.id and status in ${openStatuses}) b on true
     order by d.id`,
  )
  return rows.map((row) => ({
    id: `d_${row.id}`,
    service: row.service,
    kind: row.kind,
    accountId: row.account_id,
    targetId: row.target_id,
    lastRun:
      row.run_id === null || row.pipeline === null || row.created_at === null
        ? null
        : { id: `r_${row.run_id}`, pipeline: row.pipeline, at: row.created_at.toISOString() },
    rows: row.snapshot_id === null ? null : decodeRowCounts(row.counts, row.snapshot_id).valid,
    openRequests: row.open_requests,
    openErasureDeletes: row.open_deletes,
  }))
}

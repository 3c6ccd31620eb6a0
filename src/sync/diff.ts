/**
 * Diff: the closed stage against the desired state (`record`), set-based. The changed rows land in a temporary table;
 * what did not change is counted and nothing else. Measured: FULL JOIN on key and hash 0.6 s a million rows.
 */
import type pg from 'pg'
import { stagedKind } from './stage.ts'

export interface Diff {
  readonly creates: number
  readonly updates: number
  /** Rows rejected or contradictory whose record stays as it was. */
  readonly stale: number
  /** Records that no row mentions any more. */
  readonly absent: number
  readonly leaving: number
  readonly suppressed: number
}

/** `change.what`: create, update, stale, absent, leaving (no consent, removal), suppressed (do-not-reach). */
export async function diffStage(client: pg.PoolClient, destinationId: number): Promise<Diff> {
  await client.query(
    `create temp table change as
     select coalesce(s.key, r.key) as key,
       case
         when s.key is null then 'absent'
         when s.kind = ${stagedKind.rejected} then 'stale'
         when s.kind = ${stagedKind.leaving} then 'leaving'
         when s.kind = ${stagedKind.suppressed} then 'suppressed'
         when r.key is null then 'create'
         else 'update'
       end as what
     from stage s
     full join (select key, hash, status from sluice.record where destination_id = $1) r on r.key = s.key
     where case
       when s.key is null then r.status <> 'missing'
       when s.kind = ${stagedKind.valid} then r.key is null or r.hash <> s.hash or r.status <> 'live'
       else r.key is not null
     end`.replace('$1', String(destinationId)),
  )
  const { rows } = await client.query<{ what: string; n: string }>('select what, count(*) as n from change group by what')
  const counts = new Map(rows.map(({ what, n }) => [what, Number(n)]))
  return {
    creates: counts.get('create') ?? 0,
    updates: counts.get('update') ?? 0,
    stale: counts.get('stale') ?? 0,
    absent: counts.get('absent') ?? 0,
    leaving: counts.get('leaving') ?? 0,
    suppressed: counts.get('suppressed') ?? 0,
  }
}

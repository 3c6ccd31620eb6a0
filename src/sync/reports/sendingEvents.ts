/** Loads the events of records that come from plans and from answers of the service. */
import { lastSendingRun, sendingRun } from '../../db/attempts.ts'
import type { Database } from '../../db/database.ts'
import { batchesOfRecords, entriesOf, shownOutcome } from '../../db/entries/read.ts'
import { invalidatingRun, readInvalidated, type InvalidatedKind } from '../../db/invalidated.ts'
import type { DbRow } from '../../db/row.ts'
import type { RecordEvent } from './recordHistory.ts'

/** Parts of the events that depend on the type of the destination's keys. */
export interface ExplainedKeys {
  /** True if a confirmed delete removes the whole record. False for people, because other identifiers of the person may stay. */
  readonly deletesRecord: boolean
  /** SQL of the state of each key of the records. `$1`: destination, `$2`: keys of the records. */
  readonly states: string
  /** Name of a key in messages. */
  readonly nameOf: (state: DbRow<'remote', 'key' | 'remote_key'>) => string
  /** Digests of the keys for an event; empty for products. */
  readonly digestsOf: (keys: readonly Buffer[]) => Pick<RecordEvent, 'digest' | 'identifiers'>
}

/**
 * Returns an event for each of the last 100 operations on the records. A confirmed delete of a whole record gets a second event.
 * `filterNote`: as for `loadReadEvents`.
 */
export async function loadEntryEvents(
  db: Database,
  destinationId: number,
  keys: readonly Buffer[],
  explained: ExplainedKeys & { readonly filterNote: string },
): Promise<RecordEvent[]> {
  const rows = await db.query<
    DbRow<'plan', 'run_id'> & {
      at: Date
      ended_at: Date
      plan_id: string
      batch_id: string
      change: string
      outcome: string
      code: string | null
      message: string | null
      sent_by: string | null
      expires_at: Date | null
      hash: Buffer | null
      keys: Buffer[]
    }
  >(
    // `settled_at` is later than now while an attempt may still arrive (`settledAt` in `db/batches/release.ts`).
    `select p.created_at as at, least(coalesce(b.settled_at, p.created_at), statement_timestamp()) as ended_at, p.run_id, p.id as plan_id,
       e.batch_id, e.change, ${shownOutcome} as outcome, e.code, e.message, e.expires_at, e.hash, e.keys, (${lastSendingRun('e.batch_id')}) as sent_by
     from batch b cross join ${entriesOf('b.id')} e join plan p on p.id = b.plan_id
     where b.id in (${batchesOfRecords('$1', '$2::bytea[]')}) and e.record_key = any($2) order by e.batch_id desc limit 100`,
    [destinationId, keys],
  )
  const planned = rows.map((row): RecordEvent => ({
    at: row.at.toISOString(),
    what: 'planned',
    runId: `r_${row.run_id}`,
    planId: row.plan_id,
    batch: Number(row.batch_id),
    change: row.change,
    outcome: row.outcome,
    ...(row.code === null ? {} : { code: row.code }),
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at.toISOString() }),
    // Identifiers of rows without times have one byte instead of a hash.
    ...(row.hash === null || row.hash.length < 16 ? {} : { contentHash: row.hash.toString('hex') }),
    ...explained.digestsOf(row.keys),
    message: `${row.change} planned in ${row.plan_id}, ${row.outcome}${row.message === null ? '' : `: ${row.message}`}`,
  }))
  const deleted = rows.filter(({ change, outcome }) => explained.deletesRecord && change === 'delete' && outcome === 'confirmed')
  return [
    ...planned,
    ...deleted.map((row): RecordEvent => ({
      at: row.ended_at.toISOString(),
      what: 'deleted',
      runId: `r_${row.sent_by ?? row.run_id}`,
      batch: Number(row.batch_id),
      message: `deleted at the service: its row was no longer in the source${explained.filterNote}`,
    })),
  ]
}

/**
 * Returns the events `sent` and `answered` of the last 100 attempts of batches that have or had the records. An attempt in flight has no
 * event `answered`. If halves of a split batch were merged, the parent of the merged batch is the batch that was split first. Batches
 * between these two are found by the bytes of the record in their bodies. For people, these are the bytes of the users of an operation,
 * because the operation may have had more users before.
 */
export async function loadAttemptEvents(db: Database, destinationId: number, keys: readonly Buffer[]): Promise<RecordEvent[]> {
  const rows = await db.query<
    DbRow<'attempt', 'started_at' | 'finished_at' | 'run_id' | 'batch_id' | 'outcome' | 'http_status' | 'reason'>
  >(
    `with recursive own as materialized ( -- batches that have the records
       select id, plan_id, parent_id, body from batch where id in (${batchesOfRecords('$1', '$2::bytea[]')})),
     carrier as ( -- these batches with their parents
       select id, parent_id from own
       union select parent.id, parent.parent_id from carrier c join batch parent on parent.id = c.parent_id),
     between_parts as ( -- split batches of the plan whose body has the bytes of such a record
       select part.id from own b cross join ${entriesOf('b.id')} e
         cross join lateral (select substring(b.body from e.byte_offset + 1 for e.byte_length) as bytes) o
         cross join lateral (select position('"users":['::bytea in o.bytes) + 9 as at) u
         join batch part on part.plan_id = b.plan_id and part.status = 'split' and part.parent_id is not null
       where b.parent_id is not null and e.record_key = any($2)
         and position(case when u.at > 9 then substring(o.bytes from u.at for length(o.bytes) - u.at - 2) else o.bytes end in part.body) > 0)
     select a.started_at, a.finished_at, ${sendingRun} as run_id, a.batch_id, a.outcome, a.http_status, a.reason
     from attempt a join batch b on b.id = a.batch_id join plan p on p.id = b.plan_id
     where a.batch_id in (select id from carrier union select id from between_parts) order by a.id desc limit 100`,
    [destinationId, keys],
  )
  return rows.flatMap((row) => {
    const sent: RecordEvent = {
      at: row.started_at.toISOString(),
      what: 'sent',
      runId: `r_${row.run_id}`,
      batch: Number(row.batch_id),
      message: `sent in batch ${row.batch_id}`,
    }
    if (row.finished_at === null) return [sent]
    const answered: RecordEvent = {
      at: row.finished_at.toISOString(),
      what: 'answered',
      runId: `r_${row.run_id}`,
      batch: Number(row.batch_id),
      ...(row.outcome === null ? {} : { outcome: row.outcome }),
      ...(row.http_status === null ? {} : { httpStatus: row.http_status }),
      message: `answer: ${row.http_status ?? 'none'}, ${row.outcome ?? 'unknown'}${row.reason === null ? '' : ` (${row.reason})`}`,
    }
    return [sent, answered]
  })
}

/** Returns the events `confirmed`, `invalidated`, `refused` and `desired` of each key. */
export async function loadStateEvents(
  db: Database,
  destinationId: number,
  keys: readonly Buffer[],
  explained: ExplainedKeys,
): Promise<RecordEvent[]> {
  const rows = await db.query<
    DbRow<'remote', 'key' | 'ref_count' | 'expires_at' | 'remote_key' | 'refused_code' | 'refused_message' | 'batch_id' | 'synced_hash'> & {
      in_sync: boolean
      synced: boolean
      answered: boolean
      synced_at: Date | null
      invalidated_at: Date | null
      refused_at: Date | null
      now: Date
    }
  >(
    `select m.key, m.ref_count, m.expires_at, m.remote_key, m.refused_code, m.refused_message, m.batch_id, m.synced_hash,
       statement_timestamp() as now,
       m.desired_hash is not distinct from m.synced_hash as in_sync,
       m.synced_hash is not null as synced,
       m.synced_at is not null or m.batch_id is not null as answered,
       greatest(coalesce(m.synced_at, least(b.settled_at, statement_timestamp())),
         (select max(a.finished_at) from attempt a where a.batch_id = m.batch_id)) as synced_at,
       (select started_at from run where id = ${invalidatingRun('m.synced_hash')}) as invalidated_at,
       (select max(least(r.settled_at, statement_timestamp())) from entry e join batch r on r.id = e.batch_id
        where e.destination_id = $1 and e.record_key = any($2) and e.outcome = 'refused' and m.key = any(e.keys)) as refused_at
     from (${explained.states}) m left join batch b on b.id = m.batch_id order by m.key`,
    [destinationId, keys],
  )
  // If one identifier of a member stays, the member is changed, not removed.
  const removal = rows.every((row) => row.ref_count === 0) ? { change: 'delete' } : {}
  return rows.flatMap((row) => {
    const name = explained.nameOf(row)
    const digests = explained.digestsOf([row.key])
    const events: RecordEvent[] = []
    const invalidated = readInvalidated(row.synced_hash)
    // A key that was invalidated as `unsure` has a `synced_hash`, because a request for it may have been applied. Without an answer it is
    // not confirmed.
    const isConfirmed = row.synced && (invalidated?.kind !== 'unsure' || row.answered)
    if (isConfirmed) {
      events.push({
        at: (row.synced_at ?? row.now).toISOString(),
        what: 'confirmed',
        ...digests,
        message: `${name} confirmed by the service`,
        ...(row.batch_id === null ? {} : { batch: Number(row.batch_id) }),
        ...(row.expires_at === null ? {} : { expiresAt: row.expires_at.toISOString() }),
      })
    }
    if (invalidated !== undefined) {
      events.push({
        at: (row.invalidated_at ?? row.now).toISOString(),
        what: 'invalidated',
        ...digests,
        ...(invalidated.kind === 'changed' ? { live: true } : {}),
        runId: `r_${invalidated.runId}`,
        message: `${name} ${invalidations[invalidated.kind]}${isConfirmed ? '; its confirmation is invalid' : ''}`,
      })
    }
    if (row.refused_code !== null) {
      events.push({
        at: (row.refused_at ?? row.now).toISOString(),
        what: 'refused',
        ...digests,
        code: row.refused_code,
        message: `${name} was refused by the service: ${row.refused_message ?? ''}`,
      })
    }
    if (row.ref_count > 0 && !row.in_sync)
      events.push({ at: row.now.toISOString(), what: 'desired', ...digests, message: `${name} waits to be sent` })
    if (row.ref_count === 0 && row.synced)
      events.push({ at: row.now.toISOString(), what: 'desired', ...digests, ...removal, message: `${name} waits to be deleted` })
    return events
  })
}

/** Messages by the cause that invalidated the synced content. */
const invalidations: Readonly<Record<InvalidatedKind, string>> = {
  changed: 'was listed with another content',
  notListed: 'was no longer listed',
  hidden: 'is a variant that no listing shows',
  unsure: 'may have been applied, because the answer to an attempt was lost',
}

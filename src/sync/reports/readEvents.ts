/** Loads the events of records that come from reads of their sources: rows, rejects, suppression, and withheld changes. */
import { describeIdentifier } from '../../mapping/redactPersonalData.ts'
import type { Database } from '../../db/database.ts'
import { wasRead } from '../../db/digests.ts'
import { rowIdentifiers } from '../../db/identifiers.ts'
import { hasRows } from '../../db/queryable.ts'
import type { DbRow } from '../../db/row.ts'
import { readsOwnSources } from '../../db/runs/request.ts'
import { isSuppressed } from '../../db/suppressed.ts'
import { kindsWhere } from '../../destinations/index.ts'
import { digestsOf, type RecordEvent } from './recordHistory.ts'

/** Returns one event if a do-not-reach list of the account has one of the identifiers; otherwise none. */
export async function loadSuppressionEvents(db: Database, destinationId: number, identifiers: readonly Buffer[]): Promise<RecordEvent[]> {
  const lists = await db.query<DbRow<'destination', 'id'>>(
    `select l.id from destination t
     join destination l on l.kind = any($2) and l.service = t.service and l.account_id = t.account_id where t.id = $1`,
    [destinationId, kindsWhere(({ suppresses }) => suppresses)],
  )
  const rows = await db.query<{ at: Date }>(
    `select coalesce(max(coalesce(listed.synced_at, least(b.settled_at, statement_timestamp()))), statement_timestamp()) as at
     from remote listed left join batch b on b.id = listed.batch_id
     where listed.destination_id = any($1::int[]) and listed.key = any($2) and ${isSuppressed('listed', '$1::int[]')} having count(*) > 0`,
    [lists.map(({ id }) => id), identifiers],
  )
  return rows.map(({ at }) => ({
    at: at.toISOString(),
    what: 'suppressed',
    message: 'on a do-not-reach list of the account: it is not sent',
  }))
}

/**
 * Returns one event per stored record: the line that it was read from, and its content. `filterNote`: text for messages on missing rows, such
 * as `, or left out by only:`; may be empty.
 */
export async function loadReadEvents(
  db: Database,
  destinationId: number,
  keys: readonly Buffer[],
  filterNote: string,
): Promise<RecordEvent[]> {
  const rows = await db.query<DbRow<'record', 'line' | 'status' | 'body' | 'identifiers' | 'hash'> & { at: Date; run_id: string | null }>(
    // The event has the time at which the read began, because the read may end after the event `planned`. If the snapshot has expired, the
    // event has the time of the oldest stored run.
    `select coalesce(s.opened_at, (select min(created_at) from run where destination_id = $1), statement_timestamp()) as at,
       r.line, r.status, r.body, ${rowIdentifiers('r')} as identifiers, r.hash, s.run_id
     from record r left join snapshot s on s.id = r.snapshot_id where r.destination_id = $1 and r.key = any($2)`,
    [destinationId, keys],
  )
  return rows.map(({ at, line, status, body, identifiers, hash, run_id }) => ({
    at: at.toISOString(),
    what: 'read',
    ...(run_id === null ? {} : { runId: `r_${run_id}` }),
    line: Number(line),
    contentHash: hash.toString('hex'),
    ...digestsOf(identifiers ?? []),
    message:
      status === 'stale'
        ? `kept as read from line ${line}: its row is now rejected`
        : status === 'missing'
          ? `missing from the source${filterNote}; last read from line ${line}`
          : `line ${line} of the source${run_id === null ? ', when it last changed, by a run that has expired' : ''}`,
    ...(body === null ? { value: (identifiers ?? []).map(describeIdentifier).join(', ') } : { value: body }),
  }))
}

/**
 * Returns one event for each of the last 50 rejects of the records. A reject is `outdated` if a later run read the sources, and its plan
 * left the record live.
 */
export async function loadRejectEvents(db: Database, destinationId: number, keys: readonly Buffer[]): Promise<RecordEvent[]> {
  const rows = await db.query<DbRow<'reject', 'run_id' | 'line' | 'code' | 'field' | 'message' | 'hint'> & { at: Date; outdated: boolean }>(
    // The runs are ordered by `started_at`: a run may be requested before an earlier run reads, but it starts after that run.
    `select r.started_at as at, j.run_id, j.line, j.code, j.field, j.message, j.hint,
       exists (select from record where destination_id = $1 and key = j.record_key and status = 'live')
         -- Not by its snapshot: a run that finds its sources unchanged has that of an earlier run.
         and exists (select from run later where later.destination_id = $1 and later.plan_id is not null and later.started_at > r.started_at
           and ${readsOwnSources('later')} and not later.options ? 'audit' and later.options ->> 'failedOnly' is distinct from 'true') as outdated
     from reject j join run r on r.id = j.run_id where j.record_key = any($2) and r.destination_id = $1 order by j.run_id desc limit 50`,
    [destinationId, keys],
  )
  return rows.map(({ at, run_id, line, code, field, message, hint, outdated }) => ({
    at: at.toISOString(),
    what: 'rejected',
    ...(outdated ? { outdated } : {}),
    runId: `r_${run_id}`,
    line: Number(line),
    code,
    hint,
    message: `line ${line} rejected: ${message.startsWith(field) ? '' : `${field}: `}${message}`,
  }))
}

/**
 * Returns the events `withheld`. Returns none if no guard withheld deletes or updates to out of stock in a plan of the last read.
 * - Records and digests of the read are stored: one event for each live record whose row is missing from this read.
 * - Only records are stored: one event for each live record, because its row may be missing.
 * - No record is stored: one event if a key waits to be deleted.
 */
export async function loadWithheldEvents(db: Database, destinationId: number, keys: readonly Buffer[]): Promise<RecordEvent[]> {
  const [plan] = await db.query<DbRow<'plan', 'created_at' | 'run_id'> & { code: string; out_of_stock: boolean }>(
    `select p.created_at, p.run_id, p.guards -> 0 ->> 'code' as code, p.guards -> 0 -> 'outOfStock' is not null as out_of_stock
     from plan p join (
       select s.id from snapshot s join run r on r.id = s.run_id
       where s.destination_id = $1 and s.status in ('closed', 'incomplete') and ${readsOwnSources('r')}
       order by s.id desc limit 1) s on s.id = p.snapshot_id
     where (p.counts ->> 'withheld')::int > 0 order by p.created_at desc limit 1`,
    [destinationId],
  )
  if (plan === undefined) return []
  const rows = await db.query<DbRow<'record', 'key' | 'status'>>(
    'select key, status from record where destination_id = $1 and key = any($2)',
    [destinationId, keys],
  )
  const run = `r_${plan.run_id}`
  const event = (message: string): RecordEvent => ({
    at: plan.created_at.toISOString(),
    what: 'withheld',
    runId: run,
    code: plan.code,
    message,
  })
  if (rows.length === 0) {
    const waiting = `select from remote
      where destination_id = $1 and (key = any($2) or group_key = any($2)) and ref_count = 0 and synced_hash is not null`
    return (await hasRows(db, waiting, [destinationId, keys])) ? [event(`${run} withheld deletes (${plan.code})`)] : []
  }
  const change = plan.out_of_stock ? 'update to out of stock' : 'delete'
  const changes = plan.out_of_stock ? 'updates to out of stock' : 'deletes'
  const events: RecordEvent[] = []
  for (const { key } of rows.filter(({ status }) => status === 'live')) {
    const isRead = await wasRead(db, destinationId, key)
    if (isRead === undefined) events.push(event(`${run} withheld the ${changes} of missing rows (${plan.code}), perhaps of this one`))
    else if (!isRead) events.push(event(`its row is missing from the source, and ${run} withheld its ${change} (${plan.code})`))
  }
  return events
}

/**
 * Explains one record: its source line, rejects, batches, answers, state and expiry, in order of time. An email or phone number is hashed
 * before the search, and never stored.
 */
import { rowIdentifiers } from '../../db/identifiers.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { describeIdentifier } from '../../mapping/redactPersonalData.ts'
import type { Database } from '../../db/database.ts'
import { lastSender, sendingRun } from '../../db/attempts.ts'
import { isSuppressed } from '../../db/suppressed.ts'
import { batchesOfRecords, entriesOf, shownOutcome } from '../../db/entries/read.ts'
import { implyingBatch, plainTimes, recordMayImply } from '../../db/impliedKeys.ts'
import { wasRead } from '../../db/digests.ts'
import { ensureDestination } from '../../db/destinations.ts'
import { readInvalidated, invalidatingRun, type InvalidatedKind } from '../../db/invalidated.ts'
import type { Row } from '../../db/row.ts'
import { readsOwnSources } from '../../db/runs/request.ts'
import { destinationKey } from '../destinationKey.ts'
import { findMember, findProduct, type ExplainDeps, type FoundRecords, type RecordSearch } from './explainedRecords.ts'
import { digestsOf, identifierDigests, livenessOf, type RecordHistory, type RecordEvent } from './recordHistory.ts'
import type { Destination } from '../../destinations/destination.ts'
import { destinationOf, kindsWhere } from '../../destinations/index.ts'

/**
 * Returns the history of the records that `text` names: a product id, a row key, or an identifier as it was typed. Without events if the
 * text is unknown. Creates the row of the destination if it does not exist.
 */
export async function explainKey(deps: ExplainDeps, pipeline: Pipeline, text: string): Promise<RecordHistory> {
  const { id } = await ensureDestination(deps.db, destinationKey(deps, pipeline))
  const type = destinationOf(pipeline.destination.kind)
  const explained = explainedKeys[type.keys]
  const { keys, extraEvents, names, identifiers } = await explained.find(deps, { destinationId: id, text, pipeline })
  const filterNote = filterNoteOf(pipeline)
  const events = [
    ...(type.appliesSuppression(pipeline.destination) ? await loadSuppressionEvents(deps.db, id, identifiers) : []),
    ...extraEvents,
    ...(await loadReadEvents(deps.db, id, keys, filterNote)),
    ...(await loadRejectEvents(deps.db, id, keys)),
    ...(await loadEntryEvents(deps.db, id, keys, { ...explained, filterNote })),
    ...(await loadAttemptEvents(deps.db, id, keys)),
    ...(await loadStateEvents(deps.db, id, keys, explained)),
    ...(await loadWithheldEvents(deps.db, id, keys)),
  ].toSorted((a, b) => a.at.localeCompare(b.at))
  const unknown = unknownKey(pipeline, filterNote)
  return {
    ...livenessOf(events, { ...explained, unknown: unknown.reason }),
    ...(events.length > 0 || unknown.hint === undefined ? {} : { hint: unknown.hint }),
    keys: names,
    identifiers: identifierDigests(identifiers),
    events,
  }
}

/**
 * Returns a text to append to messages on missing rows, such as `, or left out by only:`; empty for a pipeline without filters. Filtered
 * rows are not stored, so a missing row may be a filtered one.
 */
function filterNoteOf({ filters }: Pipeline): string {
  const names = [...new Set(filters.map(({ keep }) => (keep ? 'only:' : 'except:')))]
  return names.length === 0 ? '' : `, or left out by ${names.join(' or ')}`
}

/**
 * Returns the possible reasons why a key is unknown, and for people the commands that show which one applies. Rows that may not be sent are
 * not stored, so the reason is not known.
 */
function unknownKey(
  { name, destination, suppressedBy = [] }: Pipeline,
  filterNote: string,
): { readonly reason: string; readonly hint?: string } {
  const type = destinationOf(destination.kind)
  if (!type.reachesPeople) return { reason: 'unknown key. No row that may be sent has it, and nothing was sent for it' }
  const listed = type.appliesSuppression(destination) ? ' or is on a do-not-reach list' : ''
  const lists = listed === '' ? [] : suppressedBy.map((list) => `sluice explain ${list.name} EMAIL`)
  return {
    reason: `unknown key, and nothing was sent for it. No row has it, or its row opts out${listed}${filterNote}`,
    hint: [`look for the row in the source, and compare its consent: sluice check ${name}`, ...lists].join('; '),
  }
}

/** Parts of a history that depend on the type of the destination's keys. */
interface ExplainedKeys {
  readonly find: (deps: ExplainDeps, searched: RecordSearch) => Promise<FoundRecords>
  /** True if a confirmed delete removes the whole record. False for people, because other identifiers of the person may stay. */
  readonly deletesRecord: boolean
  /** SQL of the state of each key of the records. `$1`: destination, `$2`: keys of the records. */
  readonly states: string
  /** Name of a key in messages. */
  readonly nameOf: (state: Row<'remote', 'key' | 'remote_key'>) => string
  /** Digests of the keys for an event; empty for products. */
  readonly digestsOf: (keys: readonly Buffer[]) => Pick<RecordEvent, 'digest' | 'identifiers'>
}

/** Returns one event if a do-not-reach list of the account has one of the identifiers; otherwise none. */
async function loadSuppressionEvents(db: Database, destinationId: number, identifiers: readonly Buffer[]): Promise<RecordEvent[]> {
  const lists = await db.query<Row<'destination', 'id'>>(
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

/** Returns one event per stored record: the line that it was read from, and its content. */
async function loadReadEvents(db: Database, destinationId: number, keys: readonly Buffer[], filterNote: string): Promise<RecordEvent[]> {
  const rows = await db.query<Row<'record', 'line' | 'status' | 'body' | 'identifiers' | 'hash'> & { at: Date; run_id: string | null }>(
    // The event has the start of the read, because the end may be later than `planned`. If the snapshot has expired, it has the time of the
    // oldest stored run.
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
async function loadRejectEvents(db: Database, destinationId: number, keys: readonly Buffer[]): Promise<RecordEvent[]> {
  const rows = await db.query<Row<'reject', 'run_id' | 'line' | 'code' | 'field' | 'message' | 'hint'> & { at: Date; outdated: boolean }>(
    // A run may be requested before an earlier run reads, but it starts after that run.
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

/** Returns an event for each of the last 100 operations on the records. A confirmed delete of a whole record gets a second event. */
async function loadEntryEvents(
  db: Database,
  destinationId: number,
  keys: readonly Buffer[],
  explained: ExplainedKeys & { readonly filterNote: string },
): Promise<RecordEvent[]> {
  const rows = await db.query<
    Row<'plan', 'run_id'> & {
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
       e.batch_id, e.change, ${shownOutcome} as outcome, e.code, e.message, e.expires_at, e.hash, e.keys, (${lastSender('e.batch_id')}) as sent_by
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
 * between these two are found by the bytes of the record in their bodies.
 */
async function loadAttemptEvents(db: Database, destinationId: number, keys: readonly Buffer[]): Promise<RecordEvent[]> {
  const rows = await db.query<Row<'attempt', 'started_at' | 'finished_at' | 'run_id' | 'batch_id' | 'outcome' | 'http_status' | 'reason'>>(
    `with recursive own as materialized ( -- batches that have the records
       select id, plan_id, parent_id, body from batch where id in (${batchesOfRecords('$1', '$2::bytea[]')})),
     carrier as ( -- these batches with their parents
       select id, parent_id from own
       union select parent.id, parent.parent_id from carrier c join batch parent on parent.id = c.parent_id),
     between_parts as ( -- split batches of the plan whose body has the bytes of such a record
       select part.id from own b cross join ${entriesOf('b.id')} e
         join batch part on part.plan_id = b.plan_id and part.status = 'split' and part.parent_id is not null
       where b.parent_id is not null and e.record_key = any($2)
         and position(substring(b.body from e.byte_offset + 1 for e.byte_length) in part.body) > 0)
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
async function loadStateEvents(
  db: Database,
  destinationId: number,
  keys: readonly Buffer[],
  explained: ExplainedKeys,
): Promise<RecordEvent[]> {
  const rows = await db.query<
    Row<'remote', 'key' | 'ref_count' | 'expires_at' | 'remote_key' | 'refused_code' | 'refused_message' | 'batch_id' | 'synced_hash'> & {
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
    // A key of the kind `unsure` has a `synced_hash`, because a request for it may have been applied. Without an answer it is not
    // confirmed.
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

/**
 * Returns the events `withheld`; none if no guard withheld deletes in a plan of the last read.
 * - Records and digests of the read are stored: one event for each live record whose row is missing from this read.
 * - Only records are stored: one event for each live record, because its row may be missing.
 * - No record is stored: one event if a key waits to be deleted.
 */
async function loadWithheldEvents(db: Database, destinationId: number, keys: readonly Buffer[]): Promise<RecordEvent[]> {
  const [plan] = await db.query<Row<'plan', 'created_at' | 'run_id'> & { code: string; out_of_stock: boolean }>(
    `select p.created_at, p.run_id, p.guards -> 0 ->> 'code' as code, p.guards -> 0 -> 'outOfStock' is not null as out_of_stock
     from plan p join (
       select s.id from snapshot s join run r on r.id = s.run_id
       where s.destination_id = $1 and s.status in ('closed', 'incomplete') and ${readsOwnSources('r')}
       order by s.id desc limit 1) s on s.id = p.snapshot_id
     where (p.counts ->> 'withheld')::int > 0 order by p.created_at desc limit 1`,
    [destinationId],
  )
  if (plan === undefined) return []
  const rows = await db.query<Row<'record', 'key' | 'status'>>(
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
    const waiting = await db.query(
      `select from remote
       where destination_id = $1 and (key = any($2) or group_key = any($2)) and ref_count = 0 and synced_hash is not null limit 1`,
      [destinationId, keys],
    )
    return waiting.length === 0 ? [] : [event(`${run} withheld deletes (${plan.code})`)]
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

/**
 * SQL of the state of the members' identifiers. An identifier without a row in `remote` (implied) has the state of its batch
 * (docs/decisions/implied-keys.md).
 */
const memberKeys = `
  select key, ref_count, desired_hash, synced_hash, synced_at, expires_at, remote_key, refused_code, refused_message, batch_id
  from remote where destination_id = $1 and group_key = any($2)
  union all
  select i.identifier, 1, ${plainTimes}, case when b.settled then ${plainTimes} end, null, case when b.settled then b.expires_at end,
    null, null, null, case when b.settled then b.id end
  from record r cross join ${implyingBatch('r')} b cross join lateral unnest(${rowIdentifiers('r')}) as i (identifier)
  where r.destination_id = $1 and r.key = any($2) and ${recordMayImply('r')}`

const explainedKeys: Readonly<Record<Destination['keys'], ExplainedKeys>> = {
  products: {
    find: findProduct,
    deletesRecord: true,
    states: 'select * from remote where destination_id = $1 and key = any($2)',
    nameOf: ({ remote_key }) => (remote_key === null ? 'the product' : `product_key ${remote_key}`),
    digestsOf: () => ({}),
  },
  identifiers: {
    find: findMember,
    deletesRecord: false,
    states: memberKeys,
    nameOf: ({ key }) => describeIdentifier(key),
    digestsOf,
  },
}

/** Messages by the cause that invalidated the synced content. */
const invalidations: Readonly<Record<InvalidatedKind, string>> = {
  changed: 'was listed with another content',
  notListed: 'was no longer listed',
  hidden: 'is a variant that no listing shows',
  unsure: 'may have been applied, because the answer to an attempt was lost',
}

/**
 * Explain: one record's whole story, in order: where it stood in the source, what became of it, which batch carried it,
 * what the service answered, what we hold now and until when. An email or phone is hashed at once and never kept.
 */
import type { Pipeline } from '../pipeline/definition.ts'
import { memberKeysOf, packedForms } from '../records/digestOf.ts'
import { identifierTypes } from '../records/record.ts'
import type { Database } from '../store/database.ts'
import { isListed } from '../store/listed.ts'
import { entryOutcome } from '../store/outcomes.ts'
import { ensureDestination } from '../store/runs.ts'
import { readWithdrawn, withdrawingRun, type WithdrawnKind } from '../store/withdrawn.ts'
import type { ServiceIdentity } from './engine.ts'
import { destinationIdentity } from './destinationIdentity.ts'

export interface StoryEvent {
  readonly at: string
  readonly what:
    | 'read'
    | 'rejected'
    | 'planned'
    | 'sent'
    | 'answered'
    | 'wanted'
    | 'confirmed'
    | 'withdrawn'
    | 'expires'
    | 'suppressed'
    | 'refused'
    | 'deleted'
    | 'not found'
  readonly message: string
  readonly runId?: string
  readonly line?: number
  /** What the hash is of is never shown: a digest is personal data too, so members show its first 12 digits. */
  readonly digest?: string
  readonly value?: string
  readonly planId?: string
  readonly batch?: number
  readonly change?: string
  readonly outcome?: string
  readonly httpStatus?: number
  readonly code?: string
  readonly mend?: string
  readonly expiresAt?: string
}

export interface Story {
  /** The answer in one line. */
  readonly headline: string
  readonly events: readonly StoryEvent[]
}

export async function explainKey(
  deps: { readonly db: Database; readonly service: ServiceIdentity },
  pipeline: Pipeline,
  text: string,
): Promise<Story> {
  const { id } = await ensureDestination(deps.db, destinationIdentity(deps, pipeline))
  const { keys, gone } =
    pipeline.destination.kind === 'catalog' ? { keys: [Buffer.from(text)], gone: [] } : await memberRecordKeys(deps.db, id, text)
  const heeds = pipeline.destination.kind === 'audience' && pipeline.destination.suppress !== 'none'
  const events = [
    ...(heeds ? await listEvents(deps.db, id, text) : []),
    ...gone,
    ...(await readEvents(deps.db, id, keys)),
    ...(await rejectEvents(deps.db, id, keys)),
    ...(await entryEvents(deps.db, id, keys)),
    ...(await attemptEvents(deps.db, id, keys)),
    ...(await stateEvents(deps.db, id, keys, pipeline.destination.kind === 'catalog')),
  ].toSorted((a, b) => a.at.localeCompare(b.at))
  return { headline: headlineOf(events), events }
}

interface Found {
  /** Records that tell the story. */
  readonly keys: readonly Buffer[]
  /** What became of an identifier that is nowhere any more. */
  readonly gone: readonly StoryEvent[]
}

/** The record itself by its own key, and the records under which its identifiers are, or were, sent. */
async function memberRecordKeys(db: Database, destinationId: number, text: string): Promise<Found> {
  const own = memberKeysOf(text)
  const identifiers = identifierTypes.flatMap((type) => packedForms(type, text))
  const rows = await db.query<{ key: Buffer }>(
    `select distinct group_key as key from sluice.remote
     where destination_id = $1 and key = any($2) and group_key is not null and (held > 0 or synced_hash is not null)`,
    [destinationId, identifiers],
  )
  const keys = [...own, ...rows.map(({ key }) => key)]
  if (rows.length > 0) return { keys, gone: [] }
  const known = await db.query(`select from sluice.record where destination_id = $1 and key = any($2) limit 1`, [destinationId, own])
  return known.length > 0 ? { keys, gone: [] } : formerRecordKeys(db, destinationId, { own, identifiers })
}

/**
 * An identifier that no row holds any more: what was sent of it is all that is known. Looks through every operation of the
 * destination, which only a key that is found nowhere else costs: 0.25 s for a million in memory (Postgres 18, 2 cores,
 * 2026-11-21). Those of people are kept for 30 days, so there are seldom more, and an index of every key sent would cost each push.
 */
async function formerRecordKeys(
  db: Database,
  destinationId: number,
  asked: { readonly own: readonly Buffer[]; readonly identifiers: readonly Buffer[] },
): Promise<Found> {
  const rows = await db.query<{
    record_key: Buffer
    change: string
    outcome: string
    at: Date
    run_id: string
    batch_id: string
    line: string | null
  }>(
    `select e.record_key, e.change, ${entryOutcome} as outcome, coalesce(b.settled_at, b.created_at) as at, p.run_id, e.batch_id, r.line
     from sluice.entry e join sluice.batch b on b.id = e.batch_id join sluice.plan p on p.id = b.plan_id
       left join sluice.record r on r.destination_id = e.destination_id and r.key = e.record_key
     where e.destination_id = $1 and e.keys && $2::bytea[] order by e.batch_id desc limit 20`,
    [destinationId, asked.identifiers],
  )
  const keys = [...asked.own, ...rows.map(({ record_key }) => record_key)]
  const [last] = rows
  if (last === undefined || last.change !== 'delete' || last.outcome !== 'confirmed') return { keys, gone: [] }
  const why =
    last.line === null ? 'no row that may be sent has it any more' : `its row, now line ${last.line} of the source, has other identifiers`
  return {
    keys,
    gone: [
      {
        at: last.at.toISOString(),
        what: 'deleted',
        runId: `r_${last.run_id}`,
        batch: Number(last.batch_id),
        message: `deleted at the service: ${why}`,
      },
    ],
  }
}

/** That a do-not-reach list which the audience heeds names this identifier. */
async function listEvents(db: Database, destinationId: number, text: string): Promise<StoryEvent[]> {
  const lists = await db.query<{ id: number }>(
    `select l.id from sluice.destination t
     join sluice.destination l on l.kind = 'do-not-reach' and l.service = t.service and l.account_id = t.account_id where t.id = $1`,
    [destinationId],
  )
  const rows = await db.query<{ at: Date }>(
    `select coalesce(max(r.synced_at), clock_timestamp()) as at from sluice.remote r
     where r.destination_id = any($1::int[]) and r.key = any($2) and ${isListed('$1::int[]')} having count(*) > 0`,
    [lists.map(({ id }) => id), identifierTypes.flatMap((type) => packedForms(type, text))],
  )
  return rows.map(({ at }) => ({
    at: at.toISOString(),
    what: 'suppressed',
    message: 'on a do-not-reach list of the account: it is not sent',
  }))
}

async function readEvents(db: Database, destinationId: number, keys: readonly Buffer[]): Promise<StoryEvent[]> {
  const rows = await db.query<{
    at: Date
    line: string
    status: string
    body: string | null
    identifiers: Buffer[] | null
    hash: Buffer
    run_id: string | null
  }>(
    // When it was begun to be read: a snapshot closes only after its plan was written. Of a run that is not kept any more is
    // known only that it was before all that are.
    `select coalesce(s.opened_at, (select min(created_at) from sluice.run where destination_id = $1), clock_timestamp()) as at,
       r.line, r.status, r.body, r.identifiers, r.hash, s.run_id
     from sluice.record r left join sluice.snapshot s on s.id = r.snapshot_id where r.destination_id = $1 and r.key = any($2)`,
    [destinationId, keys],
  )
  return rows.map(({ at, line, status, body, identifiers, hash, run_id }) => ({
    at: at.toISOString(),
    what: 'read',
    ...(run_id === null ? {} : { runId: `r_${run_id}` }),
    line: Number(line),
    digest: hash.toString('hex'),
    message:
      status === 'stale'
        ? `kept as it was in line ${line}: its row is now invalid`
        : status === 'missing'
          ? `gone from the source; last seen in line ${line}`
          : `line ${line} of the source${run_id === null ? ', when it last changed: by a run that is not kept any more' : ''}`,
    ...(body === null ? { value: (identifiers ?? []).map(shortIdentifier).join(', ') } : { value: body }),
  }))
}

async function rejectEvents(db: Database, destinationId: number, keys: readonly Buffer[]): Promise<StoryEvent[]> {
  const rows = await db.query<{ at: Date; run_id: string; line: string; code: string; field: string; message: string; mend: string }>(
    `select r.created_at as at, j.run_id, j.line, j.code, j.field, j.message, j.mend
     from sluice.reject j join sluice.run r on r.id = j.run_id where j.record_key = any($2) and r.destination_id = $1 order by j.run_id desc limit 50`,
    [destinationId, keys],
  )
  return rows.map(({ at, run_id, line, code, field, message, mend }) => ({
    at: at.toISOString(),
    what: 'rejected',
    runId: `r_${run_id}`,
    line: Number(line),
    code,
    mend,
    message: `line ${line} rejected: ${field}: ${message}`,
  }))
}

async function entryEvents(db: Database, destinationId: number, keys: readonly Buffer[]): Promise<StoryEvent[]> {
  const rows = await db.query<{
    at: Date
    run_id: string
    plan_id: string
    batch_id: string
    change: string
    outcome: string
    code: string | null
    message: string | null
    expires_at: Date | null
    hash: Buffer | null
  }>(
    `select p.created_at as at, p.run_id, p.id as plan_id, e.batch_id, e.change, ${entryOutcome} as outcome, e.code, e.message, e.expires_at, e.hash
     from sluice.entry e join sluice.batch b on b.id = e.batch_id join sluice.plan p on p.id = b.plan_id
     where e.destination_id = $1 and e.record_key = any($2) order by e.batch_id desc limit 100`,
    [destinationId, keys],
  )
  return rows.map((row) => ({
    at: row.at.toISOString(),
    what: 'planned',
    runId: `r_${row.run_id}`,
    planId: row.plan_id,
    batch: Number(row.batch_id),
    change: row.change,
    outcome: row.outcome,
    ...(row.code === null ? {} : { code: row.code }),
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at.toISOString() }),
    // Identifiers without times of their own are all alike, told by one byte: no digest to show.
    ...(row.hash === null || row.hash.length < 16 ? {} : { digest: row.hash.toString('hex') }),
    message: `${row.change} planned in ${row.plan_id}, ${row.outcome}${row.message === null ? '' : `: ${row.message}`}`,
  }))
}

async function attemptEvents(db: Database, destinationId: number, keys: readonly Buffer[]): Promise<StoryEvent[]> {
  const rows = await db.query<{
    started_at: Date
    finished_at: Date | null
    run_id: string
    batch_id: string
    outcome: string | null
    http_status: number | null
    reason: string | null
  }>(
    `select a.started_at, a.finished_at, a.run_id, a.batch_id, a.outcome, a.http_status, a.reason
     from sluice.attempt a
     where a.batch_id in (select batch_id from sluice.entry where destination_id = $1 and record_key = any($2)) order by a.id desc limit 100`,
    [destinationId, keys],
  )
  return rows.flatMap((row) => {
    const sent: StoryEvent = {
      at: row.started_at.toISOString(),
      what: 'sent',
      runId: `r_${row.run_id}`,
      batch: Number(row.batch_id),
      message: `sent in batch ${row.batch_id}`,
    }
    if (row.finished_at === null) return [sent]
    const answered: StoryEvent = {
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

async function stateEvents(db: Database, destinationId: number, keys: readonly Buffer[], catalog: boolean): Promise<StoryEvent[]> {
  const rows = await db.query<{
    key: Buffer
    held: number
    same: boolean
    synced: boolean
    synced_at: Date | null
    expires_at: Date | null
    remote_key: string | null
    refused_code: string | null
    refused_message: string | null
    batch_id: string | null
    synced_hash: Buffer | null
    withdrawn_at: Date | null
    now: Date
  }>(
    `select key, held, desired_hash is not distinct from synced_hash as same, synced_hash is not null as synced, synced_at, expires_at, remote_key,
       refused_code, refused_message, batch_id, synced_hash, clock_timestamp() as now,
       (select started_at from sluice.run where id = ${withdrawingRun('synced_hash')}) as withdrawn_at
     from sluice.remote where destination_id = $1 and ${catalog ? 'key' : 'group_key'} = any($2) order by key`,
    [destinationId, keys],
  )
  // Somebody who keeps one identifier and loses another is changing, not leaving.
  const leaves = rows.every((row) => row.held === 0) ? { change: 'delete' } : {}
  return rows.flatMap((row) => {
    const name = catalog ? (row.remote_key === null ? 'the product' : `product_key ${row.remote_key}`) : shortIdentifier(row.key)
    const events: StoryEvent[] = []
    if (row.synced) {
      events.push({
        at: (row.synced_at ?? row.now).toISOString(),
        what: 'confirmed',
        message: `${name} confirmed by the service`,
        ...(row.batch_id === null ? {} : { batch: Number(row.batch_id) }),
        ...(row.expires_at === null ? {} : { expiresAt: row.expires_at.toISOString() }),
      })
    }
    const withdrawn = readWithdrawn(row.synced_hash)
    if (withdrawn !== undefined) {
      events.push({
        at: (row.withdrawn_at ?? row.now).toISOString(),
        what: 'withdrawn',
        runId: `r_${withdrawn.runId}`,
        message: `${name} ${withdrawals[withdrawn.kind]}: what was confirmed counts no more`,
      })
    }
    if (row.refused_code !== null) {
      events.push({
        at: row.now.toISOString(),
        what: 'refused',
        code: row.refused_code,
        message: `${name} refused by the service: ${row.refused_message ?? ''}`,
      })
    }
    if (row.held > 0 && !row.same) events.push({ at: row.now.toISOString(), what: 'wanted', message: `${name} waits to be sent` })
    if (row.held === 0 && row.synced)
      events.push({ at: row.now.toISOString(), what: 'wanted', ...leaves, message: `${name} waits to be deleted` })
    return events
  })
}

const withdrawals: Readonly<Record<WithdrawnKind, string>> = {
  changed: 'was listed with another content',
  gone: 'was not listed any more',
  hidden: 'is a variant that no listing shows',
  unsure: 'may have taken what it refused, because the answer to an earlier sending was lost',
}

/** The kind of an identifier and the beginning of its digest. */
function shortIdentifier(packed: Buffer): string {
  const type = identifierTypes[(packed[0] ?? 1) - 1] ?? 'identifier'
  return type === 'partner_user_id' ? type : `${type} ${packed.toString('hex', 1, 7)}…`
}

function headlineOf(events: readonly StoryEvent[]): string {
  if (events.length === 0)
    return 'Not known: no row that may be sent has this key (one without consent, or on a do-not-reach list, is not kept), and nothing held is under it'
  const last = (what: StoryEvent['what']) => events.findLast((event) => event.what === what)
  const rejected = last('rejected')
  const read = last('read')
  const refused = last('refused')
  const confirmed = last('confirmed')
  const wanted = last('wanted')
  const deleted = last('deleted')
  const withdrawn = last('withdrawn')
  const suppressed = last('suppressed')
  // Who is on a list and still confirmed leaves by the next run.
  if (suppressed) return `${confirmed ? 'Live, and leaving' : 'Not live'}: ${suppressed.message}`
  if (deleted) return `Not live: ${deleted.message} (${deleted.runId ?? ''})`
  const leaving = events.find((event) => event.what === 'wanted' && event.change === 'delete')
  if (leaving) return `Leaving: ${refused ? `its delete was refused: ${refused.message}` : leaving.message}`
  if (refused) return `${withdrawn ? 'Perhaps live' : 'Not live'}: ${refused.message}`
  if (rejected && (!read || read.at < rejected.at))
    return `${confirmed ? 'Live as it was before' : 'Not live'}: ${rejected.message} (${rejected.runId ?? ''})`
  if (withdrawn) return `Not as it was confirmed: ${withdrawn.message} (${withdrawn.runId ?? ''}), and it waits to be sent`
  if (wanted) return `${confirmed ? 'Live, and changing' : 'Not live yet'}: ${wanted.message}`
  if (confirmed) return `Live: confirmed at ${confirmed.at}${confirmed.expiresAt === undefined ? '' : `, until ${confirmed.expiresAt}`}`
  return 'Not live: never confirmed, or removed: its row is gone, without consent, or on a do-not-reach list'
}

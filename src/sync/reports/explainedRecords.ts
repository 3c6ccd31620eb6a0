/** Finds the records for `sluice explain`, by a product id, a row key, or an identifier of a person. */
import type { Pipeline } from '../../model/pipeline.ts'
import { defaultCountryOf, memberKeysOf, packedForms } from '../../mapping/lookupKeys.ts'
import { trimText } from '../../mapping/text.ts'
import { identifierTypes } from '../../model/record.ts'
import type { Database } from '../../db/database.ts'
import { lastSendingRun } from '../../db/attempts.ts'
import { batchesOfKeys, entriesOf, entryOutcome } from '../../db/entries/read.ts'
import { findImpliedKeys } from '../../db/impliedKeySearch.ts'
import { hasRows } from '../../db/queryable.ts'
import type { DbRow } from '../../db/row.ts'
import { destinationOf } from '../../destinations/index.ts'
import type { ServiceIdentity } from '../engine.ts'
import type { RecordEvent } from './recordHistory.ts'

/** Database, and the service whose destinations are explained. */
export interface ExplainDeps {
  readonly db: Database
  readonly service: ServiceIdentity
}

export interface RecordSearch {
  readonly destinationId: number
  readonly text: string
  readonly pipeline: Pipeline
}

export interface FoundRecords {
  /** Possible keys of the records. Some of them may not be stored. */
  readonly keys: readonly Buffer[]
  /** Events that belong to no stored record: erasures, and the confirmed delete of an identifier that no row has now. */
  readonly extraEvents: readonly RecordEvent[]
  /** Product id, or the keys of the stored people in hex. */
  readonly names: readonly string[]
  /** Identifiers that match the text. */
  readonly identifiers: readonly Buffer[]
}

/** Returns the key of the product with this id, stored or not. Ids are stored trimmed and in NFC (`idOf`). */
export async function findProduct(_: ExplainDeps, { text }: RecordSearch): Promise<FoundRecords> {
  const id = trimText(text).normalize('NFC')
  return { keys: [Buffer.from(id)], extraEvents: [], names: [id], identifiers: [] }
}

/** Finds the records of a row key, or of an identifier as it was typed, and the erasures of the person. */
export async function findMember({ db, service }: ExplainDeps, { destinationId, text, pipeline }: RecordSearch): Promise<FoundRecords> {
  const options = { isDoNotReach: destinationOf(pipeline.destination.kind).suppresses }
  const identifiers = identifierTypes.flatMap((type) => packedForms(type, text, defaultCountryOf(pipeline), options))
  const rowKeys = memberKeysOf(text, pipeline, options)
  const erasures = await loadErasureEvents(db, service.origin, destinationId, { rowKeys, identifiers })
  const { keys, extraEvents } = await findRecordKeys(db, destinationId, { rowKeys, identifiers })
  return { keys, extraEvents: [...erasures, ...extraEvents], names: await loadStoredKeys(db, destinationId, keys), identifiers }
}

/** Returns those of the keys that have a stored record, in hex, sorted. */
async function loadStoredKeys(db: Database, destinationId: number, keys: readonly Buffer[]): Promise<readonly string[]> {
  const rows = await db.query<DbRow<'record', 'key'>>(`select key from record where destination_id = $1 and key = any($2) order by key`, [
    destinationId,
    keys,
  ])
  return rows.map(({ key }) => key.toString('hex'))
}

type FoundKeys = Pick<FoundRecords, 'keys' | 'extraEvents'>

interface SearchedKeys {
  /** Record keys that a row may have if the text is its key or one of its identifiers (`memberKeysOf`). */
  readonly rowKeys: readonly Buffer[]
  readonly identifiers: readonly Buffer[]
}

/** Finds the record with one of the row keys, and the records under which one of the identifiers is or was sent. */
async function findRecordKeys(db: Database, destinationId: number, { rowKeys, identifiers }: SearchedKeys): Promise<FoundKeys> {
  const rows = await db.query<{ key: Buffer }>(
    `select group_key as key from remote
     where destination_id = $1 and key = any($2) and group_key is not null and (ref_count > 0 or synced_hash is not null)`,
    [destinationId, identifiers],
  )
  // Identifiers without a row in `remote` (docs/decisions/implied-keys.md).
  const implied = await findImpliedKeys(db, destinationId, identifiers)
  const keys = [...rowKeys, ...rows.map(({ key }) => key), ...implied.map(({ recordKey }) => recordKey)]
  if (rows.length + implied.length > 0) return { keys, extraEvents: [] }
  const isStored = await hasRows(db, 'select from record where destination_id = $1 and key = any($2)', [destinationId, rowKeys])
  return isStored ? { keys, extraEvents: [] } : findFormerRecordKeys(db, destinationId, { rowKeys, identifiers })
}

/**
 * Finds records by the stored operations on identifiers that belong to no record now. An index on sent keys would slow down each push, so
 * this reads every operation of the destination. A million in memory take 0.25 s (Postgres 18, 2 cores, 2026-11-21). Operations on people
 * are kept for 30 days, so a destination rarely has more.
 */
async function findFormerRecordKeys(db: Database, destinationId: number, searched: SearchedKeys): Promise<FoundKeys> {
  const rows = await db.query<
    DbRow<'plan', 'run_id'> & { record_key: Buffer; change: string; outcome: string; at: Date; batch_id: string; line: string | null }
  >(
    `select e.record_key, e.change, ${entryOutcome} as outcome, least(coalesce(b.settled_at, b.created_at), statement_timestamp()) as at,
       coalesce((${lastSendingRun('e.batch_id')}), p.run_id) as run_id, e.batch_id, r.line
     from batch b cross join ${entriesOf('b.id')} e join plan p on p.id = b.plan_id
       left join record r on r.destination_id = e.destination_id and r.key = e.record_key
     where b.id in (${batchesOfKeys('$1', '$2::bytea[]')}) and e.keys && $2::bytea[] order by e.batch_id desc limit 20`,
    [destinationId, searched.identifiers],
  )
  const keys = [...searched.rowKeys, ...rows.map(({ record_key }) => record_key)]
  const [last] = rows
  if (last === undefined || last.change !== 'delete' || last.outcome !== 'confirmed') return { keys, extraEvents: [] }
  const why =
    last.line === null
      ? 'no row that may be sent has this identifier any more'
      : `its row, now line ${last.line} of the source, has other identifiers`
  return {
    keys,
    extraEvents: [
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

/** Returns an event for each erasure of one of the identifiers or row keys. */
async function loadErasureEvents(
  db: Database,
  service: string,
  destinationId: number,
  { rowKeys, identifiers }: SearchedKeys,
): Promise<RecordEvent[]> {
  const rows = await db.query<DbRow<'erasure', 'id'> & { at: Date }>(
    // An erased identifier has the destination 0, an erased row key that of its audience.
    `select e.id, e.erased_at as at from erasure e where e.id in (
       select x.erasure_id from erased_key x where x.service = $1
         and ((x.destination_id = 0 and x.key = any($3::bytea[])) or (x.destination_id = $2 and x.key = any($4::bytea[])))) order by e.id`,
    [service, destinationId, identifiers, rowKeys],
  )
  return rows.map(({ id, at }) => ({ at: at.toISOString(), what: 'suppressed', message: `erased by e_${id}: it is not sent` }))
}

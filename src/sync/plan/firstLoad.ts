/**
 * Writes the desired state of a first load of people. Their keys (identifiers) are implied: they get no row in the table `remote`, because
 * their records and batches show their state (docs/decisions/implied-keys.md). These keys get rows:
 *
 * - all keys of a do-not-reach list
 * - all keys, if a row has an `effective_at`, an `expires_at`, or an identifier that is not a digest
 * - the keys of people who share an identifier
 *
 * Apart from this, the result equals that of `desiredIdentifiers.ts`; test/integration/sync/firstLoad.test.ts compares the two.
 */
import type { Transaction } from '../../db/database.ts'
import { openStatuses } from '../../db/batches/states.ts'
import { rowIdentifiers } from '../../db/identifiers.ts'
import { recordMayImply } from '../../db/impliedKeys.ts'
import { dropImpliedKeys } from '../../db/impliedKeyIndex.ts'
import { hasRows } from '../../db/queryable.ts'
import * as records from '../../db/records.ts'
import { insertFirstIdentifiers } from '../../db/remote/referenceCounts.ts'
import { plainType } from '../../destinations/renderUserOperation.ts'
import { identifierBytes } from '../../model/record.ts'
import { comparedBytes, type IdentifierFacts } from '../read/identifierFacts.ts'
import { stagedKind } from '../read/stageTable.ts'
import { desiredTimes, type DesiredContext } from './sharedDesiredSteps.ts'
import { analyzeWithSmallSample, fillTable } from './planTables.ts'
import { refreshStatistics } from './refreshStatistics.ts'

/** Facts about a first load, for the next steps of the plan. */
export interface FirstLoad {
  /** Number of new records. With an `implyingRunId`, number of valid rows, because most records are written later. */
  readonly creates: number
  /** True if no row has an `effective_at` or `expires_at`. Then operations can be written directly from the records. */
  readonly isUntimed: boolean
  /** True if rows share identifiers. Then the table `omitted` has, for each row, its identifiers that are sent under another row. */
  readonly hasShared: boolean
  /** Id of this run if its keys are implied; otherwise undefined. It is stored in the column `load_id` of records and batches. */
  readonly implyingRunId: number | undefined
}

/** Range of record keys: `from` <= key < `before`. */
export interface KeyRange {
  readonly from?: Buffer | undefined
  readonly before?: Buffer | undefined
}

/** Returns the SQL condition that `key` (SQL of a record key) is in the range. */
export function inRange(key: string, { from, before }: KeyRange): string {
  const literal = (bytes: Buffer) => `'\\x${bytes.toString('hex')}'::bytea`
  const conditions: string[] = []
  if (from !== undefined) conditions.push(`${key} >= ${literal(from)}`)
  if (before !== undefined) conditions.push(`${key} < ${literal(before)}`)
  return conditions.length === 0 ? 'true' : conditions.join(' and ')
}

/** SQL of the identifiers that are sent under record `r`. `o`: row of the record in `omitted`, or null. */
export const sentIdentifiers = `case when o.key is null then ${rowIdentifiers('r')}
  else array(select i.identifier from unnest(${rowIdentifiers('r')}) as i (identifier)
    where i.identifier <> all (o.identifiers) order by i.identifier) end`

/** Returns true if the destination has no record, no key and no open batch. */
export async function isUntouched(tx: Transaction, destinationId: number): Promise<boolean> {
  return !(await hasRows(
    tx,
    `select from record where destination_id = $1 union all select from remote where destination_id = $1
     union all select from batch where destination_id = $1 and status in ${openStatuses}`,
    [destinationId],
  ))
}

export interface FirstLoadInput {
  /** Id of this run if the destination may have implied keys; otherwise undefined. */
  readonly implyingRunId: number | undefined
  readonly validCount: number
  /** Facts of the read about identifiers; undefined: the table `stage` (rows of the read) is searched instead. */
  readonly facts: IdentifierFacts | undefined
}

/** Writes the desired state of people. See `DesiredStateSteps.writeFirstLoad`. */
export async function writeFirstIdentifiers(context: DesiredContext, options: FirstLoadInput): Promise<FirstLoad> {
  const { tx, destinationId } = context
  const { facts, validCount } = options
  const isUntimed =
    facts?.mayHaveTimes === false || !(await hasRows(tx, 'select from stage where effective_at is not null or expires_at is not null'))
  const hasShared = await collectShared(tx, facts?.maybeSharedPrefixes)
  const canBeImplied = isUntimed && (facts?.areDigests === true || (await areAllDigests(tx)))
  const implyingRunId = canBeImplied ? options.implyingRunId : undefined
  if (implyingRunId === undefined) {
    const creates = await insertValidRecords(context)
    await insertKeys(context, hasShared)
    return { creates, isUntimed, hasShared, implyingRunId }
  }
  // Drops the search index of implied keys of an earlier load. `planPart` writes the index of this load.
  await dropImpliedKeys(tx, destinationId)
  // Records that share identifiers are inserted before the parts. So reference counts are right even if only some parts are stored.
  if (hasShared) {
    await insertRecords(context, `${validRows} and s.key in (select key from sharing_record)`)
    await insertKeys(context, hasShared)
  }
  return { creates: validCount, isUntimed, hasShared, implyingRunId }
}

/** Inserts the records of all valid rows. Returns their number. */
export async function insertValidRecords(context: DesiredContext): Promise<number> {
  return insertRecords(context, validRows)
}

const validRows = `select s.*, null::bigint as load_id from stage s where s.kind = ${stagedKind.valid}`

/** Inserts the records of the range. Leaves out those that share identifiers: `writeFirstIdentifiers` has inserted them. */
export async function insertRecordsOfRange(
  context: DesiredContext,
  { hasShared, implyingRunId }: Pick<FirstLoad, 'hasShared' | 'implyingRunId'>,
  range: KeyRange,
): Promise<void> {
  await insertRecords(
    context,
    `select s.*, ${implyingRunId}::bigint as load_id from stage s where s.kind = ${stagedKind.valid} and ${inRange('s.key', range)}
     ${hasShared ? 'and not exists (select from sharing_record h where h.key = s.key)' : ''}`,
  )
}

async function insertRecords({ tx, destinationId, snapshotId }: DesiredContext, rows: string): Promise<number> {
  const creates = await records.insertRecords(tx, { destinationId, snapshotId }, rows)
  await refreshStatistics(tx, destinationId, creates, ['record'])
  return creates
}

/** Inserts the keys that are not implied. A key of several records is sent under one of them (`group_key`). */
async function insertKeys({ tx, destinationId }: DesiredContext, hasShared: boolean): Promise<void> {
  await insertFirstIdentifiers(
    tx,
    destinationId,
    `select i.identifier as key, ${hasShared ? 'coalesce(g.row_count, 1)' : '1'} as ref_count, r.key as group_key,
       ${desiredTimes('r')} as desired_hash
     from record r cross join lateral unnest(${rowIdentifiers('r')}) as i (identifier)
       ${hasShared ? 'left join shared_identifier_group g on g.identifier = i.identifier' : ''}
     where r.destination_id = $1 and not ${recordMayImply('r')} ${hasShared ? 'and (g.identifier is null or g.group_key = r.key)' : ''}`,
  )
}

/**
 * Returns true if every identifier of the valid rows is a digest. Only a `partner_user_id` is not a digest. It is the last identifier of
 * its row.
 */
async function areAllDigests(tx: Transaction): Promise<boolean> {
  const last = 'identifiers[cardinality(identifiers)]'
  const isNotDigest = `(length(${last}) <> ${identifierBytes} or get_byte(${last}, 0) = ${plainType})`
  // If all identifiers of a row are digests, they may be stored as one text in `joined_identifiers`.
  return !(await hasRows(tx, `select from stage where kind = ${stagedKind.valid} and joined_identifiers is null and ${isNotDigest}`))
}

/**
 * Fills the tables `shared_identifier`, `shared_identifier_group`, `omitted` and `sharing_record` (`planTables`). If rows share no
 * identifier, returns false. Then the tables may not exist.
 *
 * `prefixes`: first bytes of all identifiers that may be shared. If undefined, groups all identifiers, which took Postgres 5 s for two
 * million.
 */
async function collectShared(tx: Transaction, prefixes: readonly Buffer[] | undefined): Promise<boolean> {
  if (prefixes?.length === 0) return false
  const identifiers = `stage s cross join lateral unnest(${rowIdentifiers('s')}) as i (identifier)`
  // One statement would compute the smallest record key of every identifier, and took twice as long as these two.
  const shared = await fillTable(
    tx,
    'shared_identifier',
    `select i.identifier from ${identifiers} where s.kind = ${stagedKind.valid}
       ${prefixes === undefined ? '' : `and substring(i.identifier for ${comparedBytes}) = any($1::bytea[])`}
     group by i.identifier having count(*) > 1`,
    prefixes === undefined ? [] : [prefixes],
  )
  if (shared === 0) return false
  await analyzeWithSmallSample(tx, 'shared_identifier')
  await fillTable(
    tx,
    'shared_identifier_group',
    `select i.identifier, count(*)::int, decode(min(encode(s.key, 'hex') collate "C"), 'hex')
     from ${identifiers} join shared_identifier x on x.identifier = i.identifier where s.kind = ${stagedKind.valid} group by i.identifier`,
  )
  await analyzeWithSmallSample(tx, 'shared_identifier_group')
  await fillTable(
    tx,
    'omitted',
    `select s.key, array_agg(i.identifier)
     from ${identifiers} join shared_identifier_group g on g.identifier = i.identifier and g.group_key <> s.key
     where s.kind = ${stagedKind.valid} group by s.key`,
  )
  await analyzeWithSmallSample(tx, 'omitted')
  await fillTable(
    tx,
    'sharing_record',
    `select distinct s.key from ${identifiers} join shared_identifier x on x.identifier = i.identifier where s.kind = ${stagedKind.valid}`,
  )
  await analyzeWithSmallSample(tx, 'sharing_record')
  return true
}

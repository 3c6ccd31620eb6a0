/** Creates the table `stage`, which receives the mapped rows of a run, and writes products and members to this table. */
import type { Connection } from '../../db/database.ts'
import { hash } from 'node:crypto'
import { shortHash } from '../../mapping/identifiers/keyHash.ts'
import type { MappedRecord, MemberRecord, PackedIdentifier } from '../../model/record.ts'
import type { Destination } from '../../destinations/destination.ts'
import { plainType } from '../../destinations/renderUserOperation.ts'
import { CopyWriter, type LaterCopy } from '../../db/copyBinary.ts'
import { digestTablesSql, type StagedDigests } from '../../db/digests.ts'
import { hasRows } from '../../db/queryable.ts'
import { keptTableSql } from '../../db/temporaryTables.ts'
import { isDigest, type IdentifierFactsCollector } from './identifierFacts.ts'
import type { KeyHistogram } from './keyHistogram.ts'
import type { RepeatDetector } from './repeatDetector.ts'

/**
 * Kinds of staged rows. `resolveStage.ts` changes the kind of some rows later.
 * - `valid`: a record to send.
 * - `rejected`: only the key of a rejected row, so that its record does not count as missing.
 * - `optedOut`: a member without consent, a child (by its age), or a member whose row takes it off a do-not-reach list. Later also a
 *   member whom another row opts out.
 * - `suppressed`: given later to a valid row that must not be sent, such as the row of an erased person.
 * - `unsentOptOuts`: only the identifiers that a filtered or rejected row opts out, under a key that no record has.
 */
export const stagedKind = { valid: 0, rejected: 1, optedOut: 2, suppressed: 3, unsentOptOuts: 4 } as const

// `place`: number of rows of the same line before this row; null for the first one.
const columns = `key bytea not null, hash bytea not null, kind int2 not null, line int8 not null, place int4, source int2 not null,
  body text, identifiers bytea[], joined_identifiers bytea, without_consent bytea[], both_forms bytea[], effective_at timestamptz, expires_at timestamptz,
  digest bytea, feature_set int2 not null`

/** Creates the tables of a read, or deletes their rows: `stage`, `opted_out`, and those of the digests. */
export async function createStage(tx: Connection): Promise<void> {
  const tables = [keptTableSql('stage', columns), keptTableSql('opted_out', 'identifier bytea primary key'), digestTablesSql]
  await tx.query(tables.join('; '))
}

/**
 * Analyzes the columns of the table `stage` that are joined or grouped, unless they were analyzed while the table had rows. All columns
 * would take five times as long.
 */
export async function analyzeStage(tx: Connection): Promise<void> {
  // An earlier run on this connection may have analyzed the table without rows: then it has 0 in `reltuples`.
  // Join and group columns need only coarse statistics: 3,000 sampled rows instead of 30,000.
  if (await hasRows(tx, `select from pg_class where oid = 'stage'::regclass and reltuples <= 0`))
    await tx.query('set default_statistics_target = 10; analyze stage (key, kind); reset default_statistics_target')
}

/**
 * Number of partitions of the table `stage` in a large first load of members. The first bits of the key select the partition. A key is a
 * digest, so all partitions have about the same number of rows. In a load of a million rows, the plan processes one partition per step
 * (plan/loadParts.ts). COPY buffers rows for at most 32 partitions.
 */
export const stagePartitions = 32

/**
 * Replaces the table `stage` by a table with the same rows that is partitioned by key. Each part of a first load (plan/loadParts.ts) then
 * reads only the partitions of its keys. So the 14 parts of a load read its million rows twice in total, instead of 14 times. Each time
 * took 0.15 s.
 */
export async function partitionStage(tx: Connection): Promise<void> {
  const bound = (i: number) => `'\\x${(i * (256 / stagePartitions)).toString(16).padStart(2, '0')}'`
  const parts = Array.from({ length: stagePartitions }, (_, i) => {
    const from = i === 0 ? 'minvalue' : bound(i)
    const to = i === stagePartitions - 1 ? 'maxvalue' : bound(i + 1)
    return `create temp table stage_${i} partition of partitioned_stage for values from (${from}) to (${to});`
  })
  await tx.query(`
    create temp table partitioned_stage (${columns}) partition by range (key);
    ${parts.join('\n')}
    -- Samples 300 rows of each partition, and 3,000 of the whole table, as of the unpartitioned table.
    alter table partitioned_stage alter key set statistics 1, alter kind set statistics 1;
    alter table only partitioned_stage alter key set statistics 10, alter kind set statistics 10;
    insert into partitioned_stage select * from stage;
    drop table stage;
    alter table partitioned_stage rename to stage`)
}

/** Counts, keys and digests of the rows that all sources of a run have staged so far. */
export interface StageTally {
  /** Rows staged as valid. */
  valid: number
  /** Member rows staged as `optedOut`. */
  optedOut: number
  /** Valid rows that opt out some of their identifiers. */
  partlyOptedOut: number
  /** Filtered and rejected rows that opt out identifiers. */
  unsentOptOuts: number
  /** Rows with both forms of an identifier. */
  withBothForms: number
  /** Line of the last staged row, and number of earlier rows on this line. */
  lastLine: number
  placeInLine: number
  /** Keys of all staged rows. */
  readonly keys: RepeatDetector
  /** Facts about the identifiers of all staged members; undefined if `StageContext.last` is given. */
  readonly identifiers: IdentifierFactsCollector | undefined
  /** Digests of valid rows; undefined for a gated read. */
  readonly digests: StagedDigests | undefined
  /** Numbers of valid members by the prefix of their key; undefined for products. */
  readonly keyHistogram: KeyHistogram | undefined
}

export interface StageOptions {
  /** Number of the source, from 0. */
  readonly source: number
  readonly tally: StageTally
  /** Statements that must end before the COPY begins; undefined if there are none. */
  readonly later?: LaterCopy | undefined
}

const noHash = Buffer.alloc(16)
/** Columns that every staged row has. */
const commonColumns = ['key', 'hash', 'kind', 'line', 'place', 'source', 'digest', 'feature_set']

/** Writes rows to the table `stage`. A subclass for each type of record writes the columns that only this type has. */
export abstract class StageWriter {
  abstract readonly recordKind: MappedRecord['kind']
  readonly copy: CopyWriter
  protected readonly tally: StageTally
  readonly #source: number
  readonly #ownColumnCount: number

  /** `ownColumns`: columns that only the subclass writes. */
  constructor(tx: Connection, { source, tally, later }: StageOptions, ownColumns: readonly string[]) {
    this.copy = new CopyWriter(tx.client, `stage (${[...commonColumns, ...ownColumns].join(', ')})`, later)
    this.tally = tally
    this.#source = source
    this.#ownColumnCount = ownColumns.length
  }

  /**
   * Stages a record. `digest`: digest of the raw record, if it has one. `featureSet`: number of the row's feature set
   * (mapping/statistics/featureSets.ts).
   */
  abstract add(record: MappedRecord, digest: Uint8Array | undefined, featureSet: number): void

  /** Stages the key of a rejected row, so that its record does not count as missing. */
  addRejectedKey(key: Uint8Array, line: number): void {
    this.beginRow(key, noHash, stagedKind.rejected, line, undefined, 0)
    for (let i = 0; i < this.#ownColumnCount; i++) this.copy.null()
  }

  /** Stages the identifiers that a filtered or rejected row opts out. Does nothing for products. */
  addOptOuts(_optedOut: readonly PackedIdentifier[], _line: number): void {}

  /** Begins a row with the common columns; the caller must write the others. Adds the key, and the digest of a valid row, to the tally. */
  protected beginRow(
    key: Uint8Array,
    rowHash: Uint8Array,
    kind: number,
    line: number,
    digest: Uint8Array | undefined,
    featureSet: number,
  ): void {
    const { copy, tally } = this
    tally.keys.add(key)
    if (digest !== undefined && kind === stagedKind.valid) tally.digests?.add(digest, featureSet, key)
    tally.placeInLine = line === tally.lastLine ? tally.placeInLine + 1 : 0
    tally.lastLine = line
    copy.row(commonColumns.length + this.#ownColumnCount)
    copy.bytes(key)
    copy.bytes(rowHash)
    copy.int2(kind)
    copy.int8(line)
    if (tally.placeInLine === 0) copy.null()
    else copy.int4(tally.placeInLine)
    copy.int2(this.#source)
    copy.bytes(digest)
    copy.int2(featureSet)
  }
}

class ProductWriter extends StageWriter {
  static readonly keysAreDigests = false
  override readonly recordKind = 'product'

  constructor(tx: Connection, options: StageOptions) {
    super(tx, options, ['body'])
  }

  override add(record: MappedRecord, digest: Uint8Array | undefined, featureSet: number): void {
    if (record.kind !== 'product') throw new Error('a catalog has only products')
    this.tally.valid++
    this.beginRow(record.key, contentHash(record.json), stagedKind.valid, record.line, digest, featureSet)
    this.copy.text(record.json)
  }
}

class MemberWriter extends StageWriter {
  /** The key of a member is 16 bytes of a SHA-256. */
  static readonly keysAreDigests = true
  override readonly recordKind = 'member'
  readonly #hash = Buffer.alloc(16)

  constructor(tx: Connection, options: StageOptions) {
    super(tx, options, ['identifiers', 'joined_identifiers', 'without_consent', 'both_forms', 'effective_at', 'expires_at'])
  }

  override add(record: MappedRecord, digest: Uint8Array | undefined, featureSet: number): void {
    if (record.kind !== 'member') throw new Error('an audience has only members')
    memberHash(record, this.#hash)
    if (record.desired) {
      this.tally.valid++
      this.tally.keyHistogram?.add(record.key)
    } else this.tally.optedOut++
    if (record.withoutConsent !== undefined) this.tally.partlyOptedOut++
    if (record.bothForms !== undefined) this.tally.withBothForms++
    this.tally.identifiers?.add(record.identifiers, record.effectiveAtMs !== undefined || record.expiresAtMs !== undefined)
    // The identifiers that a row opts out affect other rows, so every read must map such a row. Therefore it gets no digest.
    const storedDigest = record.withoutConsent === undefined ? digest : undefined
    this.beginRow(record.key, this.#hash, record.desired ? stagedKind.valid : stagedKind.optedOut, record.line, storedDigest, featureSet)
    const { copy } = this
    this.#addIdentifiers(record.identifiers)
    copy.byteaArray(record.withoutConsent)
    copy.byteaArray(record.bothForms)
    copy.timestamp(record.effectiveAtMs)
    copy.timestamp(record.expiresAtMs)
  }

  override addOptOuts(optedOut: readonly PackedIdentifier[], line: number): void {
    this.tally.unsentOptOuts++
    this.beginRow(keyOfOptOuts(optedOut), noHash, stagedKind.unsentOptOuts, line, undefined, 0)
    this.#addIdentifiers(optedOut)
    // `without_consent`, `both_forms`, `effective_at` and `expires_at`
    for (let i = 0; i < 4; i++) this.copy.null()
  }

  /** Writes the two columns of identifiers (`db/identifiers.ts`). */
  #addIdentifiers(identifiers: readonly PackedIdentifier[]): void {
    const { copy } = this
    if (identifiers.every(isDigest)) {
      copy.null()
      copy.joined(identifiers)
    } else {
      copy.byteaArray(identifiers)
      copy.null()
    }
  }
}

/** Returns a key that no row has. Its hashed bytes start with `opt-outs` and a NUL byte, unlike the hashed bytes of any row. */
function keyOfOptOuts(identifiers: readonly PackedIdentifier[]): Buffer {
  return hash('sha256', Buffer.concat([Buffer.from('opt-outs\0'), ...identifiers]), 'buffer').subarray(0, 16)
}

/** Writers of the table `stage`, by the type of the destination's keys. `keysAreDigests`: true if the keys of records are digests. */
export const stageWriters = { products: ProductWriter, identifiers: MemberWriter } satisfies Record<Destination['keys'], unknown>

/** Returns the first 16 bytes of the SHA-256 of a product in canonical JSON. */
export function contentHash(json: string): Buffer {
  return shortHash(json)
}

/**
 * Writes a hash of a member's identifiers and times to `out`, 16 bytes. Takes 16 bytes of the SHA-256 of each identifier, rotates them by
 * the type of the identifier, and combines them by XOR. Only a `partner_user_id` is hashed here; other identifiers are digests already.
 * This takes 0.15 µs per row with two identifiers; a hash of all bytes takes 1.5 µs.
 */
function memberHash(record: MemberRecord, out: Buffer): void {
  out.fill(0)
  for (const identifier of record.identifiers) {
    const type = identifier[0] ?? 0
    const digest = type === plainType ? hash('sha256', identifier, 'buffer') : identifier
    const from = type === plainType ? 0 : 1
    for (let i = 0; i < 16; i++) {
      const at = (i + type * 2) & 15
      out[at] = (out[at] ?? 0) ^ (digest[from + i] ?? 0)
    }
    out[0] = (out[0] ?? 0) ^ (type * 37)
  }
  if (record.effectiveAtMs !== undefined || record.expiresAtMs !== undefined) {
    const times = hash('sha256', `${record.effectiveAtMs ?? ''}/${record.expiresAtMs ?? ''}`, 'buffer')
    for (let i = 0; i < 16; i++) out[i] = (out[i] ?? 0) ^ (times[i] ?? 0)
  }
}

/**
 * Stage: rows of the sources, mapped, into a temporary table by COPY. Memory is that of one group of rows, whatever the
 * feed's size; the rows' raw text ends here.
 */
import type pg from 'pg'
import { hash } from 'node:crypto'
import { RunError } from '../errors.ts'
import type { SourceFacts } from '../formats/rows.ts'
import type { Pipeline, SourceDefinition } from '../pipeline/definition.ts'
import { createMapper } from '../records/createMapper.ts'
import type { MappedRecord, MemberRecord, RecordMapper, Reject, Row } from '../records/record.ts'
import { openSource, type OpenedSource } from '../sources/openSource.ts'
import { CopyWriter } from '../store/copyBinary.ts'
import type { EngineDeps } from './engine.ts'
import type { DigestGate } from './recordGate.ts'
import { keepMemoryFlat } from '../flatMemory.ts'
import { RejectWriter } from './rejectWriter.ts'
import { RepeatWatch } from './repeatWatch.ts'
import { watchMapper } from './sourceQuality.ts'
import { WarningCounter } from './warningCounter.ts'
import type { WarningSummary } from './report.ts'

/** What a staged row is. A row without consent, or that asks to leave a list, is `leaving`. */
export const stagedKind = { valid: 0, rejected: 1, leaving: 2, suppressed: 3 } as const

export interface Staged {
  readonly read: number
  /** Rows rejected by the mapper; conflicts between rows are found later, in SQL. */
  readonly rejected: number
  /** Rows staged as valid and as leaving. */
  readonly valid: number
  readonly leaving: number
  /** False: every key was staged once. */
  readonly mayRepeat: boolean
  readonly facts: readonly SourceFacts[]
  readonly warnings: readonly WarningSummary[]
  readonly columns: readonly string[]
}

export async function createStage(client: pg.PoolClient): Promise<void> {
  await client.query(`
    create temp table stage (
      key bytea not null, hash bytea not null, kind int2 not null, line int8 not null, source int2 not null,
      body text, identifiers bytea[], effective_at timestamptz, expires_at timestamptz, digest bytea
    )`)
  // What is joined and grouped by needs no more: 3,000 rows are looked at rather than 30,000.
  await client.query('alter table stage alter key set statistics 10, alter kind set statistics 10')
}

/**
 * Reads every source to its end into `stage`. Throws what a source throws (unreadable, damaged, wrong header); the
 * rejects written until then stay, as the reason.
 */
export async function stageSources(
  deps: EngineDeps,
  pipeline: Pipeline,
  options: {
    readonly client: pg.PoolClient
    readonly runId: number
    readonly startedAtMs: number
    readonly previous: readonly SourceFacts[]
    readonly opened: ReadonlyMap<number, OpenedSource>
    readonly gate?: DigestGate
  },
): Promise<Staged> {
  keepMemoryFlat()
  const mapper = watchMapper(createMapper(pipeline))
  const warnings = new WarningCounter()
  const rejects = new RejectWriter(deps.db, options.runId)
  const facts: SourceFacts[] = []
  const notes: WarningSummary[] = []
  let columns: readonly string[] = []
  let read = 0
  let rejected = 0
  const tally: StageTally = { valid: 0, leaving: 0, keys: new RepeatWatch() }

  for (const [index, definition] of pipeline.sources.entries()) {
    const source = options.opened.get(index) ?? (await openWhole(deps, definition, options.previous[index], options.gate))
    const writer =
      pipeline.destination.kind === 'catalog'
        ? new ProductStage(options.client, index, tally)
        : new MemberStage(options.client, index, tally)
    const skipped = skippedBy(options.gate)
    let started: readonly string[] | undefined
    try {
      for await (const rows of source.rows) {
        if (deps.signal?.aborted) throw interrupted()
        for (const row of rows) {
          if (started === undefined) {
            started = row.columns
            if (columns.length === 0) columns = row.columns
            for (const warning of mapper.start(row.columns)) warnings.add(warning)
          }
          read++
          const reject = stageRow(mapper, row, writer, warnings, options)
          if (reject) {
            rejected++
            if (reject.key) writer.present(reject.key, row.line)
            rejects.add(reject, index, mapper.mask(row))
          }
        }
        if (writer.copy.full) await writer.copy.flush()
        if (rejects.full) await rejects.flush()
        deps.onProgress?.({ stage: 'read', done: read, rejected })
      }
      await writer.copy.end()
      const ended = source.facts()
      // A file of a header and nothing else still has to have the right one.
      if (started === undefined && ended.columns.length > 0) {
        if (columns.length === 0) columns = ended.columns
        for (const warning of mapper.start(ended.columns)) warnings.add(warning)
      }
      const verdict = mapper.finish(ended, options.previous[index], skippedBy(options.gate) - skipped)
      notes.push(...verdict.warnings)
      facts.push({ ...ended, quality: verdict.figures })
    } catch (error) {
      writer.copy.abort()
      throw error
    } finally {
      await source.close()
      await rejects.flush()
    }
  }
  const { valid, leaving, keys } = tally
  return { read, rejected, valid, leaving, mayRepeat: keys.possible, facts, warnings: [...notes, ...warnings.summaries()], columns }
}

/** Rows that the gate knew and kept from being parsed. */
function skippedBy(gate: DigestGate | undefined): number {
  return gate === undefined ? 0 : gate.unchanged + gate.repeated
}

/** Opens a source that has to be read whatever the server thinks of it: no conditional request. */
async function openWhole(
  deps: EngineDeps,
  definition: SourceDefinition,
  last: SourceFacts | undefined,
  gate: DigestGate | undefined,
): Promise<OpenedSource> {
  const { etag: _, lastModified: __, ...previous } = last ?? ({} as Partial<SourceFacts>)
  return openSource(definition, {
    env: deps.env,
    log: deps.log,
    ...(deps.signal ? { signal: deps.signal } : {}),
    ...(gate ? { gate } : {}),
    // All but the two conditional headers: nothing required is left out.
    ...(last ? { previous: previous as SourceFacts } : {}),
  })
}

export function interrupted(): RunError {
  return new RunError('RUN_INTERRUPTED', 'stopped by a signal; what was confirmed is kept', { mend: 'run the same command again to go on' })
}

function stageRow(
  mapper: RecordMapper,
  row: Row,
  writer: StageWriter,
  warnings: WarningCounter,
  options: { readonly startedAtMs: number; readonly gate?: DigestGate },
): Reject | undefined {
  const digest = options.gate?.digestOf(row.line)
  const { record, reject, warnings: found } = mapper.map(row)
  for (const warning of found) warnings.add(warning)
  if (reject) return reject
  if (!record) throw new Error('a mapper returns a record or a reject')
  if (record.kind === 'member' && record.expiresAtMs !== undefined && record.expiresAtMs <= options.startedAtMs) {
    return {
      line: row.line,
      code: 'EXPIRES_AT_INVALID',
      field: 'expires_at',
      message: 'the membership has ended already',
      mend: 'give a later expires_at, or leave the row out',
      key: record.key,
    }
  }
  writer.add(record, digest)
  return undefined
}

/** Over all sources of a run. */
interface StageTally {
  valid: number
  leaving: number
  readonly keys: RepeatWatch
}

interface StageWriter {
  readonly copy: CopyWriter
  readonly add: (record: MappedRecord, digest: Uint8Array | undefined) => void
  /** The key stood in a row that was rejected: not gone. */
  readonly present: (key: Uint8Array, line: number) => void
}

const noHash = Buffer.alloc(16)

class ProductStage implements StageWriter {
  readonly copy: CopyWriter
  readonly #source: number
  readonly #tally: StageTally

  constructor(client: pg.PoolClient, source: number, tally: StageTally) {
    this.copy = new CopyWriter(client, 'stage (key, hash, kind, line, source, digest, body)')
    this.#source = source
    this.#tally = tally
  }

  add(record: MappedRecord, digest: Uint8Array | undefined): void {
    if (record.kind !== 'product') throw new Error('a catalog takes products')
    this.#tally.valid++
    this.#row(record.key, contentHash(record.json), stagedKind.valid, record.line, digest)
    this.copy.text(record.json)
  }

  present(key: Uint8Array, line: number): void {
    this.#row(key, noHash, stagedKind.rejected, line, undefined)
    this.copy.null()
  }

  #row(key: Uint8Array, content: Uint8Array, kind: number, line: number, digest: Uint8Array | undefined): void {
    const { copy } = this
    this.#tally.keys.add(key)
    copy.row(7)
    copy.bytes(key)
    copy.bytes(content)
    copy.int2(kind)
    copy.int8(line)
    copy.int2(this.#source)
    if (digest) copy.bytes(digest)
    else copy.null()
  }
}

class MemberStage implements StageWriter {
  readonly copy: CopyWriter
  readonly #source: number
  readonly #tally: StageTally
  readonly #hash = Buffer.alloc(16)

  constructor(client: pg.PoolClient, source: number, tally: StageTally) {
    this.copy = new CopyWriter(client, 'stage (key, hash, kind, line, source, digest, identifiers, effective_at, expires_at)')
    this.#source = source
    this.#tally = tally
  }

  add(record: MappedRecord, digest: Uint8Array | undefined): void {
    if (record.kind !== 'member') throw new Error('an audience takes members')
    memberHash(record, this.#hash)
    if (record.wanted) this.#tally.valid++
    else this.#tally.leaving++
    this.#row(record.key, this.#hash, record.wanted ? stagedKind.valid : stagedKind.leaving, record.line, digest)
    const { copy } = this
    copy.byteaArray(record.identifiers)
    if (record.effectiveAtMs === undefined) copy.null()
    else copy.timestamp(record.effectiveAtMs)
    if (record.expiresAtMs === undefined) copy.null()
    else copy.timestamp(record.expiresAtMs)
  }

  present(key: Uint8Array, line: number): void {
    this.#row(key, noHash, stagedKind.rejected, line, undefined)
    this.copy.null()
    this.copy.null()
    this.copy.null()
  }

  #row(key: Uint8Array, content: Uint8Array, kind: number, line: number, digest: Uint8Array | undefined): void {
    const { copy } = this
    this.#tally.keys.add(key)
    copy.row(9)
    copy.bytes(key)
    copy.bytes(content)
    copy.int2(kind)
    copy.int8(line)
    copy.int2(this.#source)
    if (digest) copy.bytes(digest)
    else copy.null()
  }
}

/** 16 bytes of SHA-256: two products with the same hash are the same thing to send. */
export function contentHash(json: string): Buffer {
  return hash('sha256', json, 'buffer').subarray(0, 16)
}

/**
 * 16 bytes over a member's set of identifiers and its explicit times, written into `out`. The identifiers are SHA-256
 * digests already, so folding them together by XOR, each turned by its type, is as good as hashing them again and costs
 * a tenth (0.15 against 1.5 µs a row with two identifiers); the one plain kind is hashed first.
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

/** Type byte of `partner_user_id`, the one identifier that is not a digest. */
const plainType = 6

/** Loads stored runs as reports, and the rejects of runs. */
import { UsageError } from '../../errors.ts'
import { countAttempts } from '../../db/attempts.ts'
import type { Database } from '../../db/database.ts'
import type { Fault } from '../../model/record.ts'
import { decodeCells, decodeFaults } from '../../db/rejects.ts'
import {
  decodeColumns,
  decodeCounts,
  decodeError,
  decodeGuards,
  decodeProductSets,
  decodeStages,
  decodeWarnings,
  type StageTime,
} from '../../db/runs/columns.ts'
import { keptDaysOf } from '../../db/runRetention.ts'
import { readsOwnSources } from '../../db/runs/request.ts'
import type { DbRow, Value } from '../../db/row.ts'
import { loadFailures, planCounts } from './planCounts.ts'
import { onlyPlans, type RunReport, type RunStatus, type ShownRun, type ShownTrigger, type StoredRunStatus } from '../../model/report.ts'

export interface StoredRun extends ShownRun {
  readonly stages: readonly StageTime[]
  /** Columns of the first row. `columnsBySource` (`rejectsCsv.ts`) returns the columns of each source. */
  readonly columns: readonly string[]
  readonly rerunOf: string | null
  readonly scheduledFor: string | null
  /** Address of the service that the run writes to. Null if the run has no stored destination. */
  readonly service: string | null
  /** Application and user that the destination belongs to (docs/decisions/fence.md). Null if it belongs to none yet. */
  readonly credentials: string | null
}

/** Rejected row. `code`, `field`, `message` and `hint` are of its first fault. */
export interface StoredReject extends Fault {
  readonly line: number
  /** Number of the source, from 0. */
  readonly source: number
  /** Further faults of the row. */
  readonly more: readonly Fault[]
  /**
   * Cells in the order of the source's columns, masked if personal. Empty 7 days after the run, after an erasure of the person, and for some
   * contradicting rows (`read/conflictCells.ts`).
   */
  readonly cells: readonly string[]
  /** Key of the record, in hex; null if the row had no valid key, or its person is erased. */
  readonly key: string | null
}

/** Columns of a run that reports and lines of runs show. */
export type ShownColumn =
  | 'id'
  | 'pipeline'
  | 'status'
  | 'counts'
  | 'guards'
  | 'error'
  | 'plan_id'
  | 'created_at'
  | 'started_at'
  | 'finished_at'
  | 'product_sets'

type StoredRunRow = DbRow<'run', ShownColumn | 'warnings' | 'stages' | 'columns' | 'rerun_of' | 'scheduled_for'> & {
  readonly service: string | null
  readonly credentials: string | null
  readonly trigger: ShownTrigger
  readonly now: Date
  readonly from_standard_input: boolean | null
  /** Run that read the rejected rows: the one that read the snapshot, or this run. */
  readonly reading_run: Value<'run', 'id'>
  readonly reject_codes: readonly { code: string; count: number }[] | null
}

/** SQL of the `ShownTrigger` of run `r`. */
export const shownTrigger = `case when r.options ? 'audit' then 'audit' else r.trigger end`

/**
 * SQL of runs `r`, each with the snapshot `s` of its rejects. `s` is null for a run without rejects. `rerun --failed` is such a run,
 * although it has the snapshot of an earlier run.
 */
const runsWithRejects = `run r left join snapshot s on s.id = r.snapshot_id and (r.counts ->> 'rejected')::int > 0`

const selectRuns = `
  select r.id, r.pipeline, ${shownTrigger} as trigger, r.status, r.counts, r.guards, r.warnings, r.stages, r.columns, r.error, r.plan_id,
    r.rerun_of, r.scheduled_for, r.created_at, r.started_at, r.finished_at, r.product_sets, d.service, d.credentials,
    r.options ->> 'source' = '-' as from_standard_input, statement_timestamp() as now, coalesce(s.run_id, r.id) as reading_run
  from ${runsWithRejects} left join destination d on d.id = r.destination_id`

/**
 * Loads runs with a statement that begins with `selectRuns`, and adds the numbers of rejected rows by code. A second statement counts these
 * once for each snapshot. Counting them for each run of a long list took seconds.
 */
async function loadRuns(db: Database, sql: string, values: unknown[]): Promise<readonly StoredRunRow[]> {
  const rows = await db.query<Omit<StoredRunRow, 'reject_codes'>>(sql, values)
  const readingRuns = [...new Set(rows.map((row) => row.reading_run))]
  const codes = readingRuns.length === 0 ? [] : await countCodes(db, readingRuns)
  const byRun = new Map(codes.map((line) => [line.run_id, line.codes]))
  return rows.map((row) => ({ ...row, reject_codes: byRun.get(row.reading_run) ?? null }))
}

/** Counts rejected rows by code. A row with several faults counts for each of their codes. */
function countCodes(db: Database, runs: readonly string[]) {
  return db.query<DbRow<'reject', 'run_id'> & { codes: NonNullable<StoredRunRow['reject_codes']> }>(
    `select x.run_id, jsonb_agg(jsonb_build_object('code', x.code, 'count', x.n) order by x.n desc, x.code) as codes from (
       select f.run_id, f.code, count(*) as n from (
         select j.run_id, j.code from reject j where j.run_id = any($1::bigint[])
         union all
         select j.run_id, m.code from reject j cross join lateral (
           select distinct e ->> 'code' as code from jsonb_array_elements(j.more) e where e ->> 'code' <> j.code) m
         where j.run_id = any($1::bigint[]) and j.more <> '[]') f
       group by f.run_id, f.code) x
     group by x.run_id`,
    [runs],
  )
}

/** Loads the report of one run by its number. @throws {UsageError} `UNKNOWN_RUN` */
export async function loadReport(db: Database, runId: number): Promise<RunReport> {
  const [row] = await loadRuns(db, `${selectRuns} where r.id = $1`, [runId])
  if (!row) throw await unknownOrExpiredRun(db, `r_${runId}`)
  const report = await withFailures(db, toShownRun(row))
  return { ...report, status: publicStatus(report.status), finishedAt: report.finishedAt ?? row.now.toISOString() }
}

/** Returns the status for a report: `skipped` for a queued or running run, because another process executes it. */
function publicStatus(status: StoredRunStatus): RunStatus {
  return status === 'queued' || status === 'running' ? 'skipped' : status
}

/** Loads one run by its id (`r_81` or `81`). @throws {UsageError} `UNKNOWN_RUN` */
export async function loadRun(db: Database, runId: string): Promise<StoredRun> {
  const [row] = await loadRuns(db, `${selectRuns} where r.id = $1`, [runNumber(runId)])
  if (!row) throw await unknownOrExpiredRun(db, runId)
  const run = toStoredRun(row)
  // The row of a running run has only the planned counts.
  if (row.status !== 'running' || row.plan_id === null || onlyPlans(row.trigger)) return withFailures(db, run)
  const requests = await countAttempts(db, Number(row.id))
  return { ...run, counts: { ...run.counts, ...(await planCounts(db, row.plan_id)), requests } }
}

/**
 * Returns the id of the last ended run that read the sources of the pipeline after this run did, and could send. Undefined if there is
 * none, or if this run read other sources.
 */
export async function newerReading(db: Database, runId: number): Promise<string | undefined> {
  const [newer] = await db.query<DbRow<'run', 'id'>>(
    `select n.id from run r join run n on n.destination_id = r.destination_id and n.pipeline = r.pipeline and n.id > r.id
     where r.id = $1 and ${readsOwnSources('r')} and ${readsOwnSources('n')} and n.trigger in ('manual', 'schedule', 'rerun')
       and n.options ->> 'failedOnly' is distinct from 'true' and n.status in ('succeeded', 'partial', 'withheld')
     order by n.id desc limit 1`,
    [runId],
  )
  return newer && `r_${newer.id}`
}

/** Adds the failures of its plan to a run that may send and has unconfirmed operations. Returns other runs unchanged. */
async function withFailures<Run extends ShownRun>(db: Database, run: Run): Promise<Run> {
  const { refused, ambiguous, pending } = run.counts
  if (run.planId === undefined || onlyPlans(run.trigger) || refused + ambiguous + pending === 0) return run
  const failures = await loadFailures(db, run.planId)
  return failures.length === 0 ? run : { ...run, failures }
}

/** Lists at most `limit` runs, newest first: of `pipelines`, or of all. */
export async function listRuns(
  db: Database,
  options: { readonly pipelines?: readonly string[]; readonly limit: number },
): Promise<readonly StoredRun[]> {
  const rows = await loadRuns(db, `${selectRuns} where $1::text[] is null or r.pipeline = any($1) order by r.id desc limit $2`, [
    options.pipelines ?? null,
    options.limit,
  ])
  return rows.map(toStoredRun)
}

/** Run in a list from which the user chooses. */
export interface RunChoice {
  readonly id: string
  readonly pipeline: string
  readonly status: StoredRunStatus
  readonly planId: string | null
}

/** Lists the newest runs, without their counts. */
export function newestRuns(db: Database, limit: number): Promise<readonly RunChoice[]> {
  return db.query<RunChoice>(`select 'r_' || id as id, pipeline, status, plan_id as "planId" from run order by run.id desc limit $1`, [
    limit,
  ])
}

/**
 * Yields the rows that a run rejected, by source and line. An apply, and a run over an unchanged source, have the rejects of the run that
 * read the snapshot.
 *
 * @throws {UsageError} `UNKNOWN_RUN`
 */
export async function* loadRejects(db: Database, runId: string): AsyncGenerator<StoredReject> {
  const run = await readingRunNumber(db, runId)
  for (let source = await nextSource(db, run, -1); source !== null; source = await nextSource(db, run, source))
    yield* rejectsOfSource(db, run, source)
}

/** Returns the number of the first source after `source` with a reject of the run; null if there is none. */
async function nextSource(db: Database, run: number, source: number): Promise<number | null> {
  const [row] = await db.query<{ next: number | null }>('select min(source) as next from reject where run_id = $1 and source > $2', [
    run,
    source,
  ])
  return row?.next ?? null
}

/** Yields the rejects of one source by line. Each page is one range of the index on run and source. */
async function* rejectsOfSource(db: Database, run: number, source: number): AsyncGenerator<StoredReject> {
  let after = { line: -1, row: '(0,0)' }
  for (;;) {
    const rows = await db.query<
      DbRow<'reject', 'line' | 'source' | 'code' | 'field' | 'message' | 'hint' | 'cells' | 'more'> & { key: string | null; row: string }
    >(
      `select line, source, code, field, message, hint, cells, more, encode(record_key, 'hex') as key, ctid::text as row from reject
       where run_id = $1 and source = $2 and (line, ctid) > ($3::int8, $4::tid) order by line, ctid limit 5000`,
      [run, source, after.line, after.row],
    )
    for (const { row: _, line, cells, more, ...reject } of rows) {
      const place = `of run ${run}, line ${line}`
      yield { ...reject, line: Number(line), cells: decodeCells(cells, place), more: decodeFaults(more, place) }
    }
    const last = rows.at(-1)
    if (!last) return
    after = { line: Number(last.line), row: last.row }
  }
}

/**
 * Returns the number of the run with the rejects of this run: the run that read its snapshot, or itself.
 *
 * @throws {UsageError} `UNKNOWN_RUN`
 */
export async function readingRunNumber(db: Database, runId: string): Promise<number> {
  const [row] = await db.query<DbRow<'run', 'id'>>(`select coalesce(s.run_id, r.id) as id from ${runsWithRejects} where r.id = $1`, [
    runNumber(runId),
  ])
  if (!row) throw await unknownOrExpiredRun(db, runId)
  return Number(row.id)
}

/** Returns 81 for `r_81` and `81`. @throws {UsageError} `UNKNOWN_RUN` */
export function runNumber(runId: string): number {
  const [, digits] = /^(?:r_)?(\d{1,15})$/.exec(runId) ?? []
  if (digits === undefined) throw unknownRun(runId)
  return Number(digits)
}

/** Returns the error `UNKNOWN_RUN`. If the run has expired, the message has the retention time. */
async function unknownOrExpiredRun(db: Database, runId: string): Promise<UsageError> {
  const days = await keptDaysOf(db, runNumber(runId))
  if (days === undefined) return unknownRun(runId)
  return new UsageError('UNKNOWN_RUN', `run ${runId} has expired: runs are kept for ${days} days`, {
    where: runId,
    hint: 'sluice runs',
  })
}

function unknownRun(runId: string): UsageError {
  return new UsageError('UNKNOWN_RUN', `there is no run "${runId}"`, { where: runId, hint: 'sluice runs' })
}

function toShownRun(row: StoredRunRow): ShownRun {
  const startedAt = row.started_at ?? row.created_at
  const { settled, drift, ...counts } = decodeCounts(row.counts, row.id)
  const productSets = decodeProductSets(row.product_sets, row.id)
  const error = decodeError(row.error, row.id)
  return {
    runId: `r_${row.id}`,
    pipeline: row.pipeline,
    trigger: row.trigger,
    ...(row.from_standard_input ? { fromStandardInput: true } : {}),
    status: row.status,
    counts,
    guards: decodeGuards(row.guards, row.id),
    startedAt: startedAt.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
    durationMs: Math.max(0, (row.finished_at ?? row.now).getTime() - startedAt.getTime()),
    ...(row.plan_id === null ? {} : { planId: row.plan_id }),
    ...(settled === undefined ? {} : { settled }),
    ...(drift === undefined ? {} : { drift }),
    ...(productSets === null ? {} : { productSets }),
    rejectCodes: row.reject_codes ?? [],
    warnings: decodeWarnings(row.warnings, row.id),
    ...(error === null ? {} : { error }),
  }
}

function toStoredRun(row: StoredRunRow): StoredRun {
  return {
    ...toShownRun(row),
    stages: decodeStages(row.stages, row.id),
    columns: decodeColumns(row.columns, row.id),
    rerunOf: row.rerun_of === null ? null : `r_${row.rerun_of}`,
    scheduledFor: row.scheduled_for === null ? null : row.scheduled_for.toISOString(),
    service: row.service,
    credentials: row.credentials,
  }
}

export async function pipelinesWithRuns(db: Database): Promise<readonly string[]> {
  const rows = await db.query<DbRow<'run', 'pipeline'>>('select distinct pipeline from run order by pipeline')
  return rows.map(({ pipeline }) => pipeline)
}

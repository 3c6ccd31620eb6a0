import { SluiceError } from '../../../errors.ts'
import type { SourceFacts } from '../../../formats/rows.ts'
import type { Pipeline, SourceDefinition } from '../../../model/pipeline.ts'
import { openSource, type OpenedSource } from '../../../sources/openSource.ts'
import { guardResultsOfWarnings } from '../../../sync/plan/qualityGuard.ts'
import type { Reject } from '../../../model/record.ts'
import type { WarningSummary } from '../../../model/report.ts'
import { sourceNames } from '../../../sync/read/readRecords.ts'
import { guardResultOfRejects } from '../../../sync/plan/reasonsToWithhold.ts'
import type { Context } from '../../context.ts'
import { presentError, type PresentedError } from '../../terminal/present.ts'
import { waiting } from '../../terminal/waiting.ts'
import type { SourceCheck } from '../../reports/check.ts'
import { destinationOf } from '../../../destinations/index.ts'
import { isTable } from '../../../formats/openFormat.ts'
import { detectedWords } from '../../reports/detected.ts'
import { faultsOf, groupRejects } from '../../reports/rejects.ts'
import { shownAddress } from '../../../shownAddress.ts'
import { RelatedRows } from './relatedRows.ts'
import { RowTally } from './rowTally.ts'

type Hold = SourceCheck['holds'][number]

/**
 * Maps up to `limit` rows of each source, and resolves repeated keys and opted-out identifiers in all of them. For a source that was read to
 * its end, also reports whether the end is proven. If all sources were read to their ends, also applies the guard for rejects to all rows
 * together, as a run does. An error of a source is a part of its result; any other error is thrown.
 */
export async function checkSources(context: Context, pipeline: Pipeline, limit: number): Promise<readonly SourceCheck[]> {
  const related = new RelatedRows(sourceNames(pipeline))
  const readings: SourceReading[] = []
  for (const [source, definition] of pipeline.sources.entries()) {
    const tally = new RowTally(pipeline, source, related, new Date(context.clock.now()))
    readings.push(await waiting(context, 'reading the source', () => readSource(context, definition, tally, limit)))
  }
  // A key or an identifier may be in several sources.
  const { keyField, removesBy } = destinationOf(pipeline.destination.kind)
  const outcomes = related.resolve({ keyField, removesBy, winner: pipeline.duplicates === 'last' ? 'last' : 'first' })
  for (const [source, outcome] of outcomes.entries()) readings[source]?.tally.addRelated(outcome)
  const checks = readings.map((reading) => sourceCheck(pipeline, reading))
  const rejects = readings.flatMap(({ tally }) => tally.outcomes().rejects)
  const hold = checks.every(({ whole }) => whole) ? rejectsHold(pipeline, checks, rejects) : undefined
  if (hold === undefined) return checks
  // The guard is about all sources, and is shown with the source that has the most rejects.
  const worst = checks.reduce((most, check) => (check.rejected > most.rejected ? check : most))
  return checks.map((check) => (check === worst ? { ...check, holds: [hold, ...check.holds] } : check))
}

/** Returns the result of the guard for rejects on all sources together; undefined if a run would continue. */
function rejectsHold({ guards, name }: Pipeline, checks: readonly SourceCheck[], rejects: readonly Reject[]): Hold | undefined {
  const codes = groupRejects(rejects)
  const readCount = checks.reduce((sum, { rows }) => sum + rows, 0)
  const filtered = checks.reduce((sum, check) => sum + (check.filtered ?? 0), 0)
  const tooMany = guardResultOfRejects({ guards, read: readCount, rejected: rejects.length, filtered, pipeline: name, codes })
  // The hint of the most frequent reject helps more than the guard's own hint.
  return tooMany && { code: tooMany.code, message: tooMany.message, hint: codes[0]?.hint ?? tooMany.hint }
}

/** Rows of one source that were read and mapped. */
interface SourceReading {
  readonly definition: SourceDefinition
  readonly tally: RowTally
  readonly detected: readonly string[]
  readonly whole: boolean
  readonly error: PresentedError | undefined
}

/** Maps up to `limit` rows of one source. */
async function readSource(context: Context, definition: SourceDefinition, tally: RowTally, limit: number): Promise<SourceReading> {
  const config = context.config()
  let detected: readonly string[] = []
  let whole = false
  let error: PresentedError | undefined
  try {
    const source = await openSource(definition, { env: config.env, log: context.log(), signal: context.signal })
    try {
      if (source.detected) {
        detected = detectedWords(source.detected)
        tally.begin({ isTable: isTable(source.detected.format) })
      }
      whole = await readRows(source, tally, limit)
      if (whole) {
        const facts = source.facts()
        tally.finish(facts)
        detected = [...detected, ...endFacts(facts, detected)]
      }
    } finally {
      await source.close()
    }
  } catch (cause) {
    if (!(cause instanceof SluiceError)) throw cause
    error = presentError(cause, config.secrets)
  }
  return { definition, tally, detected, whole, error }
}

/** Returns the result of one source, after the rows of all sources are resolved. */
function sourceCheck(pipeline: Pipeline, { definition, tally, detected, whole, error }: SourceReading): SourceCheck {
  const { mapping, rejects, filtered, warnings, ...outcomes } = tally.outcomes()
  const summaries = warnings.map(({ line, ...warning }) => ({ ...warning, count: 1, lines: [line] }))
  return {
    uri: shownAddress(definition.uri),
    detected,
    ...outcomes,
    ...(mapping === undefined ? {} : { mapping }),
    ...(pipeline.filters.length === 0 ? {} : { filtered }),
    holds: guardResultsOfWarnings(pipeline, onePerCodeAndField(summaries)).map(({ code, message, hint }) => ({ code, message, hint })),
    whole,
    warnings,
    rejected: rejects.length,
    rejects: rejects.flatMap(faultsOf),
    ...(error ? { error } : {}),
  }
}

/** Adds up to `limit` rows to `tally`. Returns true if the source has no more. */
async function readRows(source: OpenedSource, tally: RowTally, limit: number): Promise<boolean> {
  for await (const batch of source.rows) {
    for (const [at, row] of batch.entries()) {
      if (tally.rows === limit) return false
      tally.add(row, batch[at + 1])
    }
  }
  return true
}

/** Returns the facts that are known only at the end of a source: further notes, and whether the end is proven. */
function endFacts({ notes = [], completeness }: SourceFacts, detected: readonly string[]): readonly string[] {
  return [
    ...notes.filter((note) => !detected.includes(note)),
    completeness.complete ? `complete read: ${completeness.proof}` : `end not proven: ${completeness.reason ?? ''}`,
  ]
}

/** Keeps only the last warning of each code and field, because a guard result is shown once for each. */
function onePerCodeAndField(warnings: readonly WarningSummary[]): readonly WarningSummary[] {
  return [...new Map(warnings.map((warning) => [`${warning.code} ${warning.field}`, warning] as const)).values()]
}

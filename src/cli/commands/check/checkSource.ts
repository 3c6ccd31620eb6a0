import { SluiceError } from '../../../errors.ts'
import type { SourceFacts } from '../../../formats/rows.ts'
import type { Pipeline, SourceDefinition } from '../../../model/pipeline.ts'
import { openSource, type OpenedSource } from '../../../sources/openSource.ts'
import { guardNotes } from '../../../sync/plan/qualityGuard.ts'
import type { GuardResult, WarningSummary } from '../../../model/report.ts'
import type { Context } from '../../context.ts'
import { presentError, type PresentedError } from '../../terminal/present.ts'
import type { SourceCheck } from '../../reports/check.ts'
import { isTable } from '../../../formats/openFormat.ts'
import { detectedWords } from '../../reports/detected.ts'
import { faultsOf } from '../../reports/rejects.ts'
import { shownAddress } from '../../../shownAddress.ts'
import { RowTally } from './rowTally.ts'

/**
 * Maps up to `limit` rows. If the source has no more rows, also checks the proof of its end and the guard for rejects. An error of the
 * source is a part of the result; any other error is thrown.
 */
export async function checkSource(context: Context, pipeline: Pipeline, definition: SourceDefinition, limit: number): Promise<SourceCheck> {
  const config = context.config()
  const tally = new RowTally(pipeline, definition, new Date(context.clock.now()))
  let detected: readonly string[] = []
  let whole = false
  let error: PresentedError | undefined
  let holds: readonly GuardResult[] = []
  try {
    const source = await openSource(definition, { env: config.env, log: context.log(), signal: context.signal })
    try {
      if (source.detected) {
        detected = detectedWords(source.detected)
        tally.isTable = isTable(source.detected.format)
      }
      whole = await readRows(source, tally, limit)
      tally.resolveRepeats()
      if (whole) {
        const facts = source.facts()
        holds = tally.finish(facts)
        detected = [...detected, ...wordsOfEnd(facts, detected)]
      }
    } finally {
      await source.close()
    }
  } catch (cause) {
    if (!(cause instanceof SluiceError)) throw cause
    error = presentError(cause, config.secrets)
  }
  const { columns, mapping, rows, valid, suppressed, filtered, records, rejects, duplicates } = tally
  const warnings = tally.allWarnings()
  const summaries = warnings.map(({ line, ...warning }) => ({ ...warning, count: 1, lines: [line] }))
  return {
    uri: shownAddress(definition.uri),
    detected,
    columns,
    ...(mapping === undefined ? {} : { mapping }),
    rows,
    valid,
    suppressed,
    ...(pipeline.filters.length === 0 ? {} : { filtered }),
    holds: [...holds, ...guardNotes(pipeline, onePerCodeAndField(summaries))].map(({ code, message, hint }) => ({ code, message, hint })),
    whole,
    records,
    warnings,
    rejected: rejects.length,
    duplicates,
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

/** Returns what is known only at the end of a source: further notes, and the proof of the end. */
function wordsOfEnd({ notes = [], completeness }: SourceFacts, detected: readonly string[]): readonly string[] {
  return [
    ...notes.filter((note) => !detected.includes(note)),
    completeness.complete ? `complete read: ${completeness.proof}` : `end not proven: ${completeness.reason ?? ''}`,
  ]
}

/** Keeps the last warning of each code and field, because a guard is reported once for each. */
function onePerCodeAndField(warnings: readonly WarningSummary[]): readonly WarningSummary[] {
  return [...new Map(warnings.map((warning) => [`${warning.code} ${warning.field}`, warning] as const)).values()]
}

/** Computes the guard results of warnings that stop a run until the operator has reviewed them (docs/inputs.md, outcome H). */
import type { Guards, Pipeline } from '../../model/pipeline.ts'
import { withholdingCodes } from '../../mapping/statistics/qualityCodes.ts'
import { guardEffectOf, type GuardResult, type WarningSummary } from '../../model/report.ts'

/**
 * Returns the guard results for the warnings that stop the run; empty if the run may continue. `warnings`: warnings of a read, or of the
 * changes that a plan finds. `isIncomplete`: true if the end of the source is not proven. Then the hint for changed ids or people also
 * requests a proof.
 */
export function notesThatStop(
  pipeline: Pick<Pipeline, 'guards' | 'name'>,
  warnings: readonly WarningSummary[],
  { isIncomplete = false }: { readonly isIncomplete?: boolean } = {},
): GuardResult[] {
  const stopping = warnings.filter((warning) => stopsRun(pipeline.guards, warning))
  // Warnings with equal hints become one guard result, because one setting resolves all of them.
  const byHint = Map.groupBy(
    stopping.filter(({ hint }) => hint !== undefined),
    ({ hint }) => hint,
  )
  const withOwnHint = [...byHint.values()].map((notes): GuardResult => {
    const [first] = notes
    const messages = new Set(notes.map(({ message }) => message))
    return {
      code: `GUARD_${first?.code}`,
      message: [...messages].join('; '),
      hint: `write in pipeline ${pipeline.name}: ${first?.hint}`,
      withheld: 0,
      examples: firstLines(notes),
    }
  })
  const withHintByCode = stopping
    .filter(({ hint }) => hint === undefined)
    .map((note) => ({
      code: `GUARD_${note.code}`,
      message: note.message,
      hint: `${corrections[note.code] ?? 'check the source'}; if it is right, ${acceptance(note, pipeline.name, isIncomplete)}`,
      withheld: 0,
      examples: firstLines([note]),
    }))
  return [...withOwnHint, ...withHintByCode]
}

/** Returns the first five lines of the warnings. A warning on the whole source has line 0, or none. */
function firstLines(notes: readonly WarningSummary[]): string[] {
  return notes
    .flatMap(({ lines }) => lines.filter((line) => line > 0))
    .slice(0, 5)
    .map((line) => `line ${line}`)
}

/** Returns the second part of the hint, which applies if the source is right. */
function acceptance({ code, count }: WarningSummary, pipeline: string, isIncomplete: boolean): string {
  // For changed ids or people, `guards.accept` is not enough. It would send the new ones, but another guard would withhold the deletes of
  // the old ones. A catalog would then have every product twice.
  if (guardEffectOf({ code: `GUARD_${code}` }).approvable)
    return `${isIncomplete ? 'set source.complete to a proof of its end and ' : ''}sluice run ${pipeline} --approve-deletes ${count}`
  return `set guards: { accept: [${code}] } in the pipeline and sluice run ${pipeline}`
}

/** First part of the hint, by code of the warning; for other codes it is `check the source`. */
const corrections: Readonly<Record<string, string>> = {
  EXPIRY_UNKNOWN: 'correct the column of expires_at',
  FILTER_UNKNOWN: 'correct the column under only: or except:',
  PAUSE_ELSEWHERE: 'ask who paused it',
  IDS_CHANGED: 'set map: { id: … } to the column of the earlier ids',
  OPT_OUTS_FELL: 'compare the values of the consent column with those in the pipeline',
  OPT_OUTS_UNREAD: 'run again when the file is complete',
  PEOPLE_CHANGED: 'check that it is the right file, and the tests of consent:',
  LINKS_DOUBTFUL: 'check the links of the source',
  PRICES_DOUBTFUL: 'check the prices and currencies of the source',
  ENCODING_DOUBTFUL: 'set source: { encoding: … } to the encoding of the file (sluice init detects it)',
}

/** Returns true if the warning stops the run. `guards.accept`, then `guards.hold`, override the default of its code. */
function stopsRun(guards: Guards, { code }: WarningSummary): boolean {
  if (guards.accept?.includes(code) === true) return false
  if (guards.hold?.includes(code) === true) return true
  return withholdingCodes.includes(code)
}

/** Thrown if a guard stops the run; rolls back the transaction of a plan. Adds to each message that nothing of this read was sent. */
export class RunWithheld extends Error {
  readonly results: readonly GuardResult[]
  constructor(results: readonly GuardResult[]) {
    super('the run is withheld')
    this.results = results.map((result) => ({ ...result, message: `${result.message}: nothing of this read was sent` }))
  }
}

/** Minimum number of stored or confirmed records for a check of a percentage of them (docs/decisions/wrong-data.md). */
export const minForPercentages = 100

/** Turns warnings that stop a run (docs/inputs.md, outcome H) into guard results. */
import type { Guards, Pipeline } from '../../model/pipeline.ts'
import { correctionOf, withholdsByDefault } from '../../mapping/statistics/qualityCodes.ts'
import { guardEffectOf, type GuardResult, type WarningSummary } from '../../model/report.ts'

/**
 * Returns the guard results for the warnings that stop the run; empty if the run may continue. `isIncomplete`: the end of the source is not
 * proven. Then the hint for changed ids or people also requests a proof. `backfillCommand`: as in `GuardFacts`.
 */
export function guardResultsOfWarnings(
  pipeline: Pick<Pipeline, 'guards' | 'name'>,
  warnings: readonly WarningSummary[],
  { isIncomplete = false, backfillCommand }: { readonly isIncomplete?: boolean; readonly backfillCommand?: string | undefined } = {},
): GuardResult[] {
  const repeating = backfillCommand ?? `sluice run ${pipeline.name}`
  const stopping = warnings.filter((warning) => stopsRun(pipeline.guards, warning))
  // Warnings with equal hints become one result, because one setting resolves them all.
  const byHint = Map.groupBy(
    stopping.filter(({ hint }) => hint !== undefined),
    ({ hint }) => hint,
  )
  const withOwnHint = [...byHint.values()].map((warningsOfHint): GuardResult => {
    const [firstWarning] = warningsOfHint
    const messages = new Set(warningsOfHint.map(({ message }) => message))
    return {
      code: `GUARD_${firstWarning?.code}`,
      message: [...messages].join('; '),
      hint: `write in pipeline ${pipeline.name}: ${firstWarning?.hint}`,
      withheld: 0,
      examples: firstLines(warningsOfHint),
    }
  })
  const withHintByCode = stopping
    .filter(({ hint }) => hint === undefined)
    .map((warning) => ({
      code: `GUARD_${warning.code}`,
      message: warning.message,
      hint: `${correctionOf(warning.code)}; if it is right, ${acceptHint(warning, repeating, isIncomplete)}`,
      withheld: 0,
      examples: firstLines([warning]),
    }))
  return [...withOwnHint, ...withHintByCode]
}

/** Returns the first five lines of the warnings. A warning on the whole source has line 0, or none. */
function firstLines(warnings: readonly WarningSummary[]): string[] {
  return warnings
    .flatMap(({ lines }) => lines.filter((line) => line > 0))
    .slice(0, 5)
    .map((line) => `line ${line}`)
}

/** Returns how to accept the warning. `repeating`: command that repeats the run. */
function acceptHint({ code, count }: WarningSummary, repeating: string, isIncomplete: boolean): string {
  // For changed ids or people, `guards.accept` is not enough: another guard would withhold the deletes of the old ones. Then a catalog
  // would have every product twice.
  if (guardEffectOf({ code: `GUARD_${code}` }).approvable)
    return `${isIncomplete ? 'set source.complete to a proof of its end and ' : ''}${repeating} --approve-deletes ${count}`
  return `set guards: { accept: [${code}] } in the pipeline and ${repeating}`
}

/** Returns true if the warning stops the run: `guards.accept` comes first, then `guards.hold`, then the default of the code. */
function stopsRun(guards: Guards, { code }: WarningSummary): boolean {
  if (guards.accept?.includes(code) === true) return false
  if (guards.hold?.includes(code) === true) return true
  return withholdsByDefault(code)
}

/** Error that stops a run because of guard results. Thrown in a plan, it rolls back the transaction. */
export class RunWithheld extends Error {
  readonly results: readonly GuardResult[]
  constructor(results: readonly GuardResult[]) {
    super('the run is withheld')
    this.results = results.map((result) => ({ ...result, message: `${result.message}: nothing of this read was sent` }))
  }
}

/** Minimum number of records for a check of a percentage (docs/decisions/wrong-data.md). */
export const minForPercentages = 100

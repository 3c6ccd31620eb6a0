/** The brake on deletes and the other guards (guarantees I8, I9): pure, so that every edge is a row of a table. */
import type { Guards } from '../../model/pipeline.ts'
import type { GuardResult } from '../../model/report.ts'

export interface GuardFacts {
  readonly pipeline: string
  readonly guards: Guards
  /** Valid rows now, and in the last closed snapshot that no guard held anything of (undefined: there was none). */
  readonly valid: number
  readonly previousValid: number | undefined
  /** Records that a do-not-reach list takes away with this reading: erasures are no fall (I9). */
  readonly erased: number
  readonly read: number
  readonly rejected: number
  /** Delete operations that the diff asks for, those of suppressed people not counted. */
  readonly deletes: number
  /** Of these, those that a plan before was allowed, and could not get confirmed. */
  readonly cleared: number
  /** Of those not cleared: people whose row stays, and who lose identifiers only. */
  readonly replaced: number
  readonly noun: 'people' | 'products'
  /** Records or products confirmed at the service; all of them, or `enoughConfirmed`. */
  readonly confirmed: number
  /** Why the end of the source is not proven; undefined when it is. */
  readonly incomplete: string | undefined
  /** Standard input without `complete:` is among the sources: its end proves nothing by itself. */
  readonly fromPipe: boolean
  /** Ceiling given by a person for this run. */
  readonly approveDeletes: number | undefined
  /** Lists whose removals never come from absence have no use for a minimum of rows. */
  readonly absenceDeletes: boolean
  readonly examples: readonly string[]
}

/** So many confirmed that `fresh` deletes of them are below `maxDeletePercent` for certain; undefined: no number is enough. */
export function enoughConfirmed(fresh: number, maxDeletePercent: number): number | undefined {
  // One more: the percentage itself is a floating number.
  return maxDeletePercent === 0 ? undefined : Math.floor((fresh * 100) / maxDeletePercent) + 1
}

/** Above `max_reject_percent` the run stops before anything is planned. `run`: whose rejects there are to look at. */
export function guardRejects(
  facts: Pick<GuardFacts, 'guards' | 'read' | 'rejected' | 'pipeline'> & {
    readonly run?: string
    /** Rejected rows by code, the most frequent first. */
    readonly codes?: readonly { readonly code: string; readonly count: number }[]
  },
): GuardResult | undefined {
  const percent = facts.read === 0 ? 0 : (facts.rejected / facts.read) * 100
  if (percent <= facts.guards.maxRejectPercent) return undefined
  const codes = (facts.codes ?? []).slice(0, 3).map(({ code, count }) => `${code} ${group(count)}`)
  return {
    code: 'GUARD_REJECTS',
    message: `${group(facts.rejected)} of ${group(facts.read)} rows were rejected (${percent.toFixed(1)} %), above ${facts.guards.maxRejectPercent} %${codes.length === 0 ? '' : `, for ${codes.join(', ')}`}: nothing was sent`,
    hint: facts.run === undefined ? `sluice check ${facts.pipeline}` : `sluice rejects ${facts.run}`,
    withheld: 0,
    examples: [],
  }
}

/**
 * Verdicts that withhold deletes; empty when they may go. A number of approved deletes lifts the limits on count,
 * percent and fall, never `min_rows` and never an unproven end. Deletes that were cleared before are measured again by
 * those two alone: by the others, `withheld` counts what is new.
 */
export function guardDeletes(facts: GuardFacts): GuardResult[] {
  const verdicts: GuardResult[] = []
  const fresh = facts.deletes - facts.cleared
  const held = (code: string, message: string, hint: string, withheld: number) =>
    verdicts.push({ code, message, hint, withheld, examples: facts.examples })

  if (facts.absenceDeletes && facts.valid < facts.guards.minRows) {
    held(
      'GUARD_MIN_ROWS',
      `${group(facts.valid)} valid rows, fewer than min_rows ${group(facts.guards.minRows)}: nothing is deleted`,
      `look at the source; if it is right, set guards.min_rows in the pipeline and sluice check ${facts.pipeline}`,
      facts.deletes,
    )
  }
  // A pipe that nobody gave a proof never has one: with nothing to delete the note on its end has to do. A file has one.
  if (facts.incomplete !== undefined && (facts.deletes > 0 || !facts.fromPipe)) {
    held(
      'GUARD_INCOMPLETE',
      `the end of the source is not proven (${facts.incomplete}): nothing is deleted`,
      facts.fromPipe
        ? `end the input with a line #rows=N (N: its rows), set source.complete: { trailer: "#rows={n}" } in the pipeline, and send it once more`
        : `sluice run ${facts.pipeline}   (once the source is whole; should it always end like this, source.complete says what proves its end)`,
      facts.deletes,
    )
  }
  if (verdicts.length > 0) return verdicts

  const approved = facts.approveDeletes !== undefined && fresh <= facts.approveDeletes
  if (approved || fresh === 0) return verdicts
  const approve = `sluice run ${facts.pipeline} --approve-deletes ${fresh}`
  const { maxDeleteCount, maxDeletePercent } = facts.guards
  const percentOf = (count: number) => (facts.confirmed === 0 ? 100 : (count / facts.confirmed) * 100)
  const overBoth = (count: number) => count > maxDeleteCount && percentOf(count) > maxDeletePercent
  const share = (count: number) => `${group(count)} of ${group(facts.confirmed)} synced ${facts.noun}`
  const limits = (count: number) =>
    `(${percentOf(count).toFixed(1)} %), over both limits (${group(maxDeleteCount)} ${facts.noun} and ${maxDeletePercent} %)`
  const leaving = fresh - facts.replaced
  if (overBoth(leaving)) held('GUARD_DELETES', `${share(leaving)} would be deleted ${limits(leaving)}`, approve, fresh)
  if (overBoth(facts.replaced)) {
    held(
      'GUARD_IDENTIFIERS',
      `${share(facts.replaced)} would lose identifiers that their rows no longer have ${limits(facts.replaced)}; the rows are still in the source`,
      approve,
      fresh,
    )
  }
  if (
    facts.absenceDeletes &&
    facts.previousValid !== undefined &&
    facts.previousValid >= 20 &&
    facts.valid + facts.erased < facts.previousValid / 2
  ) {
    held(
      'GUARD_ROWS_FELL',
      `valid rows fell from ${group(facts.previousValid)} to ${group(facts.valid)}, by more than half`,
      approve,
      fresh,
    )
  }
  return verdicts
}

function group(count: number): string {
  return count.toLocaleString('en-US')
}

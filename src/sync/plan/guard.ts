/**
 * Computes the guard results for deletes and rejects (docs/guarantees.md#mass-delete-guard). Pure, so that every limit can be
 * tested with a table of cases.
 */
import type { Guards } from '../../model/pipeline.ts'
import type { GuardResult } from '../../model/report.ts'
import type { FallenSource } from '../read/snapshot.ts'

export interface GuardFacts {
  readonly pipeline: string
  readonly guards: Guards
  /**
   * Valid rows of this read; `previousValid`: of the last complete snapshot without withheld deletes, undefined if there is none.
   */
  readonly valid: number
  readonly previousValid: number | undefined
  /** Sources with far fewer rows than in that snapshot. */
  readonly fallen: readonly FallenSource[]
  /** Records that a do-not-reach list removes in this plan. They do not count as a fall of the rows. */
  readonly suppressed: number
  readonly read: number
  readonly rejected: number
  /** Deletes of the diff, without those of suppressed people. */
  readonly deletes: number
  /** Number of these deletes that an earlier plan was allowed to send and that are not confirmed yet. */
  readonly cleared: number
  /** Number of the other deletes whose row is still in the source and only loses identifiers. */
  readonly replaced: number
  readonly noun: 'people' | 'products'
  /** Number of confirmed records or products. Counted only up to `enoughConfirmed`. */
  readonly confirmed: number
  /** Reason why the end of the source is not proven; undefined if it is. */
  readonly incomplete: string | undefined
  /** True if a source is standard input without `complete:`, whose end proves nothing. */
  readonly fromPipe: boolean
  /** Maximum of approved deletes for this run. */
  readonly approveDeletes: number | undefined
  /** True if missing rows may be deleted. False for a backfill, and if no source was read; then `min_rows` does not apply. */
  readonly deletesMissing: boolean
  readonly examples: readonly string[]
}

/** Returns the number of confirmed records above which `fresh` deletes are certainly below `maxDeletePercent`; undefined if there is none. */
export function enoughConfirmed(fresh: number, maxDeletePercent: number): number | undefined {
  // One more, because the percentage is a floating-point number.
  return maxDeletePercent === 0 ? undefined : Math.floor((fresh * 100) / maxDeletePercent) + 1
}

/** Stops the run before planning if rejects exceed `max_reject_percent`. `run`: the run whose rejects the hint shows. */
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
 * Returns the guard results that withhold deletes; empty if deletes may be sent. An approval overrides the limits on count, percent
 * and fall, but never `min_rows` or an unproven end. Only these two also withhold deletes that an earlier plan cleared; for the
 * other guards, `withheld` counts only new deletes.
 */
export function guardDeletes(facts: GuardFacts): GuardResult[] {
  const results: GuardResult[] = []
  const fresh = facts.deletes - facts.cleared
  const withhold = (code: string, message: string, hint: string, withheld: number) =>
    results.push({ code, message, hint, withheld, examples: facts.examples })

  if (facts.deletesMissing && facts.valid < facts.guards.minRows) {
    withhold(
      'GUARD_MIN_ROWS',
      `${group(facts.valid)} valid rows, fewer than min_rows ${group(facts.guards.minRows)}: nothing is deleted`,
      `check the source; if it is right, set guards.min_rows in the pipeline and sluice check ${facts.pipeline}`,
      facts.deletes,
    )
  }
  // A pipe without `complete:` never has a proven end, so without deletes only the warning is shown. For any other source the guard
  // result is shown even without deletes.
  if (facts.incomplete !== undefined && (facts.deletes > 0 || !facts.fromPipe)) {
    withhold(
      'GUARD_INCOMPLETE',
      `the end of the source is not proven (${facts.incomplete}): nothing is deleted`,
      facts.fromPipe
        ? `end the input with a line #rows=N (N: its rows), set source.complete: { trailer: "#rows={n}" } in the pipeline, and send it once more`
        : `sluice run ${facts.pipeline}   (once the source is complete; if it always ends like this, set source.complete to a proof of its end)`,
      facts.deletes,
    )
  }
  if (results.length > 0) return results

  const approved = facts.approveDeletes !== undefined && fresh <= facts.approveDeletes
  if (approved || fresh === 0) return results
  const approve = `sluice run ${facts.pipeline} --approve-deletes ${fresh}`
  const { maxDeleteCount, maxDeletePercent } = facts.guards
  const percentOf = (count: number) => (facts.confirmed === 0 ? 100 : (count / facts.confirmed) * 100)
  const overBoth = (count: number) => count > maxDeleteCount && percentOf(count) > maxDeletePercent
  const share = (count: number) => `${group(count)} of ${group(facts.confirmed)} synced ${facts.noun}`
  const limits = (count: number) =>
    `(${percentOf(count).toFixed(1)} %), over both limits (${group(maxDeleteCount)} ${facts.noun} and ${maxDeletePercent} %)`
  const deleted = fresh - facts.replaced
  if (overBoth(deleted)) withhold('GUARD_DELETES', `${share(deleted)} would be deleted ${limits(deleted)}`, approve, fresh)
  if (overBoth(facts.replaced)) {
    withhold(
      'GUARD_IDENTIFIERS',
      `${share(facts.replaced)} would lose identifiers that their rows no longer have ${limits(facts.replaced)}; the rows are still in the source`,
      approve,
      fresh,
    )
  }
  if (
    facts.deletesMissing &&
    facts.previousValid !== undefined &&
    facts.previousValid >= 20 &&
    facts.valid + facts.suppressed < facts.previousValid / 2
  ) {
    withhold(
      'GUARD_ROWS_FELL',
      `valid rows fell from ${group(facts.previousValid)} to ${group(facts.valid)}, by more than half`,
      approve,
      fresh,
    )
  }
  for (const { uri, before, now } of facts.deletesMissing ? facts.fallen : [])
    withhold('GUARD_ROWS_FELL', `rows of ${uri} fell from ${group(before)} to ${group(now)}`, approve, fresh)
  return results
}

function group(count: number): string {
  return count.toLocaleString('en-US')
}

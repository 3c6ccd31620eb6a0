/** Computes the guard results for deletes and rejects (docs/guarantees.md#mass-delete-guard). */
import { count, plural } from '../../format.ts'
import type { Guards } from '../../model/pipeline.ts'
import { minComparedRows, type GuardResult } from '../../model/report.ts'
import type { FallenSource, LostIds } from '../read/fallenRows.ts'

export interface GuardFacts {
  readonly pipeline: string
  readonly guards: Guards
  /** Number of valid rows of this read. */
  readonly valid: number
  /** Number of valid rows of the earlier read with which this one is compared; undefined if there is none. */
  readonly previousValid: number | undefined
  /** Sources with far fewer rows than in that earlier read. */
  readonly fallenSources: readonly FallenSource[]
  /** Rows without a readable id, if there are more than in that earlier read. */
  readonly lostIds: LostIds | undefined
  /** Number of records that this plan removes as suppressed. For `GUARD_ROWS_FELL` they count as valid rows. */
  readonly suppressed: number
  readonly read: number
  readonly rejected: number
  /**
   * Number of pending deletes, plus missing products to set out of stock. Leaves out deletes of suppressed people. After an incomplete
   * read, missing records count too, except with `missing: keep`.
   */
  readonly deletes: number
  /** Number of those `deletes` that only set a missing product out of stock. */
  readonly outOfStock: number
  /** Number of deletes that an earlier plan was allowed to send, and that are not confirmed. They need no second approval. */
  readonly allowedBefore: number
  /** Number of deletes that only remove identifiers from people whose row is still in the source. Without those in `allowedBefore`. */
  readonly identifierOnlyDeletes: number
  readonly noun: 'people' | 'products'
  /** Number of confirmed users or products. The count stops at `enoughConfirmed`. 0 if the deletes do not exceed the count limit. */
  readonly confirmed: number
  /** Why the end of the source is not proven; undefined if the read is complete. */
  readonly incompleteReason: string | undefined
  /** True if a source is standard input without `complete:`. The end of such an input proves nothing. */
  readonly fromUnprovenPipe: boolean
  /** Maximum number of deletes that the user approved for this run. */
  readonly approveDeletes: number | undefined
  /** Command that repeats a run with the source of a backfill; undefined for any other run. */
  readonly backfillCommand: string | undefined
  /** True if the run reads a backfill source or nothing. Then no row counts as missing, and no guard on the number of rows applies. */
  readonly ignoresMissing: boolean
  /** At most five ids of products that would be deleted or set out of stock; empty for people. */
  readonly examples: readonly string[]
}

/**
 * Returns the number at which the count of confirmed records may stop, because `deletes` are less than `maxDeletePercent` of it. Example:
 * 30 deletes and 10 % → 301. Undefined if the limit is 0.
 */
export function enoughConfirmed(deletes: number, maxDeletePercent: number): number | undefined {
  return maxDeletePercent === 0 ? undefined : Math.floor((deletes * 100) / maxDeletePercent) + 1
}

/**
 * Returns the guard result if rejects exceed `max_reject_percent` of all rows, or of the rows that the filters keep; otherwise undefined.
 * The filters may keep only a small market. Its rejects are a small share of all rows, even if all its rows are rejected. `run`: run whose
 * rejects the hint shows; undefined: the hint is `sluice check`.
 */
export function guardResultOfRejects(
  facts: Pick<GuardFacts, 'guards' | 'read' | 'rejected' | 'pipeline'> & {
    readonly run?: string
    /** Number of rows that `only:` and `except:` leave out. */
    readonly filtered?: number | undefined
    /** Rejected rows by code, the most frequent first. */
    readonly codes?: readonly { readonly code: string; readonly count: number }[]
  },
): GuardResult | undefined {
  const { guards, filtered = 0 } = facts
  // Rows that may belong to another market do not count as kept.
  const maybeFiltered = (facts.codes ?? []).reduce(
    (sum, found) => (maybeRejectedBeforeFilters.test(found.code) ? sum + found.count : sum),
    0,
  )
  const ofAll = { rejected: facts.rejected, rows: facts.read, text: 'rows' }
  const ofKept = {
    rejected: facts.rejected - maybeFiltered,
    rows: facts.read - filtered - maybeFiltered,
    text: 'rows that the filters keep',
  }
  const percentOf = ({ rejected, rows }: { rejected: number; rows: number }) => (rows <= 0 ? 0 : (rejected / rows) * 100)
  const exceeded = [ofAll, ...(filtered === 0 ? [] : [ofKept])].find((share) => percentOf(share) > guards.maxRejectPercent)
  if (exceeded === undefined) return undefined
  const codes = (facts.codes ?? []).slice(0, 3).map((found) => `${found.code} ${count(found.count)}`)
  const reasons = codes.length === 0 ? '' : `, for ${codes.join(', ')}`
  const { rejected, rows, text } = exceeded
  const share = `${count(rejected)} of ${count(rows)} ${text} were rejected (${percentOf(exceeded).toFixed(1)} %)`
  return {
    code: 'GUARD_REJECTS',
    message: `${share}, above ${guards.maxRejectPercent} %${reasons}`,
    hint: facts.run === undefined ? `sluice check ${facts.pipeline}` : `sluice rejects ${facts.run}`,
    withheld: 0,
    examples: [],
  }
}

/**
 * Matches codes of rows that were perhaps rejected before the filters: unreadable rows, and rows without a match in the joined file. Also
 * further rows of a product without its first row.
 */
const maybeRejectedBeforeFilters = /^(?:ROW_|HEADER_REPEATED$|TEXT_BROKEN$|JOIN_|PRODUCT_ROW_MISSING$)/

/**
 * Returns the guard results that withhold deletes; empty if deletes may be sent.
 *
 * - `GUARD_MIN_ROWS` and `GUARD_INCOMPLETE` withhold all deletes, also approved ones.
 * - The other guards withhold the new deletes (`deletes` minus `allowedBefore`), unless `approveDeletes` is at least their number.
 */
export function reasonsToWithhold(facts: GuardFacts): GuardResult[] {
  const unreliable = resultsForUnreliableRead(facts)
  const results = unreliable.length > 0 ? unreliable : resultsForManyDeletes(facts)
  const { outOfStock, backfillCommand } = facts
  return results.map((result) => ({
    ...result,
    ...(outOfStock === 0 ? {} : { outOfStock }),
    ...(backfillCommand === undefined ? {} : { ofBackfill: true as const }),
  }))
}

function resultsForUnreliableRead(facts: GuardFacts): GuardResult[] {
  const { pipeline, guards, valid, read, deletes, incompleteReason, fromUnprovenPipe, examples } = facts
  const results: GuardResult[] = []
  const nothing = `nothing is ${effectOn(facts)}`
  if (!facts.ignoresMissing && valid < guards.minRows) {
    // The rows that were not rejected either opted out, were filtered out, or belong to suppressed people.
    const areLeftOut = valid === 0 && facts.rejected < read
    results.push({
      code: 'GUARD_MIN_ROWS',
      message: `${count(valid)} of ${count(read)} rows are valid, fewer than min_rows ${count(guards.minRows)}: ${nothing}`,
      hint: areLeftOut
        ? `compare the cells of the consent and filter columns with those in the pipeline: sluice check ${pipeline}; if all are right, set guards.min_rows there`
        : `check the source; if it is right, set guards.min_rows in the pipeline and sluice check ${pipeline}`,
      withheld: deletes,
      examples,
    })
  }
  // The end of a pipe without `complete:` is never proven, so it matters only if there are deletes. That of other sources always matters.
  if (incompleteReason !== undefined && (deletes > 0 || !fromUnprovenPipe)) {
    results.push({
      code: 'GUARD_INCOMPLETE',
      message: `the end of the source is not proven (${incompleteReason}): ${nothing}`,
      hint: fromUnprovenPipe
        ? `end the input with a line #rows=N (N: its rows), set source.complete: { trailer: "#rows={n}" } in the pipeline, and send it once more`
        : `sluice run ${pipeline}   (once the source is complete; if it always ends like this, set source.complete to a proof of its end)`,
      withheld: deletes,
      examples,
    })
  }
  return results
}

/** Returns no result if there are no new deletes, or if they are approved. */
function resultsForManyDeletes(facts: GuardFacts): GuardResult[] {
  const { pipeline, guards, noun, confirmed, identifierOnlyDeletes, backfillCommand, examples } = facts
  const newDeletes = facts.deletes - facts.allowedBefore
  const areApproved = facts.approveDeletes !== undefined && newDeletes <= facts.approveDeletes
  if (areApproved || newDeletes === 0) return []
  const results: GuardResult[] = []
  // An approved run would read the sources of the pipeline, which do not have these deletes.
  const hint =
    backfillCommand === undefined
      ? `sluice run ${pipeline} --approve-deletes ${newDeletes}`
      : `set guards: { max_delete_count: ${newDeletes} } in the pipeline and ${backfillCommand}`
  const withhold = (code: string, message: string) => results.push({ code, message, hint, withheld: newDeletes, examples })
  const { maxDeleteCount, maxDeletePercent } = guards
  const percentOf = (deletes: number) => (confirmed === 0 ? 100 : (deletes / confirmed) * 100)
  const exceedsBoth = (deletes: number) => deletes > maxDeleteCount && percentOf(deletes) > maxDeletePercent
  const share = (deletes: number) => `${count(deletes)} of ${count(confirmed)} synced ${noun}`
  const limits = (deletes: number) =>
    `(${percentOf(deletes).toFixed(1)} %), over both limits (${count(maxDeleteCount)} ${noun} and ${maxDeletePercent} %)`
  const recordDeletes = newDeletes - identifierOnlyDeletes
  if (exceedsBoth(recordDeletes)) withhold('GUARD_DELETES', `${share(recordDeletes)} would be ${effectOn(facts)} ${limits(recordDeletes)}`)
  if (exceedsBoth(identifierOnlyDeletes)) {
    const lost = `${share(identifierOnlyDeletes)} would lose identifiers that their rows no longer have ${limits(identifierOnlyDeletes)}`
    withhold('GUARD_IDENTIFIERS', `${lost}; the rows are still in the source`)
  }
  if (facts.ignoresMissing) return results
  const { valid, previousValid } = facts
  const isCompared = previousValid !== undefined && previousValid >= minComparedRows
  if (isCompared && valid + facts.suppressed < previousValid / 2)
    withhold('GUARD_ROWS_FELL', `valid rows fell from ${count(previousValid)} to ${count(valid)}, by more than half`)
  for (const { uri, before, now } of facts.fallenSources)
    withhold('GUARD_ROWS_FELL', `rows of ${uri} fell from ${count(before)} to ${count(now)}`)
  if (facts.lostIds !== undefined) {
    const { before, now } = facts.lostIds
    withhold(
      'GUARD_IDS_LOST',
      `${plural(now, 'row')} without a readable id, last time ${count(before)}: the products that would be ${effectOn(facts)} may be theirs`,
    )
  }
  return results
}

function effectOn({ outOfStock, deletes }: GuardFacts): string {
  if (outOfStock === 0) return 'deleted'
  return outOfStock < deletes ? 'deleted or set out of stock' : 'set out of stock'
}

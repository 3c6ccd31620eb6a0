/** Warns of doubtful changes of products: of ids, content, prices, links or stock. Some of the warnings stop the run. */
import type { Database, Transaction } from '../../db/database.ts'
import { addWarnings } from '../../db/runs/update.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import { backfillCommandOf } from '../../db/runs/request.ts'
import { noteOf, type QualityCode } from '../../mapping/statistics/qualityCodes.ts'
import type { Guards, Pipeline } from '../../model/pipeline.ts'
import type { WarningSummary } from '../../model/report.ts'
import { stagedKind } from '../read/stageTable.ts'
import type { DesiredContext } from './sharedDesiredSteps.ts'
import type { ChangeCounts } from './diff.ts'
import { recordChangeSql } from './planTables.ts'
import { guardResultsOfWarnings, minForPercentages, RunWithheld } from './qualityGuard.ts'

export interface CheckedRun {
  readonly db: Database
  readonly pipeline: Pipeline
  readonly run: ClaimedRun
  /** True if the end of the source is not proven. Then no missing product is deleted. */
  readonly isIncomplete: boolean
}

/** Counts of changes that the checks need. `missing` is 0 if no row counts as missing, as for a backfill. */
export type CheckedDiff = Pick<ChangeCounts, 'creates' | 'updates' | 'missing'>

/**
 * Compares the changed products with their stored content, and adds warnings to the run. Must run before the stored content is updated.
 *
 * @throws {RunWithheld} if one of these warnings stops the run
 */
export async function warnOfDoubtfulChanges(
  { tx, destinationId }: DesiredContext,
  { db, pipeline, run, isIncomplete }: CheckedRun,
  diff: CheckedDiff,
): Promise<void> {
  if (diff.updates === 0 && Math.min(diff.creates, diff.missing) === 0) return
  const { approveDeletes = 0 } = run.options
  // Approved deletes are intended, so the ids do not count as missing. After an incomplete read the approval has no effect, because no
  // missing product is deleted. A product whose id changed would then be in the catalog under both ids.
  const missing = isIncomplete || diff.missing > approveDeletes ? diff.missing : 0
  const warnings = await findChangeWarnings(tx, { destinationId, guards: pipeline.guards, creates: diff.creates, missing })
  if (warnings.length === 0) return
  // Not in the transaction of the plan. Until its commit, it would lock the row of the run, which the heartbeat updates.
  await addWarnings(db, run, warnings, 'first')
  const withholding = guardResultsOfWarnings(pipeline, warnings, { isIncomplete, backfillCommand: backfillCommandOf(run) })
  if (withholding.length > 0) throw new RunWithheld(withholding)
}

interface ChangedProducts {
  /** Stored products that are not marked as missing, also unconfirmed and stale ones. */
  readonly stored: number
  /** `stored` plus the products marked as missing that are in this read again. */
  readonly compared: number
  /** Products of `stored` whose content changed. */
  readonly updated: number
  /** Products that are out of stock now, and were not before. */
  readonly soldOut: number
  /** Prices that changed by more than `guards.max_price_change_percent`. */
  readonly movedPrices: number
  readonly movedPriceExamples: readonly string[]
  /** Prices that became zero, became 100 or 1,000 times as high or as low, or changed only their currency. */
  readonly doubtfulPrices: number
  readonly doubtfulPriceExamples: readonly string[]
  /** Links that changed to a new host: no changed link had it before. */
  readonly movedLinks: number
  readonly movedLinkExamples: readonly string[]
  /** Largest number of links that changed to one and the same link. */
  readonly sameLink: number
}

interface ChangeFacts extends ChangedProducts {
  readonly creates: number
  /** Number of ids that are no longer in the source; 0 if their deletes are approved. */
  readonly missing: number
  readonly maxPriceChangePercent: number
  readonly maxOutOfStockPercent: number
}

interface ChangeRule {
  readonly code: QualityCode
  readonly field: string
  readonly count: (facts: ChangeFacts) => number
  readonly shareOf: 'stored' | 'compared'
  /**
   * Returns the percentage of `shareOf` above which the rule warns. It applies from `minForPercentages` products on. Undefined: one product
   * is enough.
   */
  readonly abovePercent: ((facts: ChangeFacts) => number) | undefined
  readonly message: (facts: ChangeFacts) => string
}

/** Default of `guards.max_price_change_percent`. */
const defaultPriceChangePercent = 50
/** Default of `guards.max_out_of_stock_percent`. */
const defaultOutOfStockPercent = 10

const half = () => 50

const rules: readonly ChangeRule[] = [
  {
    // The cause may be another id column, or new numbers in the shop system. If a guard withholds only the deletes, the catalog has these
    // products twice.
    code: 'IDS_CHANGED',
    field: 'id',
    count: ({ missing, creates, stored }) => (creates * 2 > stored ? missing : 0),
    shareOf: 'stored',
    abovePercent: half,
    message: ({ missing, stored, creates }) => `${missing} of ${stored} products of the last sync are missing, and ${creates} ids are new`,
  },
  {
    // The cause may be another export of the shop, or a changed rule of Sluice (docs/inputs.md, case 182).
    code: 'MOST_CHANGED',
    field: '',
    count: ({ updated }) => updated,
    shareOf: 'stored',
    abovePercent: half,
    message: ({ updated, stored }) => `${updated} of ${stored} products changed since the last sync`,
  },
  {
    // The export may have lost the decimal point, the currency or the prices (docs/decisions/wrong-data.md).
    code: 'PRICES_DOUBTFUL',
    field: 'price',
    count: ({ doubtfulPrices }) => doubtfulPrices,
    shareOf: 'compared',
    abovePercent: () => 10,
    message: ({ doubtfulPrices, compared, doubtfulPriceExamples }) =>
      `${doubtfulPrices} of ${compared} prices became zero, 100 or 1,000 times as high or as low, or changed only their currency: ${doubtfulPriceExamples.join(', ')}`,
  },
  {
    // The export may have the addresses of a test system, or one address for all products.
    code: 'LINKS_DOUBTFUL',
    field: 'link',
    count: ({ movedLinks, sameLink }) => Math.max(movedLinks, sameLink),
    shareOf: 'compared',
    abovePercent: half,
    message: ({ movedLinks, sameLink, compared, movedLinkExamples }) =>
      movedLinks * 2 > compared
        ? `${movedLinks} of ${compared} links moved to another host: ${movedLinkExamples.join(', ')}`
        : `${sameLink} of ${compared} links became one and the same`,
  },
  {
    code: 'PRICE_MOVED',
    field: 'price',
    count: ({ movedPrices }) => movedPrices,
    shareOf: 'compared',
    abovePercent: undefined,
    message: ({ movedPrices, movedPriceExamples, maxPriceChangePercent }) =>
      `${movedPrices} prices moved by more than ${maxPriceChangePercent} %: ${movedPriceExamples.join(', ')}`,
  },
  {
    code: 'OUT_OF_STOCK_ROSE',
    field: 'availability',
    count: ({ soldOut }) => soldOut,
    shareOf: 'compared',
    abovePercent: ({ maxOutOfStockPercent }) => maxOutOfStockPercent,
    message: ({ soldOut, compared, maxOutOfStockPercent }) =>
      `${soldOut} of ${compared} products of the last sync go out of stock in this run, above ${maxOutOfStockPercent} %`,
  },
]

async function findChangeWarnings(
  tx: Transaction,
  options: { readonly destinationId: number; readonly guards: Guards; readonly creates: number; readonly missing: number },
): Promise<WarningSummary[]> {
  const { destinationId, guards, creates, missing } = options
  const maxPriceChangePercent = guards.maxPriceChangePercent ?? defaultPriceChangePercent
  const facts: ChangeFacts = {
    ...(await countChanges(tx, destinationId, maxPriceChangePercent)),
    creates,
    missing,
    maxPriceChangePercent,
    maxOutOfStockPercent: guards.maxOutOfStockPercent ?? defaultOutOfStockPercent,
  }
  return rules.flatMap((rule) => {
    const { code, field } = rule
    const count = rule.count(facts)
    return isExceeded(rule, facts, count) ? [noteOf(code, rule.message(facts), { field, count })] : []
  })
}

function isExceeded({ abovePercent, shareOf }: ChangeRule, facts: ChangeFacts, count: number): boolean {
  if (abovePercent === undefined) return count > 0
  const products = facts[shareOf]
  return products >= minForPercentages && count * 100 > products * abovePercent(facts)
}

async function countChanges(tx: Transaction, destinationId: number, maxPriceChangePercent: number): Promise<ChangedProducts> {
  const [row] = await tx.query<ChangedProducts>(
    `with changed as (
       select convert_from(c.key, 'UTF8') as id,
         r.status = 'missing' as came_back, r.hash <> s.hash and r.status <> 'missing' as updated,
         s.body like '%"availability":"out of stock"%' and r.body not like '%"availability":"out of stock"%' as sold_out,
         substring(r.body from '"price":"([0-9.]+) ')::numeric as old_price,
         substring(s.body from '"price":"([0-9.]+) ')::numeric as new_price,
         substring(r.body from '"price":"[0-9.]+ ([A-Z]+)') as old_currency,
         substring(s.body from '"price":"[0-9.]+ ([A-Z]+)') as new_currency,
         substring(r.body from '"link":"([^"]*)') as old_link, substring(s.body from '"link":"([^"]*)') as new_link
       from change c join stage s using (key) join record r on r.destination_id = $1 and r.key = c.key
       where c.effect = ${recordChangeSql.update} and s.kind = ${stagedKind.valid}),
     changed_link as (
       select id, new_link, lower(substring(old_link from '//(?:www[.])?([^/?#]*)')) as old_host,
         lower(substring(new_link from '//(?:www[.])?([^/?#]*)')) as new_host
       from changed where new_link <> old_link),
     -- links whose new host no changed link had before
     moved_link as (
       select l.* from changed_link l
       where new_host is not null and not exists (select from changed_link o where o.old_host = l.new_host)),
     moved_price as (
       select id, old_price, new_price from changed where old_price > 0 and abs(new_price - old_price) * 100 > old_price * $2),
     doubtful_price as (
       select id || ': ' || old_price || ' ' || old_currency || ' to ' || new_price || ' ' || new_currency as example from changed
       where old_price > 0 and (new_price = 0
         or new_price in (old_price * 100, old_price * 1000) or old_price in (new_price * 100, new_price * 1000)
         or (new_price = old_price and new_currency <> old_currency)))
     select k.stored, (k.stored + (select count(*) from changed where came_back))::int as compared,
       (select count(*) from changed where updated)::int as updated, (select count(*) from changed where sold_out)::int as "soldOut",
       (select count(*) from moved_price)::int as "movedPrices",
       array(select left(id, 40) || ': ' || old_price || ' to ' || new_price from moved_price limit 5) as "movedPriceExamples",
       (select count(*) from doubtful_price)::int as "doubtfulPrices",
       array(select left(example, 80) from doubtful_price limit 5) as "doubtfulPriceExamples",
       (select count(*) from moved_link)::int as "movedLinks",
       array(select left(id, 40) || ': ' || left(old_host, 60) || ' to ' || left(new_host, 60) from moved_link limit 5)
         as "movedLinkExamples",
       coalesce((select max(n) from (select count(*) as n from changed_link group by new_link) l), 0)::int as "sameLink"
     from (select count(*)::int as stored from record where destination_id = $1 and status in ('live', 'stale')) k`,
    [destinationId, maxPriceChangePercent],
  )
  if (row === undefined) throw new Error('a query of aggregates must have one row')
  return row
}

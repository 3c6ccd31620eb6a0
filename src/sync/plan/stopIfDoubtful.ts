/**
 * Notes doubtful changes of products in a read: of their ids, content, prices, links or stock. Some of the notes stop the run. Compares
 * the new content with the stored content, before it is updated.
 */
import type { Database, Transaction } from '../../db/database.ts'
import { addWarnings } from '../../db/runs/update.ts'
import type { RunRow } from '../../db/runs/claim.ts'
import type { QualityCode } from '../../mapping/statistics/qualityCodes.ts'
import type { Guards, Pipeline } from '../../model/pipeline.ts'
import type { WarningSummary } from '../../model/report.ts'
import { stagedKind } from '../read/stageTable.ts'
import type { DesiredContext } from './desired.ts'
import type { Diff } from './diff.ts'
import { recordChange } from './planTables.ts'
import { notesThatStop, percentagesFrom, RunWithheld } from './qualityGuard.ts'

/** Run whose plan is made. */
export interface CheckedRun {
  readonly db: Database
  readonly pipeline: Pipeline
  readonly run: RunRow
  /** True if the end of the source is not proven. Then no missing product is deleted. */
  readonly isIncomplete: boolean
}

/** Counts of the diff that the checks need. `missing` is 0 if no row counts as missing, as for a backfill. */
export type CheckedDiff = Pick<Diff, 'creates' | 'updates' | 'missing'>

/**
 * Compares the changes of the diff with the stored content, and stores the warnings with the run.
 *
 * @throws {RunWithheld} if a note of `findChangeNotes` stops the run
 */
export async function stopIfDoubtful(
  { tx, destinationId }: DesiredContext,
  { db, pipeline, run, isIncomplete }: CheckedRun,
  diff: CheckedDiff,
): Promise<void> {
  if (diff.updates === 0 && Math.min(diff.creates, diff.missing) === 0) return
  const { approveDeletes = 0 } = run.options
  // If the operator has approved the deletes, the missing ids are intended. After an incomplete read no missing product is deleted, even
  // with an approval. So the approval does not count: a product whose id changed would be in the catalog under both ids.
  const missing = isIncomplete || diff.missing > approveDeletes ? diff.missing : 0
  const notes = await findChangeNotes(tx, { destinationId, guards: pipeline.guards, creates: diff.creates, missing })
  if (notes.length === 0) return
  // Written outside of the plan's transaction: until its end it would lock the row of the run, to which the heartbeat writes.
  await addWarnings(db, run, notes, 'first')
  const withholding = notesThatStop(pipeline, notes, { isIncomplete })
  if (withholding.length > 0) throw new RunWithheld(withholding)
}

/** Counts of products, prices and links; `…Examples` have up to five of them. */
interface ChangedProducts {
  /**
   * Stored products that are not marked as missing. Includes products that the service has not confirmed, and products whose row is
   * rejected now.
   */
  readonly known: number
  /** Products of `known`, and the missing ones that return: the products whose stock, price and link are compared. */
  readonly compared: number
  /** Products of `known` whose content changed. */
  readonly updated: number
  /** Products that go out of stock. */
  readonly soldOut: number
  /** Prices that moved by more than `maxPriceChangePercent`. */
  readonly moved: number
  readonly movedExamples: readonly string[]
  /** Prices that became zero, 100 or 1,000 times as high or as low, or changed only their currency. */
  readonly doubtful: number
  readonly doubtfulExamples: readonly string[]
  /** Links to a host that no changed link had before. */
  readonly movedLinks: number
  readonly linkExamples: readonly string[]
  /** Largest number of changed links that now have one address. */
  readonly sameLink: number
}

/** Changes of one read, and the limits of the pipeline. */
interface ChangeFacts extends ChangedProducts {
  /** Number of new ids. */
  readonly creates: number
  /** Number of ids that are no longer in the source; 0 if their deletes are approved. */
  readonly missing: number
  readonly maxPriceChangePercent: number
  readonly maxOutOfStockPercent: number
}

/** Condition and text of one note. */
interface ChangeRule {
  readonly code: QualityCode
  readonly field: string
  readonly count: (facts: ChangeFacts) => number
  /** Products of which `abovePercent` is the percentage. */
  readonly of: 'known' | 'compared'
  /**
   * Percentage above which the note is made, if it is of at least `percentagesFrom` products. Undefined: the note is made from one product
   * on.
   */
  readonly abovePercent: ((facts: ChangeFacts) => number) | undefined
  readonly message: (facts: ChangeFacts) => string
}

/** Default of `guards.max_price_change_percent`. */
const defaultPriceChangePercent = 50
/** Default of `guards.max_out_of_stock_percent`. */
const defaultOutOfStockPercent = 10

const overHalf = () => 50

const rules: readonly ChangeRule[] = [
  {
    // The cause may be another id column, or a shop system that gave its products other numbers. The delete guard is not enough: if only
    // the deletes are withheld, the catalog has these products twice. Counts only if the new ids exceed half of the known products.
    code: 'IDS_CHANGED',
    field: 'id',
    count: ({ missing, creates, known }) => (creates * 2 > known ? missing : 0),
    of: 'known',
    abovePercent: overHalf,
    message: ({ missing, known, creates }) => `${missing} of ${known} products of the last sync are missing, and ${creates} ids are new`,
  },
  {
    // The cause may be another export of the shop, or a changed rule of Sluice (docs/inputs.md, case 182).
    code: 'MOST_CHANGED',
    field: '',
    count: ({ updated }) => updated,
    of: 'known',
    abovePercent: overHalf,
    message: ({ updated, known }) => `${updated} of ${known} products changed since the last sync`,
  },
  {
    // The export may have lost the decimal point, the currency or the prices (docs/decisions/wrong-data.md).
    code: 'PRICES_DOUBTFUL',
    field: 'price',
    count: ({ doubtful }) => doubtful,
    of: 'compared',
    abovePercent: () => 10,
    message: ({ doubtful, compared, doubtfulExamples }) =>
      `${doubtful} of ${compared} prices became zero, 100 or 1,000 times as high or as low, or changed only their currency: ${doubtfulExamples.join(', ')}`,
  },
  {
    // The export may have the addresses of a test system, or one address for all products.
    code: 'LINKS_DOUBTFUL',
    field: 'link',
    count: ({ movedLinks, sameLink }) => Math.max(movedLinks, sameLink),
    of: 'compared',
    abovePercent: overHalf,
    message: ({ movedLinks, sameLink, compared, linkExamples }) =>
      movedLinks * 2 > compared
        ? `${movedLinks} of ${compared} links moved to another host: ${linkExamples.join(', ')}`
        : `${sameLink} of ${compared} links became one and the same`,
  },
  {
    code: 'PRICE_MOVED',
    field: 'price',
    count: ({ moved }) => moved,
    of: 'compared',
    abovePercent: undefined,
    message: ({ moved, movedExamples, maxPriceChangePercent }) =>
      `${moved} prices moved by more than ${maxPriceChangePercent} %: ${movedExamples.join(', ')}`,
  },
  {
    code: 'OUT_OF_STOCK_ROSE',
    field: 'availability',
    count: ({ soldOut }) => soldOut,
    of: 'compared',
    abovePercent: ({ maxOutOfStockPercent }) => maxOutOfStockPercent,
    message: ({ soldOut, compared, maxOutOfStockPercent }) =>
      `${soldOut} of ${compared} products of the last sync go out of stock in this run, above ${maxOutOfStockPercent} %`,
  },
]

/** Returns the notes on changed products (table `change`), before `record` is updated. `creates`, `missing`: as in `ChangeFacts`. */
async function findChangeNotes(
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
  return rules.flatMap(({ code, field, message, of, ...rule }) => {
    const count = rule.count(facts)
    const percent = rule.abovePercent?.(facts)
    const isAbove = percent === undefined ? count > 0 : facts[of] >= percentagesFrom && count * 100 > facts[of] * percent
    return isAbove ? [{ code, field, message: message(facts), count, lines: [] }] : []
  })
}

/** Compares the new content of changed products with their stored content, which is not updated yet. */
async function countChanges(tx: Transaction, destinationId: number, maxPriceChangePercent: number): Promise<ChangedProducts> {
  const [row] = await tx.query<ChangedProducts>(
    `with changed as (
       select s.line, convert_from(c.key, 'UTF8') as id,
         r.status = 'missing' as returns, r.hash <> s.hash and r.status <> 'missing' as updated,
         s.body like '%"availability":"out of stock"%' and r.body not like '%"availability":"out of stock"%' as sold_out,
         substring(r.body from '"price":"([0-9.]+) ')::numeric as old, substring(s.body from '"price":"([0-9.]+) ')::numeric as new,
         substring(r.body from '"price":"[0-9.]+ ([A-Z]+)') as old_currency, substring(s.body from '"price":"[0-9.]+ ([A-Z]+)') as new_currency,
         substring(r.body from '"link":"([^"]*)') as old_link, substring(s.body from '"link":"([^"]*)') as new_link
       from change c join stage s using (key) join record r on r.destination_id = $1 and r.key = c.key
       where c.what = ${recordChange.update} and s.kind = ${stagedKind.valid}),
     linked as (
       select id, new_link, lower(substring(old_link from '//(?:www[.])?([^/?#]*)')) as old_host,
         lower(substring(new_link from '//(?:www[.])?([^/?#]*)')) as new_host
       from changed where new_link <> old_link),
     moved_link as (select l.* from linked l where new_host is not null and not exists (select from linked o where o.old_host = l.new_host)),
     moved as (select id, old, new from changed where old > 0 and abs(new - old) * 100 > old * $2),
     doubtful as (
       select id || ': ' || old || ' ' || old_currency || ' to ' || new || ' ' || new_currency as example from changed
       where old > 0 and (new = 0 or new in (old * 100, old * 1000) or old in (new * 100, new * 1000)
         or (new = old and new_currency <> old_currency)))
     select k.known, (k.known + (select count(*) from changed where returns))::int as compared,
       (select count(*) from changed where updated)::int as updated, (select count(*) from changed where sold_out)::int as "soldOut",
       (select count(*) from moved)::int as moved,
       array(select left(id, 40) || ': ' || old || ' to ' || new from moved limit 5) as "movedExamples",
       (select count(*) from doubtful)::int as doubtful, array(select left(example, 80) from doubtful limit 5) as "doubtfulExamples",
       (select count(*) from moved_link)::int as "movedLinks",
       coalesce((select max(n) from (select count(*) as n from linked group by new_link) l), 0)::int as "sameLink",
       array(select left(id, 40) || ': ' || left(old_host, 60) || ' to ' || left(new_host, 60) from moved_link limit 5) as "linkExamples"
     from (select count(*)::int as known from record where destination_id = $1 and status in ('live', 'stale')) k`,
    [destinationId, maxPriceChangePercent],
  )
  if (row === undefined) throw new Error('a query of aggregates has one row')
  return row
}

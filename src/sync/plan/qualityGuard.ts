/**
 * Computes guard results for warnings on a source that need a review (docs/inputs.md, outcome H), and for changes of ids, prices
 * and stock.
 */
import type { Transaction } from '../../db/database.ts'
import type { Guards, Pipeline } from '../../model/pipeline.ts'
import { withholdingCodes } from '../../mapping/statistics/qualityCodes.ts'
import { effectOf, type GuardResult, type WarningSummary } from '../../model/report.ts'

/**
 * Returns the guard results for warnings of a read, or of `changeNotes`, that withhold the run; empty if the run may continue.
 * `isIncomplete`: true if the end of the source is not proven; then the hint for changed ids also requests a proof.
 */
export function guardNotes(
  pipeline: Pick<Pipeline, 'guards' | 'name'>,
  warnings: readonly WarningSummary[],
  { isIncomplete = false }: { readonly isIncomplete?: boolean } = {},
): GuardResult[] {
  const withholding = warnings.filter((warning) => withholds(pipeline.guards, warning))
  // Notes with equal hints become one guard result, because one setting resolves all of them.
  const byHint = Map.groupBy(
    withholding.filter(({ hint }) => hint !== undefined),
    ({ hint }) => hint,
  )
  const together = [...byHint.values()].map((notes): GuardResult => {
    const [first] = notes
    return {
      code: `GUARD_${first?.code}`,
      message: `${[...new Set(notes.map(({ message }) => message))].join('; ')}`,
      hint: `write in pipeline ${pipeline.name}: ${first?.hint}`,
      withheld: 0,
      examples: firstLines(notes),
    }
  })
  const alone = withholding
    .filter(({ hint }) => hint === undefined)
    .map((note) => ({
      code: `GUARD_${note.code}`,
      message: note.message,
      hint: `${corrections[note.code] ?? 'check the source'}; if it is right, ${acceptance(note, pipeline.name, isIncomplete)}`,
      withheld: 0,
      examples: firstLines([note]),
    }))
  return [...together, ...alone]
}

/** Returns the first five lines of the notes. A note on the whole source has line 0, or none. */
function firstLines(notes: readonly WarningSummary[]): string[] {
  return notes
    .flatMap(({ lines }) => lines.filter((line) => line > 0))
    .slice(0, 5)
    .map((line) => `line ${line}`)
}

/** Returns the hint for a warning about an intended change. */
function acceptance({ code, count }: WarningSummary, pipeline: string, isIncomplete: boolean): string {
  // `guards.accept` would send the new ids, and another guard would withhold the deletes of the old ones: the catalog would have every
  // product twice.
  if (effectOf({ code: `GUARD_${code}` }).approvable)
    return `${isIncomplete ? 'set source.complete to a proof of its end and ' : ''}sluice run ${pipeline} --approve-deletes ${count}`
  return `set guards: { accept: [${code}] } in the pipeline and sluice run ${pipeline}`
}

/** Corrections by code, for warnings whose cause may be the pipeline file instead of the source. */
const corrections: Readonly<Record<string, string>> = {
  EXPIRY_UNKNOWN: 'correct the column of expires_at',
  FILTER_UNKNOWN: 'correct the column under only: or except:',
  PAUSE_ELSEWHERE: 'ask who paused it',
  IDS_CHANGED: 'set map: { id: … } to the column of the earlier ids',
  OPT_OUTS_FELL: 'compare the values of the consent column with those in the pipeline',
  PEOPLE_CHANGED: 'check that it is the right file, and the tests of consent:',
  LINKS_DOUBTFUL: 'check the links of the source',
  PRICES_DOUBTFUL: 'check the prices and currencies of the source',
  ENCODING_DOUBTFUL: 'set source: { encoding: … } to the encoding of the file (sluice init detects it)',
}

/** Returns true if the warning stops the run: `guards.accept` and `guards.hold` override the default of its code. */
function withholds(guards: Guards, { code }: WarningSummary): boolean {
  if (guards.accept?.includes(code) === true) return false
  if (guards.hold?.includes(code) === true) return true
  return withholdingCodes.includes(code)
}

/** Thrown if a guard stops the run. Within the transaction of a plan, it rolls the plan back. Adds to the messages that nothing of this read was sent. */
export class RunWithheld extends Error {
  readonly results: readonly GuardResult[]
  constructor(results: readonly GuardResult[]) {
    super('the run is withheld')
    this.results = results.map((result) => ({ ...result, message: `${result.message}: nothing of this read was sent` }))
  }
}

/** Minimum number of records of the last sync for checks of percentages (docs/inputs.md). */
export const percentagesFrom = 100
/** Maximum percentage of products whose prices changed as only a damaged export changes them. */
const doubtfulPercent = 10

/**
 * Compares prices and stock of the changed products (table `change`) with their stored content, which is not updated yet. Returns warnings
 * on changed ids, many changed products, moved or doubtful prices, moved links, and many products that go out of stock. Percentages are of the desired products of
 * the last sync, confirmed or not. `creates`: number of new ids; `missing`: number of ids that are no longer in the source.
 */
export async function changeNotes(
  tx: Transaction,
  options: { readonly destinationId: number; readonly guards: Guards; readonly creates: number; readonly missing: number },
): Promise<WarningSummary[]> {
  const { destinationId, guards, creates, missing } = options
  const percent = guards.maxPriceChangePercent ?? 50
  const rows = await tx.query<{
    updated: string
    sold_out: string
    moved: string
    known: string
    examples: string[] | null
    doubtful: string
    doubtful_examples: string[] | null
    moved_links: string
    same_link: string
    link_examples: string[] | null
  }>(
    `with changed as (
       select s.line, convert_from(c.key, 'UTF8') as id,
         s.body like '%"availability":"out of stock"%' and r.body not like '%"availability":"out of stock"%' as sold_out,
         substring(r.body from '"price":"([0-9.]+) ')::numeric as old, substring(s.body from '"price":"([0-9.]+) ')::numeric as new,
         substring(r.body from '"price":"[0-9.]+ ([A-Z]+)') as old_currency, substring(s.body from '"price":"[0-9.]+ ([A-Z]+)') as new_currency,
         substring(r.body from '"link":"([^"]*)') as old_link, substring(s.body from '"link":"([^"]*)') as new_link
       from change c join stage s using (key) join record r on r.destination_id = $1 and r.key = c.key
       where c.what = 'update' and s.kind = 0),
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
     select (select count(*) from changed) as updated, (select count(*) from changed where sold_out) as sold_out, (select count(*) from moved) as moved,
       (select count(*) from record where destination_id = $1 and status = 'live') as known,
       (select array_agg(left(id, 40) || ': ' || old || ' to ' || new) from (select * from moved limit 5) m) as examples,
       (select count(*) from doubtful) as doubtful, (select array_agg(example) from (select left(example, 80) as example from doubtful limit 5) d) as doubtful_examples,
       (select count(*) from moved_link) as moved_links, (select max(n) from (select count(*) as n from linked group by new_link) l) as same_link,
       (select array_agg(id || ': ' || old_host || ' to ' || new_host) from (select left(id, 40) as id, left(old_host, 60) as old_host, left(new_host, 60) as new_host from moved_link limit 5) l) as link_examples`,
    [destinationId, percent],
  )
  const [row] = rows
  const soldOut = Number(row?.sold_out ?? 0)
  const moved = Number(row?.moved ?? 0)
  const known = Number(row?.known ?? 0)
  const updated = Number(row?.updated ?? 0)
  const notes: WarningSummary[] = []
  // The cause may be another id column, or a shop system that gave its products other numbers. Even if the deletes are withheld, the
  // catalog would have every product twice.
  if (known >= percentagesFrom && missing * 2 > known && creates * 2 > known)
    notes.push({
      code: 'IDS_CHANGED',
      field: 'id',
      message: `${missing} of ${known} products of the last sync are missing, and ${creates} ids are new`,
      count: missing,
      lines: [],
    })
  // The cause may be another export of the shop, or a changed rule of Sluice (docs/inputs.md, case 182).
  if (known >= percentagesFrom && updated * 2 > known)
    notes.push({
      code: 'MOST_CHANGED',
      field: '',
      message: `${updated} of ${known} products changed since the last sync`,
      count: updated,
      lines: [],
    })
  // The export lost the decimal point, the currency or the prices (docs/decisions/wrong-data.md).
  const doubtful = Number(row?.doubtful ?? 0)
  if (known >= percentagesFrom && doubtful * 100 > known * doubtfulPercent)
    notes.push({
      code: 'PRICES_DOUBTFUL',
      field: 'price',
      message: `${doubtful} of ${known} prices became zero, 100 or 1,000 times as high or as low, or changed only their currency: ${(row?.doubtful_examples ?? []).join(', ')}`,
      count: doubtful,
      lines: [],
    })
  // The export has the addresses of a test system, or one address for all products.
  const movedLinks = Number(row?.moved_links ?? 0)
  const sameLink = Number(row?.same_link ?? 0)
  if (known >= percentagesFrom && Math.max(movedLinks, sameLink) * 2 > known)
    notes.push({
      code: 'LINKS_DOUBTFUL',
      field: 'link',
      message:
        movedLinks * 2 > known
          ? `${movedLinks} of ${known} links moved to another host: ${(row?.link_examples ?? []).join(', ')}`
          : `${sameLink} of ${known} links became one and the same`,
      count: Math.max(movedLinks, sameLink),
      lines: [],
    })
  if (moved > 0)
    notes.push({
      code: 'PRICE_MOVED',
      field: 'price',
      message: `${moved} prices moved by more than ${percent} %: ${(row?.examples ?? []).join(', ')}`,
      count: moved,
      lines: [],
    })
  const allowed = guards.maxOutOfStockPercent ?? 10
  if (known >= percentagesFrom && soldOut * 100 > known * allowed) {
    notes.push({
      code: 'OUT_OF_STOCK_ROSE',
      field: 'availability',
      message: `${soldOut} of ${known} products of the last sync go out of stock in this run, above ${allowed} %`,
      count: soldOut,
      lines: [],
    })
  }
  return notes
}

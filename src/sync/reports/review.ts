/** Loads a stored plan for a review, with samples of each change. */
import { serviceOnlyFields } from '../../mapping/products/vocabulary.ts'
import type { Database } from '../../db/database.ts'
import { entriesOf } from '../../db/entries/read.ts'
import { decodePlanCounts, decodePlanGuards, decodePlannedSets, decodeReview } from '../../db/plans.ts'
import type { DbRow, Value } from '../../db/row.ts'
import { cutText } from '../../cutText.ts'
import { UsageError } from '../../errors.ts'
import type { Change, GuardResult, ProductSetChange, RunCounts } from '../../model/report.ts'
import type { DestinationWords } from '../../destinations/destination.ts'
import { destinationOf } from '../../destinations/index.ts'
import { plural } from '../../format.ts'
import { isRecord } from '../../unknownValue.ts'

/** Stored plan with samples of its changes. */
export interface PlanReview {
  readonly planId: string
  /** Run that made the plan. */
  readonly runId: string
  readonly pipeline: string
  readonly words: DestinationWords
  /** True for products, whose samples have ids and fields; false for people. */
  readonly showsRecords: boolean
  readonly status: 'ready' | 'applying' | 'applied' | 'superseded'
  /** SHA-256, in hex, of the joined SHA-256 of all request bodies. */
  readonly digest: string
  readonly createdAt: Date
  readonly counts: Partial<RunCounts>
  readonly guards: readonly GuardResult[]
  /**
   * For each field, the number of products in which it changed, largest first. Empty if the run did not count them
   * (`plan/updatedFields.ts`).
   */
  readonly updateFields: readonly { readonly field: string; readonly count: number }[]
  /** Number of planned requests, before any split. */
  readonly requests: number
  /** Id of the newest plan of the destination. */
  readonly newestPlanId: string
  /** Samples of deletes, creates, updates and renewals, in this order. */
  readonly samples: readonly ChangeSample[]
  readonly productSets?: readonly ProductSetChange[]
}

export interface ChangeSample {
  readonly change: Change
  /** Product id; for people a text with the numbers of people and identifiers. */
  readonly name: string
  /**
   * Fields of a product that change. Empty for deletes, for people, for content that is sent again unchanged, and if `hasExpired`.
   * `before` is null for an unset field, and for all fields if the earlier content is not stored any more.
   */
  readonly fields: readonly { readonly field: string; readonly before: string | null; readonly after: string | null }[]
  /** True if the content of the request is not stored any more (docs/retention.md). */
  readonly hasExpired: boolean
}

/** Maximum number of samples of each change. */
const maxSamples = 20

/** Loads a plan. @throws {UsageError} `UNKNOWN_PLAN` */
export async function loadReview(db: Database, planId: string): Promise<PlanReview> {
  const [row] = await db.query<
    DbRow<'plan', 'run_id' | 'pipeline' | 'status' | 'digest' | 'created_at' | 'counts' | 'guards' | 'review' | 'product_sets'> &
      DbRow<'destination', 'kind'> & { requests: number; newest: Value<'plan', 'id'> }
  >(
    `select p.run_id, p.pipeline, d.kind, p.status, p.digest, p.created_at, p.counts, p.guards, p.review, p.product_sets,
       (select count(*)::int from batch b where b.plan_id = p.id and b.parent_id is null) as requests,
       (select q.id from plan q where q.destination_id = p.destination_id order by q.created_at desc, q.run_id desc limit 1) as newest
     from plan p join destination d on d.id = p.destination_id where p.id = $1`,
    [planId],
  )
  if (row === undefined)
    throw new UsageError('UNKNOWN_PLAN', `there is no plan "${planId.slice(0, 40)}"`, {
      where: planId.slice(0, 40),
      hint: 'sluice plan PIPELINE',
    })
  const { words, showsRecords } = destinationOf(row.kind)
  const samples = await loadSamples(db, planId, showsRecords)
  const sets = decodePlannedSets(row.product_sets, planId)
  return {
    planId,
    runId: `r_${row.run_id}`,
    pipeline: row.pipeline,
    words,
    showsRecords,
    status: row.status,
    digest: row.digest,
    createdAt: row.created_at,
    counts: decodePlanCounts(row.counts, planId),
    guards: decodePlanGuards(row.guards, planId),
    updateFields: decodeReview(row.review, planId).updateFields,
    requests: row.requests,
    newestPlanId: row.newest,
    samples,
    ...(sets === null ? {} : { productSets: sets.changes }),
  }
}

async function loadSamples(db: Database, planId: string, showsRecords: boolean): Promise<readonly ChangeSample[]> {
  const rows = await db.query<{
    change: Change
    key: Buffer
    identifiers: number
    users: number
    after: Buffer | null
    before: Buffer | null
  }>(
    `select c.change, e.keys[1] as key, cardinality(e.keys) as identifiers, e.users, e.after, old.before
     from unnest(array['delete', 'create', 'update', 'renewal']) with ordinality as c (change, place)
     cross join lateral (
       select e.keys, e.users, e.record_key, e.destination_id, e.batch_id,
         case when $2 then substr(b.body, e.byte_offset + 1, e.byte_length) end as after
       -- Reads only the first batches with an operation of this change. Each of these batches gives at least one sample.
       from (
           select b.* from batch b where b.plan_id = $1 and b.parent_id is null and (
             exists (select from batch_entries a where a.batch_id = b.id and c.change = any(a.changes))
             or exists (select from entry e where e.batch_id = b.id and e.change = c.change))
           order by b.seq limit ${maxSamples}) b
         cross join ${entriesOf('b.id')} e
       where e.change = c.change order by b.seq, e.ord limit ${maxSamples}) e
     left join lateral (
       -- the last confirmed put of the product before this one (\`pending\` in a settled batch means confirmed)
       select substr(b.body, o.byte_offset + 1, o.byte_length) as before from entry o join batch b on b.id = o.batch_id
       where $2 and c.change = 'update'
         and o.destination_id = e.destination_id and o.record_key = e.record_key and o.batch_id < e.batch_id and o.change <> 'delete'
         and b.status = 'settled' and (o.outcome = 'confirmed' or o.outcome = 'pending')
       order by o.batch_id desc limit 1) old on true
     order by c.place`,
    [planId, showsRecords],
  )
  return rows.map(({ change, key, identifiers, users, after, before }) => {
    if (!showsRecords) {
      const name = `${plural(users, 'person', 'people')}, ${plural(identifiers, 'identifier')}`
      return { change, name, fields: [], hasExpired: false }
    }
    const name = key.toString()
    if (change === 'delete') return { change, name, fields: [], hasExpired: false }
    const content = jsonOf(after)
    if (content === undefined) return { change, name, fields: [], hasExpired: true }
    const earlier = change === 'update' ? jsonOf(before) : undefined
    return { change, name, fields: fieldsOf(earlier, content), hasExpired: false }
  })
}

/** Returns the fields that differ; without `before`, all fields. Leaves out `serviceOnlyFields`. */
function fieldsOf(before: Readonly<Record<string, unknown>> | undefined, after: Readonly<Record<string, unknown>>): ChangeSample['fields'] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after)])
  return [...names]
    .filter((field) => !serviceOnlyFields.has(field))
    .map((field) => ({ field, before: textOf(before?.[field]), after: textOf(after[field]) }))
    .filter((texts) => before === undefined || texts.before !== texts.after)
    .map(({ field, ...texts }) => ({ field, ...cutTexts(texts) }))
}

/** Returns the product in the bytes of an operation. Undefined if the bytes have expired (docs/retention.md), or are not a JSON object. */
function jsonOf(bytes: Buffer | null): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(bytes?.toString('utf8') ?? '')
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Maximum number of shown characters, without a leading `…`. */
const maxShownCharacters = 200
/** Number of shown characters before the first difference of two long texts. */
const shownBeforeDifference = 40

interface Texts {
  readonly before: string | null
  readonly after: string | null
}

/** Cuts both texts to `maxShownCharacters` characters. Cuts their starts too if the first difference would be near the end or not shown. */
function cutTexts({ before, after }: Texts): Texts {
  let from = 0
  if (before !== null && after !== null) {
    let difference = 0
    while (difference < before.length && before[difference] === after[difference]) difference++
    if (difference >= maxShownCharacters - shownBeforeDifference) from = difference - shownBeforeDifference
    // The second half of a surrogate pair.
    if (/[\udc00-\udfff]/.test(before.charAt(from))) from++
  }
  const cut = (text: string | null) => (text === null ? null : `${from === 0 ? '' : '…'}${cutText(text.slice(from), maxShownCharacters)}`)
  return { before: cut(before), after: cut(after) }
}

/** Lists the changes of a stored plan, from its frozen batches. */
import { rowIdentifiers } from '../../db/identifiers.ts'
import { serviceOnlyFields } from '../../mapping/products/vocabulary.ts'
import { UsageError } from '../../errors.ts'
import type { Database } from '../../db/database.ts'
import { entriesOf, formerEntries } from '../../db/entries/read.ts'
import type { Outer, DbRow, Value } from '../../db/row.ts'
import type { Change } from '../../model/report.ts'
import { describeIdentifier } from '../../mapping/redactPersonalData.ts'
import type { Destination } from '../../destinations/destination.ts'
import { destinationOf, kindsWhere } from '../../destinations/index.ts'
import { recordOf } from '../../unknownValue.ts'

/** Changed field of a product, or the identifiers of a user. */
export interface FieldChange {
  readonly field: string
  /** Confirmed value; null if it is unset, or is not stored any more. For people a list of masked identifiers. */
  readonly before: unknown
  /** Planned value; null if it becomes unset. For people a list of masked identifiers. */
  readonly after: unknown
}

/** Change by one operation: of one record, or of several users. */
export interface PlanChange {
  /** Product id; for people the digest of the row key. If several users share the operation, that of the first user. */
  readonly key: string
  readonly action: Change
  /** Changed fields; empty for renewals and for deletes of products. */
  readonly fields: readonly FieldChange[]
  /** Reason of a delete; absent for other changes. */
  readonly reason?: string
  /** Line of the source where the row was last read. */
  readonly line?: number
  /** Number of users of the operation; absent for one user, and for products. */
  readonly users?: number
}

type ChangeRow = DbRow<'batch', 'seq'> &
  DbRow<'destination', 'kind'> &
  DbRow<'entry', 'record_key' | 'keys' | 'users'> &
  Outer<DbRow<'record', 'line'>> & {
    readonly action: PlanChange['action']
    readonly body: Buffer | null
    readonly body_before: Buffer | null
    readonly keys_before: Value<'entry', 'keys'> | null
    readonly suppressed: boolean
    /** True if the row still has these identifiers, and the end of its membership has passed; otherwise false or null. */
    readonly ended: boolean | null
    /** True if the read of the plan filtered out rows, so that a missing row may be a filtered one. */
    readonly filtered: boolean
  }

/** Number of entries from which on a page ends. A page has whole batches. */
const pageEntries = 1_000

/** Yields the changes of the plan in sending order. */
export async function* loadPlanChanges(db: Database, planId: string): AsyncGenerator<PlanChange> {
  let after = -1
  for (;;) {
    const rows = await db.query<ChangeRow>(
      `with o as materialized ( -- the entries of a page of batches
         select b.seq, e.*, substring(b.body from e.byte_offset + 1 for e.byte_length) as bytes
         from (
             select id, seq, body, sum(entry_count) over (order by seq) - entry_count as entries_before
             from batch where plan_id = $1 and status <> 'split' and seq > $2) b
           cross join ${entriesOf('b.id')} e
         where b.entries_before < ${pageEntries}),
       former as (${formerEntries('o', '$1')})
       select o.seq, d.kind, o.change as action, o.record_key, o.keys, o.users,
         case when d.kind = any($3) then o.bytes end as body,
         case when d.kind = any($3) then (
           select substring(b.body from f.byte_offset + 1 for f.byte_length) from batch b where b.id = f.batch_id) end as body_before,
         f.keys as keys_before, r.line,
         exists (select from remote m where m.destination_id = o.destination_id and m.key = any(o.keys) and m.suppressed) as suppressed,
         ${rowIdentifiers('r')} @> o.keys and r.expires_at <= statement_timestamp() as ended,
         (select coalesce((p.counts ->> 'filtered')::int, 0) > 0 from plan p where p.id = $1) as filtered
       from o
         join destination d on d.id = o.destination_id
         left join record r on r.destination_id = o.destination_id and r.key = o.record_key
         left join former f on f.seq = o.seq and f.ord = o.ord
       order by o.seq, o.ord`,
      [planId, after, kindsWhere(({ showsRecords }) => showsRecords)],
    )
    for (const row of rows) yield changeOf(row)
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.seq
  }
}

/**
 * Returns the ids (`r_81`) of the run that made a plan, and of the run that applied it last. Both are equal if no other run applied it.
 *
 * @throws {UsageError} `UNKNOWN_PLAN`
 */
export async function runsOfPlan(db: Database, planId: string): Promise<{ readonly made: string; readonly applied: string }> {
  const [row] = await db.query<DbRow<'plan', 'run_id'> & { applied_by: string | null }>(
    'select run_id, (select max(id) from run where plan_id = plan.id) as applied_by from plan where id = $1',
    [planId],
  )
  if (row === undefined)
    throw new UsageError('UNKNOWN_PLAN', `there is no plan "${planId}"`, { where: planId, hint: 'sluice plan PIPELINE' })
  return { made: `r_${row.run_id}`, applied: `r_${row.applied_by ?? row.run_id}` }
}

function changeOf(row: ChangeRow): PlanChange {
  const { action, record_key } = row
  const described = descriptions[destinationOf(row.kind).keys]
  return {
    key: record_key.toString(described.keyEncoding),
    action,
    fields: action === 'renewal' ? [] : described.fields(row),
    ...(action === 'delete' ? { reason: described.reasonOfDelete(row) } : {}),
    ...(row.line === null ? {} : { line: Number(row.line) }),
    ...(row.users > 1 ? { users: row.users } : {}),
  }
}

const leftOut = 'left out by only: or except:'

const descriptions: Readonly<Record<Destination['keys'], Description>> = {
  products: {
    keyEncoding: 'utf8',
    fields: productChanges,
    reasonOfDelete: ({ filtered }) => `its row is not in the source${filtered ? `, or ${leftOut}` : ''}`,
  },
  identifiers: { keyEncoding: 'hex', fields: memberChanges, reasonOfDelete: reasonOfMemberDelete },
}

/** Parts of a change that depend on the type of the destination's keys. */
interface Description {
  readonly keyEncoding: 'utf8' | 'hex'
  readonly fields: (row: ChangeRow) => readonly FieldChange[]
  readonly reasonOfDelete: (row: ChangeRow) => string
}

function productChanges({ action, body, body_before }: ChangeRow): readonly FieldChange[] {
  if (action === 'delete') return []
  const before = parseFields(body_before)
  const after = parseFields(body)
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((field) => !serviceOnlyFields.has(field))
    .toSorted()
    .map((field) => ({ field, before: before[field] ?? null, after: after[field] ?? null }))
    .filter((change) => JSON.stringify(change.before) !== JSON.stringify(change.after))
}

function memberChanges({ action, keys, keys_before }: ChangeRow): readonly FieldChange[] {
  const shown = keys.map(describeIdentifier)
  if (action === 'delete') return [{ field: 'identifiers', before: shown, after: [] }]
  return [{ field: 'identifiers', before: action === 'create' ? [] : (keys_before?.map(describeIdentifier) ?? null), after: shown }]
}

function reasonOfMemberDelete({ line, suppressed, ended, filtered }: ChangeRow): string {
  if (suppressed) return 'on a do-not-reach list, or erased'
  if (line === null)
    return `no row that may be sent has these identifiers (row missing, ${filtered ? `${leftOut}, ` : ''}or without consent)`
  return ended === true ? 'its membership now ends earlier, and that end has passed' : 'its row has other identifiers now'
}

/** Returns the fields of a product in its part of a request body; empty without a body. */
function parseFields(body: Buffer | null): Readonly<Record<string, unknown>> {
  if (body === null) return {}
  const value: unknown = JSON.parse(body.toString())
  return recordOf(value)
}

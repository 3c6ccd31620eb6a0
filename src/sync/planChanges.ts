/** Every key that a stored plan changes, read back from its frozen batches: what a reviewer compares. Changes nothing. */
import { UsageError } from '../errors.ts'
import type { Database } from '../db/database.ts'
import { entryOutcome } from '../db/outcomes.ts'
import { maskedIdentifier } from '../mapping/maskedIdentifier.ts'
import { kindsWhere } from '../destinations/index.ts'

export interface FieldChange {
  readonly field: string
  /** Null: not set, or not known to the service before. People: masked digests. */
  readonly before: unknown
  readonly after: unknown
}

export interface PlanChange {
  /** Product id; of people the digest of the row key. */
  readonly key: string
  readonly action: 'create' | 'update' | 'delete' | 'renewal'
  readonly fields: readonly FieldChange[]
  /** Reason of a delete. */
  readonly reason?: string
  /** Line of the source where the row was last read. */
  readonly line?: number
  /** Users in it, where several share an operation. */
  readonly users?: number
}

interface Row extends Record<string, unknown> {
  readonly seq: number
  readonly ord: number
  readonly catalog: boolean
  readonly action: PlanChange['action']
  readonly record_key: Buffer
  readonly keys: Buffer[]
  readonly users: number
  readonly body: Buffer | null
  readonly body_before: Buffer | null
  readonly keys_before: Buffer[] | null
  readonly line: string | null
  readonly erase: boolean
}

const pageRows = 1_000
const productKinds = kindsWhere(({ keys }) => keys === 'products')

/** Changes of the plan in the order of sending. What was confirmed before is taken from the batch that confirmed it. */
export async function* planChanges(db: Database, planId: string): AsyncGenerator<PlanChange> {
  let after = { seq: -1, ord: -1 }
  for (;;) {
    const rows = await db.query<Row>(
      `select o.seq, o.ord, d.kind = any($4) as catalog, o.change as action, o.record_key, o.keys, o.users,
         case when d.kind = any($4) then o.bytes end as body, former.body as body_before, former.keys as keys_before, r.line,
         exists (select from remote m where m.destination_id = o.destination_id and m.key = any(o.keys) and m.erase) as erase
       from (
           select b.seq, e.*, substring(b.body from e.byte_offset + 1 for e.byte_length) as bytes
           from batch b join entry e on e.batch_id = b.id
           where b.plan_id = $1 and b.status <> 'split' and (b.seq, e.ord) > ($2, $3) order by b.seq, e.ord limit ${pageRows}) o
         join destination d on d.id = o.destination_id
         left join record r on r.destination_id = o.destination_id and r.key = o.record_key
         left join lateral (
           select case when d.kind = any($4) then substring(b.body from e.byte_offset + 1 for e.byte_length) end as body, e.keys
           from entry e join batch b on b.id = e.batch_id
           where e.destination_id = o.destination_id and e.record_key = o.record_key and b.plan_id <> $1 and b.operation = 'upsert'
             and b.id < o.batch_id and ${entryOutcome} = 'confirmed'
           order by e.batch_id desc limit 1) former on o.change <> 'create'
       order by o.seq, o.ord`,
      [planId, after.seq, after.ord, productKinds],
    )
    for (const row of rows) yield changeOf(row)
    const last = rows.at(-1)
    if (last === undefined) return
    after = last
  }
}

/** The run that made a plan. @throws {UsageError} UNKNOWN_PLAN */
export async function runOfPlan(db: Database, planId: string): Promise<string> {
  const [row] = await db.query<{ run_id: string }>('select run_id from plan where id = $1', [planId])
  if (row === undefined)
    throw new UsageError('UNKNOWN_PLAN', `there is no plan "${planId}"`, { where: planId, hint: 'sluice plan PIPELINE' })
  return `r_${row.run_id}`
}

function changeOf(row: Row): PlanChange {
  const { action, catalog } = row
  return {
    key: catalog ? row.record_key.toString() : row.record_key.toString('hex'),
    action,
    fields: action === 'renewal' ? [] : catalog ? productFields(row) : memberFields(row),
    ...(action === 'delete' ? { reason: reasonOf(row) } : {}),
    ...(row.line === null ? {} : { line: Number(row.line) }),
    ...(row.users > 1 ? { users: row.users } : {}),
  }
}

function productFields({ action, body, body_before }: Row): readonly FieldChange[] {
  if (action === 'delete') return []
  const before = parsed(body_before)
  const after = parsed(body)
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .toSorted()
    .map((field) => ({ field, before: before[field] ?? null, after: after[field] ?? null }))
    .filter((one) => JSON.stringify(one.before) !== JSON.stringify(one.after))
}

function memberFields({ action, keys, keys_before }: Row): readonly FieldChange[] {
  const shown = keys.map(maskedIdentifier)
  if (action === 'delete') return [{ field: 'identifiers', before: shown, after: [] }]
  return [{ field: 'identifiers', before: action === 'create' ? [] : (keys_before?.map(maskedIdentifier) ?? null), after: shown }]
}

function reasonOf({ catalog, line, erase }: Row): string {
  if (catalog) return 'its row is not in the source'
  if (erase) return 'on a do-not-reach list'
  return line === null ? 'no row that may be sent has it (row missing, or without consent)' : 'its row has other identifiers now'
}

function parsed(body: Buffer | null): Readonly<Record<string, unknown>> {
  if (body === null) return {}
  const value: unknown = JSON.parse(body.toString())
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

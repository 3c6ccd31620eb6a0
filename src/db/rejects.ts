/** Writes the table `reject`: rejected rows with their reasons. Cells are masked before they are stored. */
import { z } from 'zod'
import type { Fault } from '../model/record.ts'
import type { Queryable } from './database.ts'
import { jsonColumn } from './jsonColumn.ts'

export const decodeCells = jsonColumn('reject', 'cells', z.array(z.string()))

const text = z.string()
const faults: z.ZodType<readonly Fault[]> = z.array(z.object({ code: text, field: text, message: text, hint: text }))
/** Decodes `reject.more`: further faults of the row. */
export const decodeFaults = jsonColumn('reject', 'more', faults)

/** Reject to insert: the columns without the run. */
export interface NewReject {
  readonly line: number
  readonly source: number
  readonly code: string
  readonly field: string
  readonly message: string
  readonly hint: string
  /** Key in hex, with the prefix `\x`; null if the row has no valid key. */
  readonly record_key: string | null
  readonly cells: readonly string[]
  readonly more: readonly object[]
}

export async function insertRejects(db: Queryable, runId: number, rejects: readonly NewReject[]): Promise<void> {
  await db.execute(
    `insert into reject (run_id, line, source, code, field, message, hint, record_key, cells, more)
     select $1, line, source, code, field, message, hint, record_key, cells, more
     from jsonb_to_recordset($2::jsonb)
       as r (line int8, source int2, code text, field text, message text, hint text, record_key bytea, cells jsonb, more jsonb)`,
    [runId, JSON.stringify(rejects)],
  )
}

/**
 * Returns SQL that inserts a reject for each row of a query. `rows`: query with run, line, source, code, field, message, hint and record
 * key as columns, in this order.
 */
export const addRejectsSql = (rows: string): string =>
  `insert into reject (run_id, line, source, code, field, message, hint, record_key) ${rows}`

/**
 * Cells of a contradicting row (`DUPLICATE_CONFLICT`). Its reject is found by line, key, and place among the rejects with this line and
 * key.
 */
export interface ConflictCells {
  readonly line: number
  /** Record key in hex. */
  readonly key: string
  /** Place among the rejects with this line and key, from 1. */
  readonly nth: number
  readonly cells: readonly string[]
}

/**
 * Stores the cells of contradicting rows (`DUPLICATE_CONFLICT`) in their rejects. `source`: index of the source in the pipeline. Rejects
 * with the same line and key differ only in their cells, so their order does not matter.
 */
export async function storeConflictCells(db: Queryable, runId: number, source: number, found: readonly ConflictCells[]): Promise<void> {
  await db.execute(
    `update reject r set cells = x.cells
     from (
       select ctid as row, line, record_key, row_number() over (partition by line, record_key) as nth
       from reject where run_id = $1 and source = $2 and code = 'DUPLICATE_CONFLICT') n
       join jsonb_to_recordset($3::jsonb) as x (line int8, key text, nth int, cells jsonb)
         on x.line = n.line and decode(x.key, 'hex') = n.record_key and x.nth = n.nth
     where r.ctid = n.row`,
    [runId, source, JSON.stringify(found)],
  )
}

export async function deleteRejects(db: Queryable, runs: readonly number[]): Promise<void> {
  await db.execute('delete from reject where run_id = any($1::bigint[])', [runs])
}

/** Removes cells, key, message and further faults from the rejects of erased records of an audience. Code, field and hint stay. */
export async function eraseRejects(tx: Queryable, destinationId: number, records: readonly Buffer[]): Promise<void> {
  await tx.execute(
    `update reject j set cells = '[]', record_key = null, message = 'erased', more = '[]'
     from run r where r.id = j.run_id and r.destination_id = $1 and j.record_key = any($2::bytea[])`,
    [destinationId, records],
  )
}

/** Removes the cells of rejects a week after the end of their run. Returns the number of changed rejects. */
export async function dropOldCells(db: Queryable): Promise<number> {
  return db.execute(
    `update reject x set cells = '[]' from run r
     where r.id = x.run_id and r.finished_at < statement_timestamp() - interval '7 days' and x.cells <> '[]'`,
  )
}

/** Deletes rejects 30 days after the end of their run, except those of the last complete read of a destination. Returns their number. */
export async function dropOldRejects(db: Queryable): Promise<number> {
  return db.execute(
    `delete from reject x using run r
     where r.id = x.run_id and r.finished_at < statement_timestamp() - interval '30 days' and x.run_id not in (
       select s.run_id from snapshot s join (select max(id) as id from snapshot where status = 'closed' group by destination_id) l using (id))`,
  )
}

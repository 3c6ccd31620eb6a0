/**
 * Writes the table `snapshot`. A snapshot is open while the sources are read and planned. Its plan ends it as closed (a complete read) or
 * as incomplete. A snapshot without a plan is discarded. A missing row causes a delete only if the snapshot is closed.
 */
import { z } from 'zod'
import type { SourceFacts } from '../formats/rows.ts'
import type { RowCounts } from '../model/report.ts'
import { hasRows, type Queryable } from './queryable.ts'
import { jsonColumn } from './jsonColumn.ts'
import type { DbRow } from './row.ts'

const text = z.string()
const number = z.number()

const sourceFacts: z.ZodType<SourceFacts> = z.object({
  uri: text,
  bytes: number,
  sha256: text,
  format: text,
  encoding: text,
  compression: text,
  columns: z.array(text),
  finalNewline: z.boolean().nullable(),
  completeness: z.object({ complete: z.boolean(), proof: text, reason: text.exactOptional() }),
  notes: z.array(text).exactOptional(),
  quality: z
    .object({
      members: number,
      filled: z.record(text, number),
      optedOut: number.exactOptional(),
      withoutKey: number.exactOptional(),
      brand: text.exactOptional(),
      group: text.exactOptional(),
    })
    .exactOptional(),
  rows: number.exactOptional(),
  joined: z.object({ main: z.lazy(() => sourceFacts), file: z.lazy(() => sourceFacts) }).exactOptional(),
  etag: text.exactOptional(),
  lastModified: text.exactOptional(),
})
/** Decodes `snapshot.sources`: facts about each source. */
export const decodeSources = jsonColumn('snapshot', 'sources', z.array(sourceFacts))

/** Counts of a snapshot with a plan; other snapshots may have none. */
const rowCounts: z.ZodType<RowCounts> = z.object({
  read: number,
  rejected: number,
  duplicates: number,
  suppressed: number,
  filtered: number.exactOptional(),
  valid: number,
})
/** Decodes `snapshot.counts` of a snapshot with a plan. */
export const decodeRowCounts = jsonColumn('snapshot', 'counts', rowCounts)

export interface NewSnapshot {
  readonly destinationId: number
  readonly runId: number
  readonly definitionHash: string
  readonly suppressionVersion: number
}

/**
 * SQL condition: the read of snapshot `s` ended, but its process died or lost the database before the plan. So it is not known who opted
 * out. The caller must have locked the destination.
 */
const isInterrupted = `(s.status = 'open' and exists (select from run r where r.id = s.run_id and r.snapshot_id = s.id)
  and not exists (select from plan p where p.snapshot_id = s.id))`

/**
 * Opens a snapshot and returns its id. Discards an open snapshot of the destination: its run was killed before the plan was complete.
 * `afterInterruptedRead`: true if the read of that run had ended. Then its snapshot is marked as by `markUnplannedOptOuts`.
 */
export async function openSnapshot(
  tx: Queryable,
  snapshot: NewSnapshot,
): Promise<{ readonly id: number; readonly afterInterruptedRead: boolean }> {
  const markedCount = await tx.execute(
    `update snapshot s set counts = counts || '{"unplannedOptOuts": true}' where destination_id = $1 and ${isInterrupted}`,
    [snapshot.destinationId],
  )
  await tx.execute(
    `update snapshot set status = 'discarded', closed_at = statement_timestamp() where destination_id = $1 and status = 'open'`,
    [snapshot.destinationId],
  )
  const [row] = await tx.query<DbRow<'snapshot', 'id'>>(
    `insert into snapshot (destination_id, run_id, status, definition_hash, suppression_version) values ($1, $2, 'open', $3, $4) returning id`,
    [snapshot.destinationId, snapshot.runId, snapshot.definitionHash, snapshot.suppressionVersion],
  )
  if (row === undefined) throw new Error('the snapshot was just inserted')
  return { id: Number(row.id), afterInterruptedRead: markedCount > 0 }
}

/** Stores facts about each source: size, digest, proof of its end. */
export async function storeSources(db: Queryable, snapshotId: number, sources: readonly object[]): Promise<void> {
  await db.execute('update snapshot set sources = $2 where id = $1', [snapshotId, JSON.stringify(sources)])
}

/** Ends an open snapshot with its plan. `closed`: the read is complete. `incomplete`: the end of a source is not proven. */
export async function closeSnapshot(
  tx: Queryable,
  snapshotId: number,
  { status, counts }: { readonly status: 'closed' | 'incomplete'; readonly counts: object },
): Promise<void> {
  await tx.execute(`update snapshot set status = $2, closed_at = statement_timestamp(), counts = $3 where id = $1 and status = 'open'`, [
    snapshotId,
    status,
    JSON.stringify(counts),
  ])
}

/** Ends a snapshot without a plan. `counts`: merged into the stored counts. Does nothing if it has ended, or has parts of a plan. */
export async function discardSnapshot(db: Queryable, snapshotId: number, counts?: object): Promise<void> {
  await db.execute(
    `update snapshot set status = 'discarded', closed_at = statement_timestamp(), counts = counts || coalesce($2::jsonb, '{}')
     where id = $1 and status = 'open' and not exists (select from plan p where p.snapshot_id = $1)`,
    [snapshotId, counts === undefined ? null : JSON.stringify(counts)],
  )
}

/** Marks a snapshot without a plan: people with stored records opted out in its read. */
export async function markUnplannedOptOuts(db: Queryable, snapshotId: number): Promise<void> {
  await db.execute(`update snapshot set counts = counts || '{"unplannedOptOuts": true}' where id = $1`, [snapshotId])
}

/**
 * SQL condition: people opted out in the read of snapshot `s`, or may have, and no later read has a plan. $1: destination. Compares ids,
 * because the clock of the database may have been wrong.
 */
const isUnplanned = `s.destination_id = $1 and (s.counts ? 'unplannedOptOuts' or ${isInterrupted})
  and s.id > coalesce((select max(id) from snapshot where destination_id = $1 and status in ('closed', 'incomplete')), 0)`

/** Returns true if people opted out in a read after which no plan was made, or may have. */
export async function hasUnplannedOptOuts(db: Queryable, destinationId: number): Promise<boolean> {
  return hasRows(db, `select from snapshot s where ${isUnplanned}`, [destinationId])
}

/** Returns true if a read ended, but its process died or lost the database before the plan. */
export async function hasInterruptedRead(db: Queryable, destinationId: number): Promise<boolean> {
  return hasRows(db, `select from snapshot s where s.destination_id = $1 and ${isInterrupted}`, [destinationId])
}

/** Returns the sources of each read for which `hasUnplannedOptOuts` returns true. */
export async function sourcesOfUnplannedReads(db: Queryable, destinationId: number): Promise<readonly (readonly SourceFacts[])[]> {
  const rows = await db.query<DbRow<'snapshot', 'id' | 'sources'>>(`select s.id, s.sources from snapshot s where ${isUnplanned}`, [
    destinationId,
  ])
  return rows.map(({ id, sources }) => decodeSources(sources, id))
}

/** Discards the snapshots after `snapshotId`, with their marks. For a plan over this snapshot, because the sources are as in its read. */
export async function discardLaterSnapshots(tx: Queryable, destinationId: number, snapshotId: number): Promise<void> {
  await tx.execute(`${discardWithMarks} where destination_id = $1 and id > $2 and (status = 'open' or counts ? 'unplannedOptOuts')`, [
    destinationId,
    snapshotId,
  ])
}

/** SQL that discards snapshots with their marks. A condition must follow. */
const discardWithMarks = `update snapshot set status = 'discarded', closed_at = coalesce(closed_at, statement_timestamp()),
  counts = counts - 'unplannedOptOuts'`

/** Discards all snapshots of a destination with their marks, so that its next run depends on none. */
export async function discardSnapshotsOf(tx: Queryable, destinationId: number): Promise<void> {
  await tx.execute(`${discardWithMarks} where destination_id = $1`, [destinationId])
}

/** Deletes snapshots of runs that ended more than `days` days ago, except `kept` ones, open ones, and snapshots with a plan. */
export async function deleteSnapshots(tx: Queryable, days: number, kept: readonly string[]): Promise<void> {
  await tx.execute(
    `delete from snapshot s using run u
     where u.id = s.run_id and u.finished_at < statement_timestamp() - $1 * interval '1 day' and s.status <> 'open' and s.id <> all($2::bigint[])
       and not exists (select from plan p where p.snapshot_id = s.id)`,
    [days, kept],
  )
}

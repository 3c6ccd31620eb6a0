/**
 * Writes the entries of frozen batches: for people usually one row of `batch_entries` per batch, otherwise one row of `entry` per entry.
 */
import type { Transaction } from '../database.ts'
import type { Destination, Operation } from '../../destinations/destination.ts'
import { recordKeyBytes, type WrittenUpdates } from '../../destinations/updateWriter.ts'
import { identifierBytes } from '../../model/record.ts'
import type { Change } from '../../model/report.ts'
import { toTemplate } from '../bodyTemplate.ts'
import { CopyWriter } from '../copyBinary.ts'
import type { ColumnName } from '../row.ts'
import { frozenEntryColumns } from './read.ts'

export interface FrozenEntry {
  readonly recordKey: Buffer
  /** Keys of `remote` that the operation changes, in hex. */
  readonly keys: readonly string[]
  readonly change: Change
  /** As the column `entry.key_lookup`. */
  readonly keyLookup?: boolean
  /** `desired_hash`, which becomes `synced_hash` when the operation is confirmed; null for a delete. */
  readonly hash: Buffer | null
  /** End of the membership in epoch milliseconds; null for products and deletes. */
  readonly expiresAtMs: number | null
  /** Number of users in the operation; 1 for a product. */
  readonly users: number
}

export interface FrozenEntries {
  readonly batchId: number
  readonly op: Operation
  readonly items: readonly FrozenEntry[]
  /** Offset of each entry's bytes in the body. */
  readonly offsets: Int32Array
  /** Length of each entry in bytes. */
  readonly lengths: Int32Array
  /** Template of the body; undefined if the body is stored whole. */
  readonly template?: Buffer | undefined
}

const oneRowColumns = [
  'batch_id',
  'destination_id',
  'first_key',
  'last_key',
  'record_keys',
  'keys',
  'changes',
  'hashes',
  'users',
  'expires_at',
  'first_offset',
  'byte_lengths',
  'template',
] as const satisfies readonly ColumnName<'batch_entries'>[]

/** Inserts the entries of the batches by COPY, into `batch_entries` or `entry`. */
export async function writeEntries(
  tx: Transaction,
  destinationId: number,
  destination: Pick<Destination, 'evidence'>,
  batches: readonly FrozenEntries[],
): Promise<void> {
  const inOneRow = batches.filter((batch) => fitsOneRow(destination, batch))
  if (inOneRow.length > 0) await writeInOneRow(tx, destinationId, inOneRow)
  const inSeparateRows = batches.filter((batch) => !inOneRow.includes(batch))
  if (inSeparateRows.length > 0) await writeInSeparateRows(tx, destinationId, inSeparateRows)
}

/**
 * Returns true if the entries of a batch are stored in one row. This requires all of the following:
 * - The service answers with counts for all users of a request (`evidence` is `counts`). Products have separate outcomes, so they have
 *   separate rows.
 * - All entries have the same expiry, and all keys are digests.
 * - All updates have a content hash and deletes have none, because `expanded` finds the hash of an entry by its position.
 */
export function fitsOneRow(destination: Pick<Destination, 'evidence'>, { op, items }: Pick<FrozenEntries, 'op' | 'items'>): boolean {
  if (destination.evidence !== 'counts') return false
  const expiresAtMs = items[0]?.expiresAtMs
  return items.every(
    (item) =>
      item.expiresAtMs === expiresAtMs &&
      (item.hash === null) === (op === 'delete') &&
      item.keys.every((key) => key.length === identifierBytes * 2),
  )
}

/** Returns the template of a body (`bodyTemplate.ts`); undefined if the body must be stored whole. */
export function templateOf(
  destination: Pick<Destination, 'evidence'>,
  batch: Pick<FrozenEntries, 'op' | 'items'> & { readonly body: Buffer },
): Buffer | undefined {
  if (!fitsOneRow(destination, batch)) return undefined
  const keys = batch.items.flatMap((item) => item.keys)
  return toTemplate(batch.body, keys)
}

async function writeInOneRow(tx: Transaction, destinationId: number, batches: readonly FrozenEntries[]): Promise<void> {
  const copy = new CopyWriter(tx.client, `batch_entries (${oneRowColumns.join(', ')})`)
  for (const { batchId, items, offsets, lengths, template } of batches) {
    const [firstItem] = items
    if (firstItem === undefined) continue
    let low = firstItem.recordKey
    let high = low
    for (const { recordKey } of items) {
      if (recordKey.compare(low) < 0) low = recordKey
      if (recordKey.compare(high) > 0) high = recordKey
    }
    copy.row(oneRowColumns.length)
    copy.int8(batchId)
    copy.int4(destinationId)
    copy.bytes(low)
    copy.bytes(high)
    copy.byteaArray(items.map(({ recordKey }) => recordKey))
    copy.hexArray(items.map(({ keys }) => keys.join('')))
    copy.textArray(oneIfAllEqual(items.map(({ change }) => change)))
    const hashes = items.flatMap(({ hash }) => (hash === null ? [] : [hash]))
    copy.byteaArray(oneIfEqualBytes(hashes))
    copy.int4Array(oneIfAllEqual(items.map(({ users }) => users)))
    copy.timestamp(firstItem.expiresAtMs)
    copy.int4(offsets[0] ?? 0)
    copy.int4Array(oneIfAllEqual(lengths))
    copy.bytes(template)
    if (copy.full) await copy.flush()
  }
  await copy.end()
}

/** Entries of a batch, ordered by record key. Each entry is one user. */
export interface OrderedEntries extends Omit<WrittenUpdates, 'body' | 'sha256' | 'template'> {
  readonly batchId: number
  /** Change of each entry, or one for all. */
  readonly changes: readonly Change[]
  /** `desired_hash` of each entry, or one for all; empty for deletes. */
  readonly hashes: readonly Buffer[]
  /** End of all memberships; null for deletes. */
  readonly expiresAtMs: number | null
  readonly template: Buffer
}

/** Writes the same rows as `writeEntries`, from bytes instead of objects. */
export async function writeOrderedEntries(tx: Transaction, destinationId: number, batches: readonly OrderedEntries[]): Promise<void> {
  const copy = new CopyWriter(tx.client, `batch_entries (${oneRowColumns.join(', ')})`)
  for (const { batchId, recordKeys, keys, keyLengths, changes, hashes, expiresAtMs, firstOffset, lengths, template } of batches) {
    copy.row(oneRowColumns.length)
    copy.int8(batchId)
    copy.int4(destinationId)
    copy.bytes(recordKeys.subarray(0, recordKeyBytes))
    copy.bytes(recordKeys.subarray(-recordKeyBytes))
    copy.byteaSlices(recordKeys, recordKeyBytes)
    copy.byteaSlices(keys, keyLengths)
    // An array with one element means that all entries have this value.
    copy.textArray(oneIfAllEqual(changes))
    copy.byteaArray(oneIfEqualBytes(hashes))
    copy.int4Array([1])
    copy.timestamp(expiresAtMs)
    copy.int4(firstOffset)
    copy.int4Array(oneIfAllEqual(lengths))
    copy.bytes(template)
    if (copy.full) await copy.flush()
  }
  await copy.end()
}

/** Returns only the first value if all values have equal bytes; otherwise all values. */
function oneIfEqualBytes(values: readonly Buffer[]): readonly Buffer[] {
  return values.every((value) => value.equals(values[0] ?? value)) ? values.slice(0, 1) : values
}

/** Returns only the first element if all elements are equal; otherwise all elements. */
function oneIfAllEqual<Values extends readonly unknown[] | Int32Array>(values: Values): Values
function oneIfAllEqual(values: readonly unknown[] | Int32Array): readonly unknown[] | Int32Array {
  for (let i = 1; i < values.length; i++) if (values[i] !== values[0]) return values
  return values.slice(0, 1)
}

/** Columns of a row of `entry`. Only `key_lookup` is not in `batch_entries`, because it is for products, which have separate rows. */
const entryRowColumns = [...frozenEntryColumns, 'key_lookup'] as const satisfies readonly ColumnName<'entry'>[]

async function writeInSeparateRows(tx: Transaction, destinationId: number, batches: readonly FrozenEntries[]): Promise<void> {
  const copy = new CopyWriter(tx.client, `entry (${entryRowColumns.join(', ')})`)
  for (const { batchId, items, offsets, lengths } of batches) {
    for (const [ord, item] of items.entries()) {
      copy.row(entryRowColumns.length)
      copy.int8(batchId)
      copy.int4(ord)
      copy.int4(destinationId)
      copy.bytes(item.recordKey)
      copy.hexArray(item.keys)
      copy.text(item.change)
      copy.bytes(item.hash)
      copy.timestamp(item.expiresAtMs)
      copy.int4(item.users)
      copy.int4(offsets[ord] ?? 0)
      copy.int4(lengths[ord] ?? 0)
      copy.boolean(item.keyLookup ?? false)
    }
    if (copy.full) await copy.flush()
  }
  await copy.end()
}

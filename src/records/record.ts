/** What a row of a source becomes. Shapes only; the rules live beside (product.ts, member.ts, identifiers/). */

/** A row as a format reader hands it over: cells by column, in the source's own order, and where it stood. */
export interface Row {
  /** First line of the record in its file, from 1 (interface.md 4). Item number for formats without lines is never used. */
  readonly line: number
  /** Column names, shared by all rows of a file with one header; per row for JSON. */
  readonly columns: readonly string[]
  /** Cell texts, aligned with `columns`; undefined where the row is short or the element is absent. */
  readonly cells: readonly (Cell | undefined)[]
  /** What the reader itself holds against the row (ragged, bad quote, bad JSON …): it becomes a reject with this code. */
  readonly fault?: RowFault
  /** What the reader mended in the row because a setting says so: warnings of a row that stays. */
  readonly mends?: readonly RowMend[]
}

/** Text, or several texts where an element or key repeats (`additional_image_link`). */
export type Cell = string | readonly string[]

export interface RowFault {
  readonly code: RejectCode
  readonly message: string
  readonly field?: string
}

/** `code` is that of a warning; `field` the column, empty where no single one is meant; `message` repeats no value. */
export interface RowMend {
  readonly code: RejectCode
  readonly field: string
  readonly message: string
}

/** Upper snake case, stable; the list with the mends is records/rejectCodes.ts. */
export type RejectCode = string

/** A row we cannot use. Personal values are masked before they get here. */
export interface Reject {
  readonly line: number
  readonly code: RejectCode
  /** Target field (`price`), or column where no field applies. */
  readonly field: string
  readonly message: string
  readonly mend: string
  /** The record's key where it could be read: a synced record with this key is stale, not gone. */
  readonly key?: Uint8Array
}

/** Something dropped or mended on a row that stays. Counted by code with the first lines, never stored a row each. */
export interface Warning {
  readonly line: number
  readonly code: string
  readonly field: string
  readonly message: string
}

/** A valid product, ready to be sent: non-null fields of spec 2.2 in sorted key order, prices canonical. */
export interface ProductRecord {
  readonly kind: 'product'
  /** UTF-8 bytes of the product id. */
  readonly key: Uint8Array
  readonly line: number
  /** `JSON.stringify` of the written fields in sorted key order: what is sent and what is compared. */
  readonly json: string
}

/** Order is the order in a user object; the number is the type byte of a packed identifier. */
export const identifierTypes = ['email', 'device_id', 'handle', 'service_id', 'phone_number', 'partner_user_id'] as const
export type IdentifierType = (typeof identifierTypes)[number]

/**
 * A packed identifier: one byte of type (index in `identifierTypes` + 1), then the 32 bytes of the SHA-256, or for
 * `partner_user_id` the UTF-8 bytes of the value itself.
 */
export type PackedIdentifier = Buffer

/** A valid member: its usable identifiers, sorted bytewise and without repeats; at least one, unless it is not wanted. */
export interface MemberRecord {
  readonly kind: 'member'
  /** First 16 bytes of SHA-256 over the row's own key text; the text itself is nowhere kept. */
  readonly key: Uint8Array
  readonly line: number
  readonly identifiers: readonly PackedIdentifier[]
  /** Only where the row says so; milliseconds since 1970, whole seconds. */
  readonly effectiveAtMs?: number
  readonly expiresAtMs?: number
  /** False: the row asks to leave (no consent, or `remove` of a do-not-reach list); its identifiers may be blank by then. */
  readonly wanted: boolean
}

export type MappedRecord = ProductRecord | MemberRecord

/** Result of mapping one row: exactly one of a record or a reject, and any number of warnings. */
export interface Mapped {
  readonly record?: MappedRecord
  readonly reject?: Reject
  readonly warnings: readonly Warning[]
}

/** Rows → records, for one pipeline and one source file. Pure: same row, same result; no clock, no I/O. */
export interface RecordMapper {
  map: (row: Row) => Mapped
  /**
   * Called once with a file's columns before its first row: throws a RunError where a required column is missing and
   * returns what is worth saying once (unknown columns, with suggestions). `uri`: the source they stand in, the first one
   * without it.
   */
  start: (columns: readonly string[], uri?: string) => readonly Warning[]
  /** The row's cells, masked where personal, aligned with its columns: what rejects keep of it. */
  mask: (row: Row) => readonly string[]
}

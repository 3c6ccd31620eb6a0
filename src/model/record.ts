/** Rows and the records they map to. The rules are in src/mapping/. */

/** Row from a format reader: cells by column, in the order of the source, and its line. */
export interface SourceRow {
  /** First line of the record in its file, from 1. For a query: the number of the row. */
  readonly line: number
  /** Column names. All rows of a table share one list. In JSON and XML, the rows of a batch share a list of all names so far. */
  readonly columns: readonly string[]
  /** Cell texts, aligned with `columns`; undefined if the row is short, or the element or value is absent. */
  readonly cells: readonly (Cell | undefined)[]
  /** Fault that the reader found, such as a wrong number of cells or bad JSON. The row is rejected with the code of the fault. */
  readonly fault?: RowFault
  /** Warnings of the reader: repairs that a setting allows, and rows that were joined. */
  readonly warnings?: readonly RowWarning[]
}

/** Text, or several texts if an element or key repeats (`additional_image_link`). */
export type Cell = string | readonly string[]

/** Fault of a row that the reader found. */
export interface RowFault {
  /** Indexes of the cells that `join:` could not fill, because its file has no row for this row, or several different rows. */
  readonly unjoined?: readonly number[]
  /**
   * Present if the file of `join:` has several different rows for this row. Contains their cells for the columns in `unjoined`, in this
   * order. The last row of a file without a proven end is left out, because it may be cut off.
   */
  readonly variants?: readonly (readonly (Cell | undefined)[])[]
  readonly code: RejectCode
  readonly message: string
  readonly field?: string
}

/** Warning of the reader. `field`: column, or empty if the warning is about no column. `message` contains no value of the row. */
export interface RowWarning {
  readonly code: RejectCode
  readonly field: string
  readonly message: string
}

/** Stable code in upper snake case. mapping/rejectCodes.ts lists the codes with their hints. */
export type RejectCode = string

export interface Fault {
  readonly code: RejectCode
  /** Target field (`price`), or the column if no field applies. */
  readonly field: string
  readonly message: string
  readonly hint: string
}

/** Rejected row with its first fault. Personal values are already masked. */
export interface Reject extends Fault {
  readonly line: number
  /** Further faults of the row, in the order of its fields, so that all can be corrected together. */
  readonly more?: readonly Fault[]
  /** True if the first fault is an email in a phone column, or a phone in an email column. Many such rows show a wrong mapping. */
  readonly isMisplaced?: true
  /** Key of the record if it could be read: a synced record with this key is kept as it was. */
  readonly key?: Uint8Array
}

/** Note on a dropped or repaired value of a row that is still used. Not stored per row: reports count them by code and field. */
export interface Warning {
  readonly line: number
  readonly code: string
  readonly field: string
  readonly message: string
  /** Setting to write for this file, if there is one. */
  readonly hint?: string
  /** True for a dropped email in a phone column, or a dropped phone in an email column. */
  readonly isMisplaced?: true
}

/** Valid product, ready to be sent: non-null fields of spec 2.2 in sorted key order, prices canonical. */
export interface ProductRecord {
  readonly kind: 'product'
  /** UTF-8 bytes of the product id. */
  readonly key: Uint8Array
  readonly line: number
  /** `JSON.stringify` of the written fields in sorted key order. This text is sent, and is compared with the synced one. */
  readonly json: string
}

/** Types in the order of a user object; index + 1 is the type byte of a packed identifier. */
export const identifierTypes = ['email', 'device_id', 'handle', 'service_id', 'phone_number', 'partner_user_id'] as const
export type IdentifierType = (typeof identifierTypes)[number]

/**
 * Packed identifier. Its first byte is the type: index in `identifierTypes` + 1. The 32 bytes of the SHA-256 follow; for a
 * `partner_user_id`, the UTF-8 bytes of the value itself.
 */
export type PackedIdentifier = Buffer

/** Number of bytes of a packed identifier, except a `partner_user_id`. */
export const identifierBytes = 33

/** Valid member. Has at least one identifier, except if the row opted out. */
export interface MemberRecord {
  readonly kind: 'member'
  /** First 16 bytes of the SHA-256 of the row's key text; without a key column, of the row's identifiers. The text is not stored. */
  readonly key: Uint8Array
  readonly line: number
  /** Usable identifiers, sorted bytewise, without duplicates. If the row opted out, also the identifiers without consent. */
  readonly identifiers: readonly PackedIdentifier[]
  /** Identifiers of types that the row does not consent to. They are not sent, not even for another row. */
  readonly withoutConsent?: readonly PackedIdentifier[]
  /** Identifiers that are two forms of one, in pairs one after the other (docs/decisions/both-forms.md). Absent if there are none. */
  readonly bothForms?: readonly PackedIdentifier[]
  /** Start and end of the membership in milliseconds since 1970, whole seconds. Absent if the row has none. */
  readonly effectiveAtMs?: number
  readonly expiresAtMs?: number
  /** False if the row opted out: no consent, a child, or `map.remove` of a do-not-reach list. Then `identifiers` may be empty. */
  readonly desired: boolean
}

/** Valid record of any type of destination. */
export type MappedRecord = ProductRecord | MemberRecord

/** Result of mapping one row: exactly one of a record, a reject or `filtered`, and any number of warnings. */
export interface Mapped {
  /** True if the pipeline's row filters exclude the row: it is missing for the destination. */
  readonly filtered?: true
  /** Identifiers of a filtered or rejected row that lack consent. They are not sent for another row either. Absent if there are none. */
  readonly optedOut?: readonly PackedIdentifier[]
  readonly record?: MappedRecord
  readonly reject?: Reject
  readonly warnings: readonly Warning[]
}

/** The form in which fields of an answer (and of a write with the same shape) are written down. Data only. */

/** `long` values may exceed 2^53. `timestamp`: ISO 8601 text, `Z`, whole seconds. `any`: open, not described by a source. */
export type FieldType =
  | 'string'
  | 'integer'
  | 'long'
  | 'boolean'
  | 'enum'
  | 'timestamp'
  | 'strings'
  | 'integers'
  | 'object'
  | 'objects'
  | 'any'

export interface Field {
  readonly name: string
  readonly type: FieldType
  /** May read null (or, in the catalog area, an empty string: docs/spec-notes.md#catalogs 'Reads'). */
  readonly nullable?: boolean
  /** May be missing from the answer. */
  readonly optional?: boolean
  /** On write. `conditional`: a rule beside the resource says when. */
  readonly required?: boolean | 'conditional'
  /** Made by the service; what a write says is ignored or refused. */
  readonly generated?: boolean
  readonly maxLength?: number
  readonly maxItems?: number
  readonly min?: number
  /** Allowed on write; a read may show others (docs/spec-notes.md#catalogs 'Sets'). */
  readonly values?: readonly string[]
  /** Format of the text: see the sentence of the field in spec 2.2. */
  readonly format?: 'price' | 'https-url' | 'url-list' | 'date-range' | 'plain-text'
  readonly source?: string
}

export interface Resource {
  readonly fields: readonly Field[]
  readonly source: string
}

type Extra = Partial<Omit<Field, 'name' | 'type'>>

/** Keeps the literal types, so that the client's answers are typed by the contract. */
export const field = <const Name extends string, const Type extends FieldType, const Rest extends Extra>(
  name: Name,
  type: Type,
  rest?: Rest,
) => ({ name, type, ...rest }) as { readonly name: Name; readonly type: Type } & Rest

/** Fields of most records (spec Conventions). */
export const recordFields = [field('created_at', 'timestamp'), field('updated_at', 'timestamp'), field('deleted', 'boolean')] as const

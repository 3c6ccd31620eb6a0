/** Types of the resources of the contract: the fields of answers, and of writes with the same shape. */

/** Type of a field. `long`: may exceed 2^53. `timestamp`: ISO 8601 text with `Z` and whole seconds. `any`: not described by the specification. */
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
  /** True if the value may be null, in catalogs also an empty text (docs/spec-notes.md#catalogs). */
  readonly nullable?: boolean
  /** True if the field may be missing from the answer. */
  readonly optional?: boolean
  /** Requirement in writes. `conditional`: a rule of the endpoint says when. */
  readonly required?: boolean | 'conditional'
  /** True if the service generates the value. Writes cannot set it. */
  readonly generated?: boolean
  readonly maxLength?: number
  readonly maxItems?: number
  readonly min?: number
  /** Values that a write may have. A read may return others. */
  readonly values?: readonly string[]
  /** Format of the text (spec 2.2). */
  readonly format?: 'price' | 'https-url' | 'url-list' | 'date-range' | 'plain-text'
  readonly source?: string
}

export interface Resource {
  readonly fields: readonly Field[]
  readonly source: string
}

type Extra = Partial<Omit<Field, 'name' | 'type'>>

/** Creates a field with literal types, from which the types of the client are derived. */
export const field = <const Name extends string, const Type extends FieldType, const Rest extends Extra>(
  name: Name,
  type: Type,
  rest?: Rest,
  // A spread of an optional parameter loses its literal type.
) => ({ name, type, ...rest }) as { readonly name: Name; readonly type: Type } & Rest

/** Fields of most records (spec Conventions). */
export const recordFields = [field('created_at', 'timestamp'), field('updated_at', 'timestamp'), field('deleted', 'boolean')] as const

/** Types of the resources of the contract: the fields of answers, and of writes with the same shape. */

/**
 * Type of a field. `long`: whole number that may exceed 2^53. `timestamp`: ISO 8601 text with `Z` and whole seconds. `strings`, `integers`,
 * `objects`: arrays. `any`: not described by the specification.
 */
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
  /** True if a write requires the field. `conditional`: a rule of the endpoint has the condition. */
  readonly required?: boolean | 'conditional'
  /** True if the service generates the value. A write may contain the field, but cannot change it. */
  readonly generated?: boolean
  readonly maxLength?: number
  readonly maxItems?: number
  readonly min?: number
  /** Values that a write may have. A read may return others. */
  readonly values?: readonly string[]
  /** Format of the text (spec 2.2). */
  readonly format?: 'price' | 'https-url' | 'url-list' | 'date-range' | 'plain-text'
  /** As in `Parameter` of `endpoint.ts`. Default: the `source` of the resource. */
  readonly source?: string
}

/** Record that the service returns. */
export interface Resource {
  readonly fields: readonly Field[]
  readonly source: string
}

type Extra = Partial<Omit<Field, 'name' | 'type'>>

/** Creates a field with literal types, from which the types of the client are derived. `rest`: its other properties. */
export const field = <const Name extends string, const Type extends FieldType, const Rest extends Extra>(
  name: Name,
  type: Type,
  rest?: Rest,
  // Without the cast, the spread of the optional `rest` loses its literal type.
) => ({ name, type, ...rest }) as { readonly name: Name; readonly type: Type } & Rest

/** Creates fields of texts. */
export const texts = <const Name extends string>(...names: readonly Name[]) => names.map((name) => field(name, 'string'))

/** Creates fields of texts that may be null. */
export const nullableTexts = <const Name extends string>(...names: readonly Name[]) =>
  names.map((name) => field(name, 'string', { nullable: true }))

/** Creates fields of texts that may be null or missing. */
export const optionalTexts = <const Name extends string>(...names: readonly Name[]) =>
  names.map((name) => field(name, 'string', { nullable: true, optional: true }))

/** Fields of most records, besides `id` (spec Conventions). */
export const recordFields = [field('created_at', 'timestamp'), field('updated_at', 'timestamp'), field('deleted', 'boolean')] as const

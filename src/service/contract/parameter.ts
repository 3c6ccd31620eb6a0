/** Functions that create a `Parameter` with literal types, and parameters that many endpoints share. */
import type { Parameter, ParameterType } from './endpoint.ts'

type Extra = Partial<Omit<Parameter, 'name' | 'in' | 'type'>>
type Place = 'path' | 'query' | 'body'
type Made<Name extends string, In extends Place, Type extends ParameterType, Rest extends Extra> = {
  readonly name: Name
  readonly in: In
  readonly type: Type
} & Rest

/** Creates a parameter of the path. It is always required. */
export const path = <const Name extends string>(name: Name) => ({ name, in: 'path', type: 'string', required: true }) as const

/** Creates a parameter of the path that must be a whole number. */
export const longPath = <const Name extends string>(name: Name) => ({ name, in: 'path', type: 'long', required: true }) as const

/** Returns a function that creates a parameter of `place`. `rest`: its other properties. */
const parameterIn =
  <const In extends Place>(place: In) =>
  <const Name extends string, const Type extends ParameterType, const Rest extends Extra>(name: Name, type: Type, rest?: Rest) =>
    // Without the cast, the spread of the optional `rest` loses its literal type.
    ({ name, in: place, type, ...rest }) as Made<Name, In, Type, Rest>

/** Creates a parameter of the query string or form body. */
export const query = parameterIn('query')
/** Creates a field of the JSON body. */
export const body = parameterIn('body')

/** Properties of a parameter that official SDKs send and the specification does not name, for the argument `rest` of `query` and `body`. */
export const sentBySdks = { outsideSpec: true, source: 'outside the specification: official SDKs send it' } as const

// Parameters of many endpoints.
export const accountId = path('account_id')
export const cursor = query('cursor', 'string', { source: 'spec Conventions' })
export const sortBy = query('sort_by', 'csv', { source: 'spec Conventions; docs/spec-notes.md#echoes-and-cursors' })
export const withDeleted = query('with_deleted', 'boolean', { default: false, source: 'spec Conventions' })
export const withTotalCount = query('with_total_count', 'boolean', { default: false, source: 'spec Conventions' })

/** Parameter `count` of most lists: default 200, 1 to 1000 (spec 8). */
export const count200 = query('count', 'integer', { default: 200, min: 1, max: 1000, source: 'spec 8' })
/** Parameters of most lists of records. */
export const recordList = [count200, cursor, sortBy, withDeleted, withTotalCount] as const

/** Creates the parameters of a list that `q` searches by name. `source`: of `q`. */
export const searchableList = <const Source extends string>(source: Source) =>
  [count200, cursor, query('q', 'string', { maxLength: 255, source }), sortBy, withDeleted, withTotalCount] as const

/** Creates a filter of up to 200 comma-separated ids (spec 8). */
export const idFilter = <const Name extends string>(name: Name) =>
  query(name, 'csv', { maxItems: 200, source: 'spec 8 ids in a filter list' })

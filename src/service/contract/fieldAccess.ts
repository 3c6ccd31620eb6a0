/** Derives the fields of a record that a caller can write from the endpoints that create and update the record. */
import type { Endpoint, Parameter } from './endpoint.ts'
import { endpoints } from './index.ts'
import type { Field } from './resource.ts'
import { resources } from './resources.ts'

/**
 * Access to a field. `modifiable`: a parameter of the update. `create-only`: a parameter only of the creation. `read-only`: a parameter of
 * neither.
 */
export type FieldAccess = 'read-only' | 'create-only' | 'modifiable'

/** Returns the fields of the resource that the endpoint returns; none for an unknown resource. */
export function fieldsOf(endpoint: Endpoint): readonly Field[] {
  const fieldsByResource: Readonly<Record<string, { readonly fields: readonly Field[] }>> = resources
  return fieldsByResource[endpoint.answer.resource]?.fields ?? []
}

/** Returns the access of each field of the record that `update` changes, by name. */
export function fieldAccess(update: Endpoint): ReadonlyMap<string, FieldAccess> {
  const creation = creationParameters(update)
  const modifiable = new Set(update.parameters.filter((one) => one.in !== 'path').map(({ name }) => name))
  return new Map(
    fieldsOf(update).map(({ name }) => [name, modifiable.has(name) ? 'modifiable' : creation.has(name) ? 'create-only' : 'read-only']),
  )
}

/**
 * Finds the endpoint that creates records of the kind that `update` changes. Returns its parameters by name, without those of the path.
 * None if there is no such endpoint.
 */
export function creationParameters(update: Endpoint): ReadonlyMap<string, Parameter> {
  const create = endpoints.find(
    (one) =>
      one.method === 'POST' && one.bodyIs !== 'array' && one.answer.resource === update.answer.resource && isCollectionOf(one, update),
  )
  return new Map((create?.parameters ?? []).filter((one) => one.in !== 'path').map((one) => [one.name, one]))
}

/**
 * Returns the names of the fields that neither `create` nor an update of the record writes. None in these cases:
 * - `create` has parameters only in its path.
 * - `create` takes an array.
 * - No endpoint reads the new record.
 */
export function readOnlyFields(create: Endpoint): ReadonlySet<string> {
  const related = endpoints.filter(
    (one) => one.answer.resource === create.answer.resource && (one.path === create.path || isCollectionOf(create, one)),
  )
  const hasOwnParameters = create.parameters.some((one) => one.in !== 'path')
  if (!hasOwnParameters || create.bodyIs === 'array' || !related.some(({ method }) => method === 'GET')) return new Set()
  const writers = [create, ...related.filter(({ method }) => method === 'PUT')]
  const writtenNames = new Set(writers.flatMap(({ parameters }) => parameters.map(({ name }) => name)))
  return new Set(fieldsOf(create).flatMap(({ name }) => (writtenNames.has(name) ? [] : [name])))
}

/** Returns the endpoint that reads the record at the path of `endpoint`; undefined if there is none. */
export function readerOf(endpoint: Endpoint): Endpoint | undefined {
  return endpoints.find((one) => one.method === 'GET' && one.path === endpoint.path && one.answer.resource === endpoint.answer.resource)
}

/** Returns true for the path of one record in the collection of `create`, and for the path of the collection itself. */
function isCollectionOf(create: Endpoint, record: Endpoint): boolean {
  return create.path === record.path.replace(/\/:\w+$/, '')
}

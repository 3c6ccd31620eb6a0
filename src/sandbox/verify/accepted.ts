/**
 * Parameters that an endpoint accepts: those of the contract, and what official SDKs send besides. They load a record, change a
 * property and send all of them back, so read-only fields arrive on updates (docs/sandbox.md#clients-of-others).
 */
import type { Endpoint, Parameter } from '../../service/contract/endpoint.ts'
import { creationParameters, fieldAccess, fieldsOf, readerOf, readOnlyFields } from '../../service/contract/fieldAccess.ts'
import { endpoints } from '../../service/contract/index.ts'
import { withDeleted } from '../../service/contract/parameter.ts'

export interface Accepted {
  /** In the order of the contract. */
  readonly parameters: readonly Parameter[]
  readonly byName: ReadonlyMap<string, Parameter>
  /** Fields that may come back although this call does not write them: ignored whatever they say. */
  readonly ignored: ReadonlySet<string>
  /** Fields that may come back only unchanged, with the parameter of their creation. */
  readonly createOnly: ReadonlyMap<string, Parameter>
}

const NO_NAMES: ReadonlySet<string> = new Set()
const NO_PARAMETERS: ReadonlyMap<string, Parameter> = new Map()

const tolerant = new WeakMap<Endpoint, Accepted>()
const strict = new WeakMap<Endpoint, Accepted>()

/** `isStrict`: only what the specification documents (switch `unknown_parameters`). */
export function acceptedBy(endpoint: Endpoint, isStrict: boolean): Accepted {
  const known = isStrict ? strict : tolerant
  let found = known.get(endpoint)
  if (found === undefined) known.set(endpoint, (found = isStrict ? documented(endpoint) : withReturnedFields(endpoint)))
  return found
}

function documented(endpoint: Endpoint): Accepted {
  const parameters = endpoint.parameters.filter((one) => one.outsideSpec !== true)
  return { parameters, byName: byName(endpoint, parameters), ignored: NO_NAMES, createOnly: NO_PARAMETERS }
}

function withReturnedFields(endpoint: Endpoint): Accepted {
  const parameters = takesWithDeleted(endpoint) ? [...endpoint.parameters, withDeleted] : endpoint.parameters
  const names = byName(endpoint, parameters)
  if (endpoint.method === 'DELETE') {
    const fields = new Set(fieldsOf(endpoint).map(({ name }) => name))
    return { parameters, byName: names, ignored: fields, createOnly: NO_PARAMETERS }
  }
  // A record is copied by sending its properties to the creation.
  if (endpoint.method === 'POST' && endpoint.host !== 'core')
    return { parameters, byName: names, ignored: readOnlyFields(endpoint), createOnly: NO_PARAMETERS }
  if (endpoint.method !== 'PUT') return { parameters, byName: names, ignored: NO_NAMES, createOnly: NO_PARAMETERS }
  const access = fieldAccess(endpoint)
  const ofAccess = (wanted: string): string[] => [...access].flatMap(([name, own]) => (own === wanted && !names.has(name) ? [name] : []))
  const creation = creationParameters(endpoint)
  // Whether a field is unchanged can be seen only where the record can be read.
  const createOnly = readerOf(endpoint) === undefined ? [] : ofAccess('create-only')
  return {
    parameters,
    byName: names,
    ignored: new Set(ofAccess('read-only')),
    createOnly: new Map(createOnly.flatMap((name) => (creation.has(name) ? [[name, creation.get(name) as Parameter]] : []))),
  }
}

/** One official SDK sends `with_deleted=true` with every read of a record or a list. */
function takesWithDeleted(endpoint: Endpoint): boolean {
  return (
    endpoint.method === 'GET' &&
    endpoint.host !== 'core' &&
    (endpoint.list !== undefined || isRecord(endpoint) || endpoint.path.startsWith('/12/accounts/:account_id/')) &&
    !endpoint.parameters.some(({ name }) => name === withDeleted.name)
  )
}

function isRecord({ path }: Endpoint): boolean {
  return /\/:\w+$/.test(path) || endpoints.some((one) => one.method === 'PUT' && one.path === path)
}

function byName(endpoint: Endpoint, parameters: readonly Parameter[]): ReadonlyMap<string, Parameter> {
  const names = new Map(parameters.map((parameter) => [parameter.name, parameter]))
  for (const [, name = ''] of endpoint.path.matchAll(/:(\w+)/g)) if (!names.has(name)) names.set(name, { name, in: 'path', type: 'string' })
  return names
}

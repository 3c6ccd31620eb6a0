/**
 * Determines the parameters and fields that an endpoint accepts. Some are not in the contract, but official SDKs send them. Such an SDK
 * loads a record, changes one property and sends all properties back, read-only fields included (docs/sandbox.md#clients-of-others).
 */
import { hasPages, parameterOf, type Endpoint, type Parameter } from '../../service/contract/endpoint.ts'
import {
  creationParameters,
  fieldAccess,
  type FieldAccess,
  fieldsOf,
  readerOf,
  readOnlyFields,
} from '../../service/contract/fieldAccess.ts'
import { endpoints } from '../../service/contract/index.ts'
import { withDeleted } from '../../service/contract/parameter.ts'

export interface Accepted {
  /** In the order of the contract. */
  readonly parameters: readonly Parameter[]
  /** `parameters` by name, and all parameters of the path. */
  readonly byName: ReadonlyMap<string, Parameter>
  /** Fields that clients may send back although the endpoint does not write them. The sandbox ignores their values. */
  readonly ignored: ReadonlySet<string>
  /** Fields that clients may send back only unchanged. Their parameters are those of the endpoint that creates the record. */
  readonly createOnly: ReadonlyMap<string, Parameter>
}

const NO_NAMES: ReadonlySet<string> = new Set()
const NO_PARAMETERS: ReadonlyMap<string, Parameter> = new Map()

const tolerantCache = new WeakMap<Endpoint, Accepted>()
const strictCache = new WeakMap<Endpoint, Accepted>()

/** Returns the accepted parameters and fields. `isStrict`: only those that the specification names (the switch `unknown_parameters`). */
export function acceptedBy(endpoint: Endpoint, isStrict: boolean): Accepted {
  const cache = isStrict ? strictCache : tolerantCache
  let cached = cache.get(endpoint)
  if (cached === undefined) cache.set(endpoint, (cached = isStrict ? acceptedIfStrict(endpoint) : acceptedIfTolerant(endpoint)))
  return cached
}

function acceptedIfStrict(endpoint: Endpoint): Accepted {
  const parameters = endpoint.parameters.filter((one) => one.outsideSpec !== true)
  return { parameters, byName: parametersByName(endpoint, parameters), ignored: NO_NAMES, createOnly: NO_PARAMETERS }
}

function acceptedIfTolerant(endpoint: Endpoint): Accepted {
  const parameters = takesWithDeleted(endpoint) ? [...endpoint.parameters, withDeleted] : endpoint.parameters
  const names = parametersByName(endpoint, parameters)
  return { parameters, byName: names, ignored: ignoredFields(endpoint, names), createOnly: createOnlyFields(endpoint, names) }
}

function ignoredFields(endpoint: Endpoint, names: ReadonlyMap<string, Parameter>): ReadonlySet<string> {
  if (endpoint.method === 'DELETE') return new Set(fieldsOf(endpoint).map(({ name }) => name))
  if (endpoint.method === 'PUT') return new Set(unwrittenFields(endpoint, names, 'read-only'))
  // Clients copy a record by sending all of its properties to the endpoint that creates records.
  return endpoint.method === 'POST' && endpoint.host !== 'core' ? readOnlyFields(endpoint) : NO_NAMES
}

function createOnlyFields(endpoint: Endpoint, names: ReadonlyMap<string, Parameter>): ReadonlyMap<string, Parameter> {
  // Without an endpoint that reads the record, a changed value cannot be detected. Then create-only fields are refused as unknown.
  if (endpoint.method !== 'PUT' || readerOf(endpoint) === undefined) return NO_PARAMETERS
  const fields = unwrittenFields(endpoint, names, 'create-only')
  return new Map([...creationParameters(endpoint)].filter(([name]) => fields.includes(name)))
}

/** Returns the fields of the record that have the access `wanted` and are not among the accepted `names`. */
function unwrittenFields(endpoint: Endpoint, names: ReadonlyMap<string, Parameter>, wanted: FieldAccess): string[] {
  return [...fieldAccess(endpoint)].flatMap(([name, access]) => (access === wanted && !names.has(name) ? [name] : []))
}

/**
 * Returns true for a read that accepts `with_deleted` although its contract lacks it. One official SDK sends `with_deleted=true` with every
 * read of a record or list of the advertising host.
 */
function takesWithDeleted(endpoint: Endpoint): boolean {
  return (
    endpoint.method === 'GET' &&
    endpoint.host !== 'core' &&
    (hasPages(endpoint) || readsRecord(endpoint) || endpoint.path.startsWith('/12/accounts/:account_id/')) &&
    parameterOf(endpoint, withDeleted.name) === undefined
  )
}

function readsRecord({ path }: Endpoint): boolean {
  return /\/:\w+$/.test(path) || endpoints.some((one) => one.method === 'PUT' && one.path === path)
}

function parametersByName(endpoint: Endpoint, parameters: readonly Parameter[]): ReadonlyMap<string, Parameter> {
  const names = new Map(parameters.map((parameter) => [parameter.name, parameter]))
  for (const [, name = ''] of endpoint.path.matchAll(/:(\w+)/g)) if (!names.has(name)) names.set(name, { name, in: 'path', type: 'string' })
  return names
}

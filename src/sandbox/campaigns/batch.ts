/**
 * Handles batches of campaigns, line items and targeting criteria. If one operation fails, none is applied (docs/spec-notes.md#batches).
 */
import { sdkInternalFields } from '../../service/contract/batches.ts'
import { parameterOf, type Endpoint } from '../../service/contract/endpoint.ts'
import { findEndpoint } from '../../service/contract/index.ts'
import { accountOf, type Call, type Handler, type Reply } from '../area.ts'
import { isStrict } from '../params.ts'
import { adsRefusals, invalidParameter, missingParameter, operationRefusal, Refusal, type AdsError } from '../refusal.ts'
import { refuseChangedFields } from '../verify/sentBackFields.ts'
import type { Pair } from '../verify/signature.ts'
import { validate } from '../verify/validate.ts'
import { campaignHandlers } from './campaigns.ts'
import { lineItemHandlers } from './lineItems.ts'
import { promotionHandlers } from './promotion.ts'
import type { CampaignsState } from './state.ts'
import { isPlainRecord, isRecord, listOf, recordOf } from '../../unknownValue.ts'
import { textOf } from '../text.ts'

/** Handlers of the endpoints that do the same with a single record. An operation has the parameters of such an endpoint. */
const SINGLE_HANDLERS = { ...campaignHandlers, ...lineItemHandlers, ...promotionHandlers }

export const batchHandlers: Readonly<Record<string, Handler<CampaignsState>>> = {
  'campaigns.batch': runBatch,
  'lineItems.batch': runBatch,
  'targetingCriteria.batch': runBatch,
}

/** Runs all operations of the body. @throws {Refusal} 400 with `operation_errors` if one fails. The state is then as before the call */
function runBatch(call: Call<CampaignsState>): Reply {
  const items = listOf(call.body)
  const stateBefore = structuredClone(call.state)
  const data: unknown[] = []
  // One list per operation, empty if the operation has no errors.
  const errors: (readonly AdsError[])[] = []
  for (const item of items) {
    try {
      data.push(runOperation(call, item))
      errors.push([])
    } catch (error) {
      if (!(error instanceof Refusal && error.body.kind === 'ads')) throw error
      errors.push(error.body.errors)
    }
  }
  const request = items.map((item) => {
    const { operation_type, params } = recordOf(item)
    return { params: { ...recordOf(params), account_id: accountOf(call).id }, operation_type }
  })
  if (errors.some((one) => one.length > 0)) {
    restoreTables(call.state, stateBefore)
    throw operationRefusal(call.world, errors, request)
  }
  return { kind: 'ads', data, request }
}

function runOperation(call: Call<CampaignsState>, item: unknown): unknown {
  if (!isPlainRecord(item)) throw adsRefusals([invalidParameter('operation', 'an object', item)])
  const { operation_type: name, params, ...rest } = item
  const extra = Object.keys(rest).map((field) => ({
    ...invalidParameter(field, 'operation_type or params', ''),
    message: `"${field}" is not a field of an operation`,
  }))
  if (extra.length > 0) throw adsRefusals(extra)
  if (name === undefined) throw adsRefusals([missingParameter('operation_type')])
  const types = parameterOf(call.endpoint, 'operation_type')?.values ?? []
  if (typeof name !== 'string' || !types.includes(name)) throw adsRefusals([invalidParameter('operation_type', types.join(', '), name)])
  if (params === undefined) throw adsRefusals([missingParameter('params')])
  if (!isPlainRecord(params)) throw adsRefusals([invalidParameter('params', 'an object', params)])
  return runAsSingleCall(call, name, params)
}

/** Runs an operation as a call of the endpoint for a single record, and returns the record. @throws {Refusal} */
function runAsSingleCall(call: Call<CampaignsState>, type: string, params: Readonly<Record<string, unknown>>): unknown {
  const [group = ''] = call.endpoint.name.split('.')
  const endpoint = findEndpoint(`${group}.${type.toLowerCase()}`)
  if (endpoint === undefined) throw new Error(`no endpoint for the operation ${type} of ${call.endpoint.name}`)
  const strict = isStrict(call)
  const wrong = typeErrors(endpoint, params)
  if (wrong.length > 0) throw adsRefusals(wrong)
  const { path, pairs } = readParams(endpoint, accountOf(call).id, params, strict)
  const missing = endpoint.parameters.filter((one) => one.in === 'path' && path[one.name] === undefined)
  if (missing.length > 0) throw adsRefusals(missing.map((one) => missingParameter(one.name)))
  const checked = validate(endpoint, { path, pairs, body: undefined, oauth: call.oauth, strict })
  if (checked.errors.length > 0) throw adsRefusals(checked.errors)
  const single = { ...call, endpoint, params: checked.params, givenNames: checked.givenNames }
  if (checked.sentBack.size > 0) refuseChangedFields(checked.sentBack, () => recordFrom(`${group}.get`, single))
  // A copy, because a later operation of the batch may change the record.
  return structuredClone(recordFrom(endpoint.name, single))
}

/** Returns the record in the reply of an endpoint for a single record. @throws {Refusal} */
function recordFrom(name: string, call: Call<CampaignsState>): unknown {
  const reply = SINGLE_HANDLERS[name]?.(call)
  if (reply === undefined || reply instanceof Promise || reply.kind !== 'ads') throw new Error(`${name} does not return a record`)
  return reply.data
}

/** Returns an error for each parameter that is an object, a nested list, or a list where the endpoint takes none. */
function typeErrors(endpoint: Endpoint, params: Readonly<Record<string, unknown>>): AdsError[] {
  return endpoint.parameters.flatMap(({ name, type }) => {
    const value = params[name]
    const takesList = type === 'csv' || type === 'csv-enum'
    const hasRightType = Array.isArray(value) ? takesList && value.every((item) => item !== null && !isRecord(item)) : !isRecord(value)
    return hasRightType ? [] : [invalidParameter(name, takesList ? 'list of strings' : type, value)]
  })
}

/** Splits the parameters of an operation into path parameters and query pairs, as in a request for a single record. */
function readParams(
  endpoint: Endpoint,
  accountId: string,
  params: Readonly<Record<string, unknown>>,
  strict: boolean,
): { readonly path: Record<string, string>; readonly pairs: readonly Pair[] } {
  const path: Record<string, string> = { account_id: accountId }
  const pairs: Pair[] = []
  for (const [name, value] of Object.entries(params)) {
    const parameter = parameterOf(endpoint, name)
    if (parameter?.in === 'path' && name !== 'account_id') path[name] = textOfValue(value)
    else if (strict || !sdkInternalFields.includes(name)) pairs.push([name, textOfValue(value)])
  }
  // Official SDKs send all fields of the record. Its id may then be only in the field `id`.
  const idParameter = endpoint.parameters.findLast((one) => one.in === 'path')
  if (!strict && idParameter !== undefined && path[idParameter.name] === undefined && typeof params['id'] === 'string')
    path[idParameter.name] = params['id']
  return { path, pairs }
}

function textOfValue(value: unknown): string {
  return value === null ? '' : Array.isArray(value) ? value.map(textOfValue).join(',') : textOf(value)
}

/** Writes the content of `before` back into the tables of `state`. */
function restoreTables(state: CampaignsState, before: CampaignsState): void {
  const tables: Readonly<Record<string, Map<string, unknown>>> = { ...state }
  for (const [name, rows] of Object.entries<ReadonlyMap<string, unknown>>({ ...before })) {
    tables[name]?.clear()
    for (const [key, value] of rows) tables[name]?.set(key, value)
  }
}

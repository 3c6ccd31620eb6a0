/**
 * Handles batches of campaigns, line items and targeting criteria. If one operation fails, none is applied (docs/spec-notes.md#batches).
 */
import { operationMarks } from '../../service/contract/batches.ts'
import type { Endpoint } from '../../service/contract/endpoint.ts'
import { endpointOf, type EndpointName } from '../../service/contract/index.ts'
import { accountOf, type Call, type Handler, type Reply } from '../area.ts'
import { isStrict } from '../params.ts'
import { adsRefusals, invalidParameter, missingParameter, operationRefusal, Refusal, type AdsError } from '../refusal.ts'
import { refuseChangedFields } from '../verify/returnedFields.ts'
import type { Pair } from '../verify/signature.ts'
import { validate } from '../verify/validate.ts'
import { campaignOf, campaignWire, createCampaign, deleteCampaign, updateCampaign } from './campaigns.ts'
import { createLineItem, deleteLineItem, lineItemOf, updateLineItem } from './lineItems.ts'
import { createCriterion, deleteCriterion } from './promotion.ts'
import type { CampaignsState } from './state.ts'
import { isPlainRecord, listOf, recordOf } from '../../unknownValue.ts'

/** Handles an operation that is given as a call of the endpoint for a single record. */
type Step = (call: Call<CampaignsState>) => unknown

/** Operations of a batch endpoint by `operation_type`. */
type BatchSteps = Readonly<Record<string, BatchStep>>

interface BatchStep {
  /** Endpoint for a single record. Its parameters are those of the operation. */
  readonly endpoint: EndpointName
  /** Applies the operation, and returns its record in wire form. */
  readonly run: Step
}

const CAMPAIGNS: BatchSteps = {
  Create: { endpoint: 'campaigns.create', run: (call) => campaignWire(call, createCampaign(call)) },
  Update: { endpoint: 'campaigns.update', run: (call) => campaignWire(call, updateCampaign(call)) },
  Delete: { endpoint: 'campaigns.delete', run: (call) => campaignWire(call, deleteCampaign(call)) },
}
const LINE_ITEMS: BatchSteps = {
  Create: { endpoint: 'lineItems.create', run: createLineItem },
  Update: { endpoint: 'lineItems.update', run: updateLineItem },
  Delete: { endpoint: 'lineItems.delete', run: deleteLineItem },
}
const TARGETING: BatchSteps = {
  Create: { endpoint: 'targetingCriteria.create', run: createCriterion },
  Delete: { endpoint: 'targetingCriteria.delete', run: deleteCriterion },
}

/** Functions that return the stored record, by the endpoint that updates it. */
const READERS: Readonly<Record<string, Step>> = { 'campaigns.update': campaignOf, 'lineItems.update': lineItemOf }

export const batchHandlers: Readonly<Record<string, Handler<CampaignsState>>> = {
  'campaigns.batch': (call) => runBatch(call, CAMPAIGNS),
  'lineItems.batch': (call) => runBatch(call, LINE_ITEMS),
  'targetingCriteria.batch': (call) => runBatch(call, TARGETING),
}

/** Runs all operations of the body, and restores the state if one fails. @throws {Refusal} 400 with `operation_errors` */
function runBatch(call: Call<CampaignsState>, steps: BatchSteps): Reply {
  const items = listOf(call.body)
  const before = structuredClone(call.state)
  const data: unknown[] = []
  const errors: (readonly AdsError[])[] = []
  for (const item of items) {
    try {
      data.push(runOne(call, steps, item))
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
    restore(call.state, before)
    throw operationRefusal(call.world, errors, request)
  }
  return { kind: 'ads', data, request }
}

/** Checks one operation, runs it, and returns its record. @throws {Refusal} */
function runOne(call: Call<CampaignsState>, steps: BatchSteps, item: unknown): unknown {
  if (!isPlainRecord(item)) throw adsRefusals([invalidParameter('operation', 'an object', item)])
  const { operation_type: type, params, ...rest } = item
  const extra = Object.keys(rest).map((name) => ({
    ...invalidParameter(name, 'operation_type or params', ''),
    message: `"${name}" is not a field of an operation`,
  }))
  if (extra.length > 0) throw adsRefusals(extra)
  if (type === undefined) throw adsRefusals([missingParameter('operation_type')])
  const step = typeof type === 'string' && Object.hasOwn(steps, type) ? steps[type] : undefined
  if (step === undefined) throw adsRefusals([invalidParameter('operation_type', Object.keys(steps).join(', '), type)])
  if (params === undefined) throw adsRefusals([missingParameter('params')])
  if (!isPlainRecord(params)) throw adsRefusals([invalidParameter('params', 'an object', params)])
  return runStep(call, step, params)
}

/** Runs an operation as a call of the endpoint for a single record. @throws {Refusal} */
function runStep(call: Call<CampaignsState>, step: BatchStep, params: Readonly<Record<string, unknown>>): unknown {
  const endpoint = endpointOf(step.endpoint)
  const strict = isStrict(call)
  const { path, pairs } = readParams(endpoint, accountOf(call).id, params, strict)
  const missing = endpoint.parameters.filter((one) => one.in === 'path' && path[one.name] === undefined)
  if (missing.length > 0) throw adsRefusals(missing.map((one) => missingParameter(one.name)))
  const checked = validate(endpoint, { path, pairs, body: undefined, oauth: call.oauth, strict })
  if (checked.errors.length > 0) throw adsRefusals(checked.errors)
  const single = { ...call, endpoint, params: checked.params, given: checked.given }
  if (checked.returned.size > 0) refuseChangedFields(checked.returned, () => READERS[step.endpoint]?.(single))
  return structuredClone(step.run(single))
}

/** Converts the parameters of an operation to path and pairs of the endpoint for a single record. */
function readParams(
  endpoint: Endpoint,
  accountId: string,
  params: Readonly<Record<string, unknown>>,
  strict: boolean,
): { readonly path: Record<string, string>; readonly pairs: readonly Pair[] } {
  const path: Record<string, string> = { account_id: accountId }
  const pairs: Pair[] = []
  for (const [name, value] of Object.entries(params)) {
    const parameter = endpoint.parameters.find((one) => one.name === name)
    if (parameter?.in === 'path' && name !== 'account_id') path[name] = String(value)
    else if (strict || !operationMarks.includes(name)) pairs.push([name, textOfValue(value)])
  }
  // Official SDKs send all fields of the record, so its id may be in `id` only.
  const record = endpoint.parameters.findLast((one) => one.in === 'path')
  if (!strict && record !== undefined && path[record.name] === undefined && typeof params['id'] === 'string')
    path[record.name] = params['id']
  return { path, pairs }
}

function textOfValue(value: unknown): string {
  return value === null ? '' : Array.isArray(value) ? value.join(',') : String(value)
}

/** Writes the content of `before` back into the tables of `state`. */
function restore(state: CampaignsState, before: CampaignsState): void {
  const tables: Readonly<Record<string, Map<string, unknown>>> = { ...state }
  for (const [name, rows] of Object.entries<ReadonlyMap<string, unknown>>({ ...before })) {
    tables[name]?.clear()
    for (const [key, value] of rows) tables[name]?.set(key, value)
  }
}

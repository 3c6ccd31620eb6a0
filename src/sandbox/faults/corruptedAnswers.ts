/** Corrupts the status, headers, content or bytes of answers (docs/sandbox.md#faults). */
import { gzipSync } from 'node:zlib'
import { exactJson, type Answer } from '../answer.ts'
import { appliedCount, firstIdentifierOf } from '../appliedPart.ts'
import type { User } from '../audiences/operations.ts'
import { withCodes } from '../refusal.ts'
import type { SwitchValue } from '../state/switches.ts'
import { textOf } from '../text.ts'
import { corruptCounts, withAppliedCount, type JsonObject } from './corruptedCounts.ts'
import type { ActingKind } from './faultActions.ts'
import { stageAndPartOf, integerSetting, type Fault, type FaultKind } from './faultKinds.ts'
import type { InjectedKind } from './injectedAnswers.ts'
import { isRecord, listOf, recordOf } from '../../unknownValue.ts'

/** Properties of a request that corruptions of its answer use. */
interface RequestFacts {
  /** Parameter `cursor` of the query. */
  readonly cursor: string | undefined
  /** Number of products, product keys or users. */
  readonly items: number
  /** Parsed body; undefined without one. */
  readonly json: unknown
  /** True if `operation_errors` contains an error or null for each operation. False if it contains a list of errors for each. */
  readonly hasFlatErrors: boolean
  readonly codes: SwitchValue<'ads_error_codes'>
}

type CorruptingKind = Exclude<FaultKind, InjectedKind | ActingKind>
type Corruption = (answer: Answer, fault: Fault, request: RequestFacts) => Answer

/** Returns a corrupted copy of the answer. For a kind of `faultActions.ts` or `injectedAnswers.ts`, returns the answer itself. */
export function corruptAnswer(answer: Answer, fault: Fault, request: RequestFacts): Answer {
  const corruptions: Partial<Record<FaultKind, Corruption>> = CORRUPTIONS
  return corruptions[fault.kind]?.(answer, fault, request) ?? answer
}

const CORRUPTIONS: Readonly<Record<CorruptingKind, Corruption>> = {
  short: onResultList((results, fault) => results.slice(0, Math.max(0, results.length - integerSetting(fault, 'by', 1)))),
  long: onResultList((results) => [...results, unknownResult(results.at(-1))]),
  reorder: onResultList((results) => results.toReversed()),
  duplicate_results: onResultList((results) => [...results.slice(0, 1), ...results]),
  alien_id: onFirstResult((one) => ({
    ...one,
    ...('id' in one ? { id: `alien-${String(one['id'])}` } : {}),
    ...('failed_product_key' in one ? { product_key: '999' } : {}),
  })),
  null_id: onFirstResult((one) => ('id' in one ? { ...one, id: null } : one)),
  null_key: onFirstResult((one) => ({ ...one, product_key: null })),
  changed_key: onFirstResult((one) => {
    const key = one['product_key']
    return typeof key === 'string' ? { ...one, product_key: `9${key}`.slice(0, 19) } : one
  }),
  unknown_status: onFirstResult((one) => ({ ...one, status: 'QUEUED' })),
  no_change: onResults((results) => results.map((one) => ({ ...recordOf(one), status: 'NO_CHANGE' }))),
  warnings: onResults((results) => results.map((one) => ({ ...recordOf(one), warnings: ['image_link could not be fetched yet'] }))),
  success_with_errors: onFirstResult((one) => ({ ...one, errors: ['title is too short'] })),
  error_without_errors: onResults((results) => results.map((one) => failedPut(recordOf(one), []))),
  product_error: onResults((results, fault) => {
    const ids = Array.isArray(fault['ids']) ? fault['ids'].map(String) : undefined
    const errors = [textOf(fault['message'] ?? 'image_link could not be fetched')]
    return results.map((one, index) => {
      const isHit = ids === undefined ? index === 0 : ids.includes(String(recordOf(one)['id']))
      return isHit ? failedPut(recordOf(one), errors) : one
    })
  }),
  failed_key: onResults((results) => results.map((one) => failedDelete(recordOf(one)))),

  counts: onJson(corruptCounts),
  errors_in_200: (answer, _, { codes }) => {
    const errors = withCodes(codes, [{ code: 'INTERNAL_ERROR', message: 'Internal error' }])
    return { ...answer, status: 200, body: exactJson({ errors, request: { params: {} } }) }
  },
  operation_errors: operationErrors,
  page_shift: onJson(shiftPage),
  cursor_repeats: onJson((body, _, { cursor }) => ('next_cursor' in body ? { ...body, next_cursor: cursor ?? body['next_cursor'] } : body)),
  partial_apply: onJson(answerPartially),

  extra_bytes: onBytes((bytes) => Buffer.concat([bytes, Buffer.from('{"data":')])),
  bad_utf8: onBytes((bytes) => Buffer.concat([bytes.subarray(0, -1), Buffer.from([0xff, 0xfe]), bytes.subarray(-1)])),
  bom: onBytes((bytes) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes])),
  large: onBytes((bytes, fault) =>
    Buffer.concat([bytes.subarray(0, -1), Buffer.from(`,"padding":"${'x'.repeat(integerSetting(fault, 'bytes', 200_000_000))}"}`)]),
  ),
  deep: onBytes((_, fault) => {
    const depth = integerSetting(fault, 'depth', 100_000)
    return `${'['.repeat(depth)}${']'.repeat(depth)}`
  }),
  doubled_keys: onBytes((bytes) => `${bytes.toString().slice(0, -1)},"data":[]}`),
  proto: onBytes((bytes) => `${bytes.toString().slice(0, -1)},"__proto__":{"data":[]}}`),
  gzip: (answer) => asGzip(answer, gzipSync(answer.body)),
  gzip_broken: (answer) => asGzip(answer, gzipSync(answer.body).subarray(0, -6)),
  gzip_bomb: (answer, fault) => asGzip(answer, compressedZeros(integerSetting(fault, 'bytes', 200_000_000))),
  wrong_type: (answer, fault) => ({ ...answer, headers: { ...answer.headers, 'content-type': textOf(fault['type'] ?? 'text/plain') } }),
}

let lastBomb: { readonly bytes: number; readonly content: Buffer } | undefined

/** Returns this number of zeros in gzip. The last result is kept, because 200 MB block the sandbox for 0.8 s. */
function compressedZeros(bytes: number): Buffer {
  if (lastBomb?.bytes !== bytes) lastBomb = { bytes, content: gzipSync(Buffer.alloc(bytes)) }
  return lastBomb.content
}

/** Returns a corruption of the JSON body of an answer with a status below 400. Leaves a body that is not a JSON object unchanged. */
function onJson(change: (body: JsonObject, fault: Fault, request: RequestFacts) => JsonObject): Corruption {
  return (answer, fault, request) => {
    const body = answer.status >= 400 ? undefined : parseExact(answer.body.toString())
    return isRecord(body) ? { ...answer, body: exactJson(change(body, fault, request)) } : answer
  }
}

/**
 * Returns a corruption of the list of results. The answer to an upload of users may have sums instead of a list. Such sums become those of
 * the corrupted list.
 */
function onResultList(change: (results: readonly unknown[], fault: Fault) => unknown[]): Corruption {
  const changeList = onResults(change)
  const changeSums = onJson((body, fault, { json }) => {
    const sums = recordOf(body['data'])
    const { success_count: success, total_count: total } = sums
    if (typeof success !== 'number' || typeof total !== 'number') return body
    const usersPerOperation = listOf(json).map((operation) => usersOf([operation]).length)
    const added = sumOf(change(usersPerOperation, fault)) - sumOf(usersPerOperation)
    return { ...body, data: { ...sums, success_count: success + added, total_count: total + added } }
  })
  return (answer, fault, request) => changeSums(changeList(answer, fault, request), fault, request)
}

function sumOf(numbers: readonly unknown[]): number {
  return numbers.reduce<number>((sum, one) => sum + Number(one), 0)
}

/** Returns a corruption of the results in a JSON body. The results are `data` if that is an array, else the first array in `data`. */
function onResults(change: (results: readonly unknown[], fault: Fault) => unknown[]): Corruption {
  return onJson((body, fault) => {
    const { data } = body
    if (Array.isArray(data)) return { ...body, data: change(data, fault) }
    const [name, results] = Object.entries(recordOf(data)).find(([, value]) => Array.isArray(value)) ?? []
    return name === undefined ? body : { ...body, data: { ...recordOf(data), [name]: change(listOf(results), fault) } }
  })
}

function onFirstResult(change: (one: JsonObject) => JsonObject): Corruption {
  return onResults((results) => results.map((one, index) => (index === 0 ? change(recordOf(one)) : one)))
}

/** Returns a corruption of the bytes of any body, also that of a refusal. */
function onBytes(change: (bytes: Buffer, fault: Fault) => Buffer | string): Corruption {
  return (answer, fault) => ({ ...answer, body: change(Buffer.from(answer.body), fault) })
}

/** Parses JSON; returns undefined for any other text. Whole numbers beyond 2^53 become bigint, so that no digit is lost. */
function parseExact(text: string): unknown {
  try {
    return JSON.parse(text, (_, value, { source = '' }) =>
      typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value,
    )
  } catch {
    return undefined
  }
}

/** Returns a copy of a result. If the result has an id or a product key, the copy has that of an unknown product. */
function unknownResult(result: unknown): unknown {
  if (!isRecord(result)) return result
  return { ...result, ...('id' in result ? { id: 'alien-product' } : {}), ...('product_key' in result ? { product_key: '999' } : {}) }
}

function failedPut(one: JsonObject, errors: readonly string[]): JsonObject {
  return { ...one, status: 'ERROR', errors, product_key: null }
}

/** Turns the result of a delete into a failure. Returns a result without a product key unchanged. */
function failedDelete(one: JsonObject): JsonObject {
  const key = one['product_key']
  return typeof key !== 'string' ? one : { product_key: null, failed_product_key: key, message: 'Product could not be deleted' }
}

/**
 * Returns a 400 with an error for each operation in `indices` (default: the first operation). Settings of the fault: `offset` is added to
 * each index; `length` is the minimum length of the list of errors.
 */
function operationErrors(answer: Answer, fault: Fault, { hasFlatErrors, codes }: RequestFacts): Answer {
  const indices = Array.isArray(fault['indices']) ? fault['indices'].map(Number) : [0]
  const failing = indices.map((index) => index + integerSetting(fault, 'offset', 0))
  const length = Math.max(integerSetting(fault, 'length', 0), ...failing.map((index) => index + 1))
  const [error] = withCodes(codes, [{ code: 'INVALID_PARAMETER', message: 'invalid user', parameter: 'users' }])
  const [failed, unfailed] = hasFlatErrors ? [error, null] : [[error], []]
  const errors = Array.from({ length }, (_, index) => (failing.includes(index) ? failed : unfailed))
  return { ...answer, status: 400, body: exactJson({ operation_errors: errors, request: [] }) }
}

/**
 * Drops the first `by` records of a page, as if records were deleted since the previous page was read. For a negative `by`, repeats the
 * first `-by` records.
 */
function shiftPage(body: JsonObject, fault: Fault): JsonObject {
  const { data } = body
  const by = integerSetting(fault, 'by', 1)
  if (!Array.isArray(data) || !('next_cursor' in body)) return body
  return { ...body, data: by >= 0 ? data.slice(by) : [...data.slice(0, -by), ...data] }
}

/**
 * Returns the answer to a partly applied request. For users, changes the counts. For products, turns the result of each omitted product
 * into a failure. If `apply` is `twice` or `later`, the answer reports all entries as applied.
 */
function answerPartially(body: JsonObject, fault: Fault, { items, json }: RequestFacts): JsonObject {
  const part = stageAndPartOf(fault).apply
  const isApplied = (key: unknown, index: number): boolean =>
    typeof part === 'object' ? part.only.includes(String(key)) : index < appliedCount(part, items)
  const data = recordOf(body['data'])
  const { delete_products: deletes, products_response: puts } = data
  const { products, product_keys: keys } = recordOf(json)
  if (Array.isArray(deletes)) {
    const appliedKeys = new Set(listOf(keys).filter(isApplied))
    const failOthers = (one: JsonObject): JsonObject => (appliedKeys.has(one['product_key']) ? one : failedDelete(one))
    return { ...body, data: { ...data, delete_products: deletes.map((one) => failOthers(recordOf(one))) } }
  }
  if (Array.isArray(puts)) {
    const ids = listOf(products).map((product) => recordOf(product)['id'])
    const appliedIds = new Set(ids.filter(isApplied))
    const failOthers = (one: JsonObject): JsonObject =>
      appliedIds.has(one['id']) ? one : failedPut(one, ['The product could not be written'])
    return { ...body, data: { ...data, products_response: puts.map((one) => failOthers(recordOf(one))) } }
  }
  return withAppliedCount(body, usersOf(json).map(firstIdentifierOf).filter(isApplied).length, items)
}

/** Returns the users of an accepted upload, in the order of the request. */
function usersOf(json: unknown): readonly User[] {
  // The handler refuses an upload with any other operation or user.
  return listOf(json).flatMap((operation) => listOf(recordOf(recordOf(operation)['params'])['users']) as readonly User[])
}

function asGzip({ headers, ...answer }: Answer, body: Buffer): Answer {
  return { ...answer, headers: { ...headers, 'content-encoding': 'gzip' }, body }
}

/** Corrupts the content, the bytes or the headers of answers (docs/sandbox.md#faults). */
import { gzipSync } from 'node:zlib'
import { exactJson, type Answer } from '../answer.ts'
import { textOf } from '../text.ts'
import { corruptCounts } from './corruptedCounts.ts'
import type { ActingKind } from './faultActions.ts'
import { effectOf, integerSetting, type Fault, type FaultKind } from './faultKinds.ts'
import type { InjectedKind } from './injectedAnswers.ts'
import { isRecord, listOf, recordOf } from '../../unknownValue.ts'

type Json = Readonly<Record<string, unknown>>

/** Properties of the request that the corruption of its answer needs. */
interface RequestFacts {
  readonly cursor: string | undefined
  /** Number of products, product keys or users. */
  readonly items: number
}

type CorruptingKind = Exclude<FaultKind, InjectedKind | ActingKind>
type Corruption = (answer: Answer, fault: Fault, request: RequestFacts) => Answer

/** Returns the answer as the fault changes it. Kinds of `faultActions.ts` and `injectedAnswers.ts` leave the answer unchanged. */
export function corruptAnswer(answer: Answer, fault: Fault, request: RequestFacts): Answer {
  return isCorrupting(fault.kind) ? CORRUPTIONS[fault.kind](answer, fault, request) : answer
}

function isCorrupting(kind: FaultKind): kind is CorruptingKind {
  return Object.hasOwn(CORRUPTIONS, kind)
}

const CORRUPTIONS: Readonly<Record<CorruptingKind, Corruption>> = {
  short: onResults((results, fault) => results.slice(0, -1 * integerSetting(fault, 'by', 1))),
  long: onResults((results) => [...results, unknownResult(results.at(-1))]),
  reorder: onResults((results) => results.toReversed()),
  duplicate_results: onResults((results) => [...results.slice(0, 1), ...results]),
  alien_id: onFirstResult((one) => ({
    ...one,
    id: `alien-${String(one['id'])}`,
    ...('failed_product_key' in one ? { product_key: '999' } : {}),
  })),
  null_id: onFirstResult((one) => ({ ...one, id: null })),
  null_key: onFirstResult((one) => ({ ...one, product_key: null })),
  changed_key: onFirstResult((one) => ({ ...one, product_key: `9${String(one['product_key'])}`.slice(0, 19) })),
  unknown_status: onFirstResult((one) => ({ ...one, status: 'QUEUED' })),
  no_change: onResults((results) => results.map((one) => ({ ...recordOf(one), status: 'NO_CHANGE' }))),
  warnings: onResults((results) => results.map((one) => ({ ...recordOf(one), warnings: ['image_link could not be fetched yet'] }))),
  success_with_errors: onFirstResult((one) => ({ ...one, errors: ['title is too short'] })),
  error_without_errors: onResults((results) =>
    results.map((one) => ({ ...recordOf(one), status: 'ERROR', errors: [], product_key: null })),
  ),
  product_error: onResults((results, fault) => {
    const ids = Array.isArray(fault['ids']) ? fault['ids'].map(String) : undefined
    const errors = [textOf(fault['message'] ?? 'image_link could not be fetched')]
    return results.map((one, index) => {
      const isHit = ids === undefined ? index === 0 : ids.includes(String(recordOf(one)['id']))
      return isHit ? { ...recordOf(one), status: 'ERROR', errors, product_key: null } : one
    })
  }),
  failed_key: onFirstResult(failedDelete),

  counts: onJson(corruptCounts),
  errors_in_200: (answer) => {
    const errors = [{ code: 'INTERNAL_ERROR', message: 'Internal error' }]
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
  gzip_bomb: (answer, fault) => asGzip(answer, gzipSync(Buffer.alloc(integerSetting(fault, 'bytes', 200_000_000)))),
  wrong_type: (answer, fault) => ({ ...answer, headers: { ...answer.headers, 'content-type': textOf(fault['type'] ?? 'text/plain') } }),
}

/** Returns a corruption of the JSON body of a success. Refusals, and bodies that are not a JSON object, stay unchanged. */
function onJson(change: (body: Json, fault: Fault, request: RequestFacts) => Json): Corruption {
  return (answer, fault, request) => {
    const body = answer.status >= 400 ? undefined : parseExact(answer.body.toString())
    return isRecord(body) ? { ...answer, body: exactJson(change(body, fault, request)) } : answer
  }
}

/** Returns a corruption of the results in a JSON body: `data` if it is an array, else the first array inside `data`. */
function onResults(change: (results: readonly unknown[], fault: Fault) => unknown[]): Corruption {
  return onJson((body, fault) => {
    const { data } = body
    if (Array.isArray(data)) return { ...body, data: change(data, fault) }
    const [name, results] = Object.entries(recordOf(data)).find(([, value]) => Array.isArray(value)) ?? []
    return name === undefined ? body : { ...body, data: { ...recordOf(data), [name]: change(listOf(results), fault) } }
  })
}

function onFirstResult(change: (one: Json) => Json): Corruption {
  return onResults((results) => results.map((one, index) => (index === 0 ? change(recordOf(one)) : one)))
}

/** Returns a corruption of the bytes of every body. */
function onBytes(change: (bytes: Buffer, fault: Fault) => Buffer | string): Corruption {
  return (answer, fault) => ({ ...answer, body: change(Buffer.from(answer.body), fault) })
}

/** Parses JSON. Whole numbers beyond 2^53 become bigint, which `exactJson` writes again. Returns undefined for a text that is not JSON. */
function parseExact(text: string): unknown {
  try {
    return JSON.parse(text, (_, value, { source = '' }) =>
      typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value,
    )
  } catch {
    return undefined
  }
}

/** Returns a result for a product that the request does not contain, in the form of `last`. Counts have no id and are repeated. */
function unknownResult(last: unknown): unknown {
  const one = recordOf(last)
  return 'id' in one ? { ...one, id: 'alien-product', product_key: '999' } : one
}

/** Returns the result of the delete of a product as a failure. */
function failedDelete(one: Json): Json {
  const key = one['product_key']
  return key === null ? one : { product_key: null, failed_product_key: key, message: 'Product could not be deleted' }
}

/**
 * Returns a 400 with an error for each operation in the fault's `indices` (default: the first). Its `offset` is added to each index. Its
 * `length` is the minimum length of the list.
 */
function operationErrors(answer: Answer, fault: Fault): Answer {
  const indices = Array.isArray(fault['indices']) ? fault['indices'].map(Number) : [0]
  const failing = indices.map((index) => index + integerSetting(fault, 'offset', 0))
  const length = Math.max(integerSetting(fault, 'length', 0), ...failing.map((index) => index + 1))
  const errors = Array.from({ length }, (_, index) =>
    failing.includes(index) ? [{ code: 'INVALID_PARAMETER', message: 'invalid user', parameter: 'users' }] : [],
  )
  return { ...answer, status: 400, body: exactJson({ operation_errors: errors, request: [] }) }
}

/**
 * Drops the first `by` records of a page, as if records were deleted between two reads. For a negative `by`, repeats the first `-by`
 * records.
 */
function shiftPage(body: Json, fault: Fault): Json {
  const { data } = body
  const by = integerSetting(fault, 'by', 1)
  if (!Array.isArray(data) || !('next_cursor' in body)) return body
  return { ...body, data: by >= 0 ? data.slice(by) : [...data.slice(0, -by), ...data] }
}

/**
 * Returns the answer to a partly applied request: the number of applied users, or an error for each product that was not applied. The
 * answer agrees with the applied part if `apply` is `half` or `first:N`. With any other `apply`, it reports all entries as applied.
 */
function answerPartially(body: Json, fault: Fault, { items }: RequestFacts): Json {
  const { apply } = effectOf(fault)
  const applied =
    apply === 'half' ? Math.floor(items / 2) : typeof apply === 'string' && apply.startsWith('first:') ? Number(apply.slice(6)) : items
  const data = recordOf(body['data'])
  const { delete_products: deletes, products_response: puts } = data
  const failOthers = (results: readonly unknown[], fail: (one: Json) => Json): unknown[] =>
    results.map((one, index) => (index < applied ? one : fail(recordOf(one))))
  if (Array.isArray(deletes)) return { ...body, data: { ...data, delete_products: failOthers(deletes, failedDelete) } }
  if (Array.isArray(puts)) return { ...body, data: { ...data, products_response: failOthers(puts, failedPut) } }
  return corruptCounts(body, { kind: 'counts', success: applied })
}

function failedPut(one: Json): Json {
  return { ...one, status: 'ERROR', errors: ['The product could not be written'], product_key: null }
}

function asGzip({ headers, ...answer }: Answer, body: Buffer): Answer {
  return { ...answer, headers: { ...headers, 'content-encoding': 'gzip' }, body }
}

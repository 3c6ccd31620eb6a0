/** Corrupts the content of answers (docs/sandbox.md#faults). */
import { exactJson, type Answer } from '../answer.ts'
import { effectOf, integerSetting, type Fault, type FaultKind } from './faultKinds.ts'
import { textOf } from '../text.ts'
import { corruptBytes } from './corruptedBytes.ts'
import { corruptCounts } from './corruptedCounts.ts'
import { isRecord, listOf, recordOf } from '../../unknownValue.ts'

type Json = Readonly<Record<string, unknown>>

/** Properties of the request that the corruption of its answer needs. */
interface RequestFacts {
  readonly cursor: string | undefined
  /** Number of products, product keys or users. */
  readonly items: number
}

/** Returns the answer as the fault changes it. Kinds of `faultActions.ts` and `injectedAnswers.ts` leave the answer unchanged. */
export function corruptAnswer(answer: Answer, fault: Fault, { cursor, items }: RequestFacts): Answer {
  const { kind } = fault
  if (isOnProducts(kind)) return edit(answer, (body) => editResults(body, (results) => PRODUCTS[kind](results, fault)))
  switch (kind) {
    case 'short':
      return edit(answer, (body) => editResults(body, (results) => results.slice(0, -1 * integerSetting(fault, 'by', 1))))
    case 'long':
      return edit(answer, (body) => editResults(body, (results) => [...results, unknownResult(results.at(-1))]))
    case 'reorder':
      return edit(answer, (body) => editResults(body, (results) => results.toReversed()))
    case 'duplicate_results':
      return edit(answer, (body) =>
        editResults(body, (results) => results.flatMap((result, index) => (index === 0 ? [result, result] : [result]))),
      )
    case 'counts':
      return edit(answer, (body) => corruptCounts(body, fault))
    case 'errors_in_200':
      return {
        ...answer,
        status: 200,
        body: exactJson({ errors: [{ code: 'INTERNAL_ERROR', message: 'Internal error' }], request: { params: {} } }),
      }
    case 'operation_errors':
      return operationErrors(answer, fault)
    case 'page_shift':
      return edit(answer, (body) => shiftPage(body, integerSetting(fault, 'by', 1)))
    case 'cursor_repeats':
      return edit(answer, (body) => ('next_cursor' in body ? { ...body, next_cursor: cursor ?? body['next_cursor'] } : body))
    case 'partial_apply':
      return answerPartially(answer, fault, items)
    default:
      return corruptBytes(answer, fault, kind)
  }
}

function isOnProducts(kind: FaultKind): kind is keyof typeof PRODUCTS {
  return Object.hasOwn(PRODUCTS, kind)
}

type ChangeResults = (results: unknown[], fault: Fault) => unknown[]

/** Functions that change the results of products, by kind of fault. */
const PRODUCTS = {
  alien_id: (results) =>
    changeFirst(results, (one) => ({
      ...one,
      id: `alien-${String(one['id'])}`,
      ...('failed_product_key' in one ? { product_key: '999' } : {}),
    })),
  null_id: (results) => changeFirst(results, (one) => ({ ...one, id: null })),
  null_key: (results) => changeFirst(results, (one) => ({ ...one, product_key: null })),
  changed_key: (results) => changeFirst(results, (one) => ({ ...one, product_key: `9${String(one['product_key'])}`.slice(0, 19) })),
  unknown_status: (results) => changeFirst(results, (one) => ({ ...one, status: 'QUEUED' })),
  no_change: (results) => results.map((one) => ({ ...recordOf(one), status: 'NO_CHANGE' })),
  warnings: (results) => results.map((one) => ({ ...recordOf(one), warnings: ['image_link could not be fetched yet'] })),
  success_with_errors: (results) => changeFirst(results, (one) => ({ ...one, errors: ['title is too short'] })),
  error_without_errors: (results) => results.map((one) => ({ ...recordOf(one), status: 'ERROR', errors: [], product_key: null })),
  product_error: (results, fault) => {
    const ids = Array.isArray(fault['ids']) ? fault['ids'].map(String) : undefined
    return results.map((one, index) => {
      const hit = ids === undefined ? index === 0 : ids.includes(String(recordOf(one)['id']))
      return hit
        ? { ...recordOf(one), status: 'ERROR', errors: [textOf(fault['message'] ?? 'image_link could not be fetched')], product_key: null }
        : one
    })
  },
  failed_key: (results) =>
    changeFirst(results, (one) => ({ product_key: null, failed_product_key: one['product_key'], message: 'Product could not be deleted' })),
} satisfies Partial<Record<FaultKind, ChangeResults>>

/** Changes the results of a body: `data` if it is an array, else the first array inside `data`. */
function editResults(body: Json, change: (results: unknown[]) => unknown[]): Json {
  const { data } = body
  if (Array.isArray(data)) return { ...body, data: change(data) }
  const [name, results] = Object.entries(recordOf(data)).find(([, value]) => Array.isArray(value)) ?? []
  return name === undefined ? body : { ...body, data: { ...recordOf(data), [name]: change([...listOf(results)]) } }
}

/**
 * Drops the first `by` records of a page, as if records were deleted between two reads. For a negative `by`, repeats the first `-by`
 * records.
 */
function shiftPage(body: Json, by: number): Json {
  const { data } = body
  if (!Array.isArray(data) || !('next_cursor' in body)) return body
  return { ...body, data: by >= 0 ? data.slice(by) : [...data.slice(0, -by), ...data] }
}

/** Returns a result for a product that the request does not contain, in the form of `last`. Counts have no id and are repeated. */
function unknownResult(last: unknown): unknown {
  const one = recordOf(last)
  return 'id' in one ? { ...one, id: 'alien-product', product_key: '999' } : one
}

/**
 * Returns a 400 with an error for each operation in the fault's `indices` (default: the first). Its `offset` is added to each index. Its
 * `length` is the minimum length of the list.
 */
function operationErrors(answer: Answer, fault: Fault): Answer {
  const at = (Array.isArray(fault['indices']) ? fault['indices'].map(Number) : [0]).map(
    (index) => index + integerSetting(fault, 'offset', 0),
  )
  const length = Math.max(integerSetting(fault, 'length', 0), ...at.map((index) => index + 1))
  const errors = Array.from({ length }, (_, index) =>
    at.includes(index) ? [{ code: 'INVALID_PARAMETER', message: 'invalid user', parameter: 'users' }] : [],
  )
  return { ...answer, status: 400, body: exactJson({ operation_errors: errors, request: [] }) }
}

/** Changes the JSON body of a success. Returns refusals, and bodies that are not a JSON object, unchanged. */
function edit(answer: Answer, change: (body: Json) => Json): Answer {
  const body = answer.status >= 400 ? undefined : parseExact(answer.body.toString())
  return isRecord(body) ? { ...answer, body: exactJson(change(body)) } : answer
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

/** Changes the first result only. */
function changeFirst(results: unknown[], change: (one: Json) => unknown): unknown[] {
  return results.map((one, index) => (index === 0 ? change(recordOf(one)) : one))
}

/**
 * Returns the answer to a partly applied request: the number of applied users, or an error for each product that was not applied. The
 * answer agrees with the applied part if `apply` is `half` or `first:N`. With any other `apply`, it reports all entries as applied.
 */
function answerPartially(answer: Answer, fault: Fault, items: number): Answer {
  const { apply } = effectOf(fault)
  const applied =
    apply === 'half' ? Math.floor(items / 2) : typeof apply === 'string' && apply.startsWith('first:') ? Number(apply.slice(6)) : items
  return edit(answer, (body) => {
    const { delete_products: deletes, products_response: puts } = recordOf(body['data'])
    if (!Array.isArray(deletes) && !Array.isArray(puts)) return corruptCounts(body, { kind: 'counts', success: applied })
    listOf(deletes)
      .slice(applied)
      .map(recordOf)
      .filter((one) => one['product_key'] !== null)
      .forEach((one) =>
        Object.assign(one, { product_key: null, failed_product_key: one['product_key'], message: 'The product could not be deleted' }),
      )
    for (const one of listOf(puts).slice(applied))
      Object.assign(recordOf(one), { status: 'ERROR', errors: ['The product could not be written'], product_key: null })
    return body
  })
}

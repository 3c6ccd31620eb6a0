/** Answers made wrong on purpose, after the request was handled (docs/sandbox.md). */
import { errorPage, exactJson, type Answer } from '../answer.ts'
import { planOf, whole, type Fault } from './faultKinds.ts'
import { textOf } from '../text.ts'
import { corruptBytes } from './corruptedBytes.ts'
import { countsOf } from './corruptedCounts.ts'
import { isRecord, recordOf } from '../../unknownValue.ts'

interface ProductResult {
  warnings: unknown[]
  errors: unknown[]
  product_key: string | null
  id: string | null
  status: string
}

type Json = Readonly<Record<string, unknown>>

/** The answer as the fault has it; kinds that only break connections come back unchanged. */
export function corrupt(answer: Answer, fault: Fault): Answer {
  const onProducts = PRODUCTS[fault.kind]
  if (onProducts !== undefined) return edit(answer, (body) => editResults(body, (results) => onProducts(results, fault)))
  switch (fault.kind) {
    case 'short':
      return edit(answer, (body) => editResults(body, (results) => results.slice(0, -1 * whole(fault['by'], 1))))
    case 'long':
      return edit(answer, (body) => editResults(body, (results) => [...results, alienOf(results.at(-1))]))
    case 'reorder':
      return edit(answer, (body) => editResults(body, (results) => results.toReversed()))
    case 'duplicate_results':
      return edit(answer, (body) =>
        editResults(body, (results) => results.flatMap((result, index) => (index === 0 ? [result, result] : [result]))),
      )
    case 'counts':
      return edit(answer, (body) => countsOf(body, fault))
    case 'errors_in_200':
      return {
        ...answer,
        status: 200,
        body: exactJson({ errors: [{ code: 'INTERNAL_ERROR', message: 'Internal error' }], request: { params: {} } }),
      }
    case 'operation_errors':
      return operationErrors(answer, fault)
    case 'page_shift':
      return edit(answer, (body) => shiftPage(body, whole(fault['by'], 1)))
    case 'cursor_repeats':
      return edit(answer, (body) => ('next_cursor' in body ? { ...body, next_cursor: fault['cursor'] ?? body['next_cursor'] } : body))
    case 'html':
      return {
        ...answer,
        status: whole(fault['status'], 502),
        headers: { 'content-type': 'text/html;charset=utf-8' },
        body: errorPage(whole(fault['status'], 502)),
      }
    case 'empty':
      return { ...answer, status: whole(fault['status'], 200), body: '' }
    default:
      return corruptBytes(answer, fault)
  }
}

const PRODUCTS: Readonly<Record<string, (results: unknown[], fault: Fault) => unknown[]>> = {
  alien_id: (results) =>
    first(results, (one) => ({ ...one, id: `alien-${String(one.id)}`, ...('failed_product_key' in one ? { product_key: '999' } : {}) })),
  null_id: (results) => first(results, (one) => ({ ...one, id: null })),
  null_key: (results) => first(results, (one) => ({ ...one, product_key: null })),
  changed_key: (results) => first(results, (one) => ({ ...one, product_key: `9${String(one.product_key)}`.slice(0, 19) })),
  unknown_status: (results) => first(results, (one) => ({ ...one, status: 'QUEUED' })),
  no_change: (results) => results.map((one) => ({ ...recordOf(one), status: 'NO_CHANGE' })),
  warnings: (results) => results.map((one) => ({ ...recordOf(one), warnings: ['image_link could not be fetched yet'] })),
  success_with_errors: (results) => first(results, (one) => ({ ...one, errors: ['title is too short'] })),
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
    first(results, (one) => ({ product_key: null, failed_product_key: one.product_key, message: 'Product could not be deleted' })),
}

/** Edits `data` when it is an array, else the one array inside it. */
function editResults(body: Json, change: (results: unknown[]) => unknown[]): Json {
  const { data } = body
  if (Array.isArray(data)) return { ...body, data: change(data) }
  if (typeof data !== 'object' || data === null) return body
  const name = Object.keys(data).find((key) => Array.isArray(recordOf(data)[key]))
  return name === undefined ? body : { ...body, data: { ...data, [name]: change((data as Json)[name] as unknown[]) } }
}

/** Rows came or went between two reads: the first `by` of the page are missing, or, below 0, stand there again. */
function shiftPage(body: Json, by: number): Json {
  const { data } = body
  if (!Array.isArray(data) || !('next_cursor' in body)) return body
  return { ...body, data: by >= 0 ? data.slice(by) : [...data.slice(0, -by), ...data] }
}

function alienOf(last: unknown): unknown {
  const one = recordOf(last)
  return 'id' in one ? { ...one, id: 'alien-product', product_key: '999' } : one
}

/** 400 that points at the entries of `indices`, at the first when none is given; `offset` makes the index wrong. */
function operationErrors(answer: Answer, fault: Fault): Answer {
  const at = (Array.isArray(fault['indices']) ? fault['indices'].map(Number) : [0]).map((index) => index + whole(fault['offset'], 0))
  const length = Math.max(whole(fault['length'], 0), ...at.map((index) => index + 1))
  const errors = Array.from({ length }, (_, index) =>
    at.includes(index) ? [{ code: 'INVALID_PARAMETER', message: 'invalid user', parameter: 'users' }] : [],
  )
  return { ...answer, status: 400, body: exactJson({ operation_errors: errors, request: [] }) }
}

function edit(answer: Answer, change: (body: Json) => Json): Answer {
  if (answer.status >= 400) return answer
  const body: unknown = JSON.parse(answer.body.toString())
  return isRecord(body) ? { ...answer, body: exactJson(change(body)) } : answer
}

function first(results: unknown[], change: (one: ProductResult) => unknown): unknown[] {
  return results.map((one, index) => (index === 0 ? change(one as ProductResult) : one))
}

/** Returns the true counts: so many applied of so many sent; products that were left out are errors. */
export function partial(answer: Answer, fault: Fault, items: number): Answer {
  if (answer.status >= 400) return answer
  const planned = planOf(fault).apply
  const applied =
    planned === 'half'
      ? Math.floor(items / 2)
      : typeof planned === 'string' && planned.startsWith('first:')
        ? Number(planned.slice(6))
        : items
  const body = JSON.parse(answer.body.toString()) as {
    data?: { products_response?: { status: string }[]; delete_products?: { product_key: string | null }[] }
  }
  const deletes = body.data?.delete_products
  deletes?.forEach((one, index) => {
    if (index >= applied && one.product_key !== null)
      Object.assign(one, { product_key: null, failed_product_key: one.product_key, message: 'The product could not be deleted' })
  })
  if (deletes !== undefined) return { ...answer, body: exactJson(body) }
  const results = body.data?.products_response
  if (results === undefined) return corrupt(answer, { kind: 'counts', success: applied })
  results.forEach((one, index) => {
    if (index >= applied) Object.assign(one, { status: 'ERROR', errors: ['The product could not be written'], product_key: null })
  })
  return { ...answer, body: exactJson(body) }
}

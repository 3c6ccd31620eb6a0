/** Answers made wrong on purpose, after the request was handled (guarantees 6.2 'products' and 'body', 6.3). */
import { gzipSync } from 'node:zlib'
import { errorPage, exactJson, type Answer } from '../http/answer.ts'
import { planOf, whole, type Fault } from './faultKinds.ts'
import { textOf } from '../text.ts'

interface ProductResult {
  warnings: unknown[]
  errors: unknown[]
  product_key: string | null
  id: string | null
  status: string
}

type Json = Record<string, unknown>

/** The answer as the fault has it; kinds that only break connections come back unchanged. */
export function spoil(answer: Answer, fault: Fault): Answer {
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
      return spoilBytes(answer, fault)
  }
}

const PRODUCTS: Readonly<Record<string, (results: unknown[], fault: Fault) => unknown[]>> = {
  alien_id: (results) =>
    first(results, (one) => ({ ...one, id: `alien-${String(one.id)}`, ...('failed_product_key' in one ? { product_key: '999' } : {}) })),
  null_id: (results) => first(results, (one) => ({ ...one, id: null })),
  null_key: (results) => first(results, (one) => ({ ...one, product_key: null })),
  changed_key: (results) => first(results, (one) => ({ ...one, product_key: `9${String(one.product_key)}`.slice(0, 19) })),
  unknown_status: (results) => first(results, (one) => ({ ...one, status: 'QUEUED' })),
  no_change: (results) => results.map((one) => ({ ...(one as Json), status: 'NO_CHANGE' })),
  warnings: (results) => results.map((one) => ({ ...(one as Json), warnings: ['image_link could not be fetched yet'] })),
  success_with_errors: (results) => first(results, (one) => ({ ...one, errors: ['title is too short'] })),
  error_without_errors: (results) => results.map((one) => ({ ...(one as Json), status: 'ERROR', errors: [], product_key: null })),
  product_error: (results, fault) => {
    const ids = Array.isArray(fault['ids']) ? fault['ids'].map(String) : undefined
    return results.map((one, index) => {
      const hit = ids === undefined ? index === 0 : ids.includes(String((one as Json)['id']))
      return hit
        ? { ...(one as Json), status: 'ERROR', errors: [textOf(fault['message'] ?? 'image_link could not be fetched')], product_key: null }
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
  const name = Object.keys(data).find((key) => Array.isArray((data as Json)[key]))
  return name === undefined ? body : { ...body, data: { ...data, [name]: change((data as Json)[name] as unknown[]) } }
}

/** Rows came or went between two reads: the first `by` of the page are missing, or, below 0, stand there again. */
function shiftPage(body: Json, by: number): Json {
  const { data } = body
  if (!Array.isArray(data) || !('next_cursor' in body)) return body
  return { ...body, data: by >= 0 ? data.slice(by) : [...data.slice(0, -by), ...data] }
}

function alienOf(last: unknown): unknown {
  const one = (last ?? {}) as Json
  return 'id' in one ? { ...one, id: 'alien-product', product_key: '999' } : one
}

/**
 * `success` and `total` are the sums of the answer: the shortfall or surplus is taken from the last results. A text such
 * as `n-1` counts from what the true answer says; anything else that is no whole number goes into the last result as it
 * stands. `shape`: `object`, `one` (array of one), `empty`, `short`, `long`, `missing`.
 */
function countsOf(body: Json, fault: Fault): Json {
  const list = (Array.isArray(body['data']) ? body['data'] : [body['data']]) as { success_count: number; total_count: number }[]
  const wasArray = Array.isArray(body['data'])
  const n = list.reduce((sum, one) => sum + one.total_count, 0)
  // Without a figure the answer is one short: as it was, it would be no fault at all.
  const success = target(fault['success'] ?? (fault['total'] === undefined && fault['shape'] === undefined ? 'n-1' : 'n'), n)
  const total = target(fault['total'], n)
  const results: Json[] = list.map((one) => ({ ...one }))
  spread(results, 'success_count', success)
  spread(results, 'total_count', total)
  const sums = { success_count: typeof success === 'number' ? success : n, total_count: typeof total === 'number' ? total : n }
  switch (fault['shape']) {
    case 'object':
      return { ...body, data: sums }
    case 'one':
      return { ...body, data: [sums] }
    case 'empty':
      return { ...body, data: [] }
    case 'short':
      return { ...body, data: results.slice(0, -1) }
    case 'long':
      return { ...body, data: [...results, { success_count: 0, total_count: 0 }] }
    case 'missing':
      return { ...body, data: results.map(() => ({})) }
    default:
      return { ...body, data: wasArray ? results : results[0] }
  }
}

function target(value: unknown, n: number): unknown {
  if (value === undefined || value === 'n') return n
  const relative = typeof value === 'string' ? /^n([+-]\d+)$/.exec(value) : null
  return relative === null ? value : n + Number(relative[1])
}

function spread(results: Json[], name: string, wanted: unknown): void {
  const last = results.at(-1)
  if (last === undefined) return
  if (typeof wanted !== 'number' || !Number.isInteger(wanted)) {
    last[name] = wanted
    return
  }
  let off = wanted - results.reduce((sum, one) => sum + Number(one[name]), 0)
  for (const one of results.toReversed()) {
    if (off === 0) return
    const now = Number(one[name])
    const change = off > 0 ? off : wanted < 0 ? off : Math.max(off, -now)
    one[name] = now + change
    off -= change
  }
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

function spoilBytes(answer: Answer, fault: Fault): Answer {
  const bytes = Buffer.from(answer.body)
  const headers = { ...answer.headers }
  switch (fault.kind) {
    case 'extra_bytes':
      return { ...answer, body: Buffer.concat([bytes, Buffer.from('{"data":')]) }
    case 'bad_utf8':
      return { ...answer, body: Buffer.concat([bytes.subarray(0, -1), Buffer.from([0xff, 0xfe]), bytes.subarray(-1)]) }
    case 'bom':
      return { ...answer, body: Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]) }
    case 'gzip':
      return { ...answer, headers: { ...headers, 'content-encoding': 'gzip' }, body: gzipSync(bytes) }
    case 'gzip_broken':
      return { ...answer, headers: { ...headers, 'content-encoding': 'gzip' }, body: gzipSync(bytes).subarray(0, -6) }
    case 'gzip_bomb':
      return {
        ...answer,
        headers: { ...headers, 'content-encoding': 'gzip' },
        body: gzipSync(Buffer.alloc(whole(fault['bytes'], 200_000_000))),
      }
    case 'wrong_type':
      return { ...answer, headers: { ...headers, 'content-type': textOf(fault['type'] ?? 'text/plain') } }
    case 'large':
      return {
        ...answer,
        body: Buffer.concat([bytes.subarray(0, -1), Buffer.from(`,"padding":"${'x'.repeat(whole(fault['bytes'], 200_000_000))}"}`)]),
      }
    case 'deep': {
      const depth = whole(fault['depth'], 100_000)
      return { ...answer, body: `${'['.repeat(depth)}${']'.repeat(depth)}` }
    }
    case 'doubled_keys':
      return { ...answer, body: `${bytes.toString().slice(0, -1)},"data":[]}` }
    case 'proto':
      return { ...answer, body: `${bytes.toString().slice(0, -1)},"__proto__":{"data":[]}}` }
    default:
      return answer
  }
}

function edit(answer: Answer, change: (body: Json) => Json): Answer {
  if (answer.status >= 400) return answer
  const body: unknown = JSON.parse(answer.body.toString())
  return typeof body === 'object' && body !== null ? { ...answer, body: exactJson(change(body as Json)) } : answer
}

function first(results: unknown[], change: (one: ProductResult) => unknown): unknown[] {
  return results.map((one, index) => (index === 0 ? change(one as ProductResult) : one))
}

/** Counts told as they are: so many applied of so many sent; products that were left out are errors. */
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
  if (results === undefined) return spoil(answer, { kind: 'counts', success: applied })
  results.forEach((one, index) => {
    if (index >= applied) Object.assign(one, { status: 'ERROR', errors: ['The product could not be written'], product_key: null })
  })
  return { ...answer, body: exactJson(body) }
}

/** In-memory service for the engine: applies requests and confirms them, except as a test scripts it. */
import { createHash } from 'node:crypto'
import type { Answer, Exchange, ExchangeRequest, Transport } from '../../../src/service/client/exchange.ts'

export interface Seen {
  readonly method: string
  readonly path: string
  readonly body: string
  readonly sha256: string
  /** Number of other requests in flight when it arrived. */
  readonly inFlight: number
}

type Script = (request: ExchangeRequest, nth: number, apply: () => Answer) => Exchange | Promise<Exchange | undefined> | undefined

export interface FakeService extends Transport {
  readonly seen: Seen[]
  /** Members by digest or value; true while they are on the list. */
  readonly members: Map<string, string>
  readonly products: Map<string, { key: string; json: string }>
  /** Returns the answer to a request; undefined for the answer of the service. */
  script: Script
  mostInFlight: number
}

export const lost = (status?: number): Exchange => ({
  kind: 'lost',
  error: new Error('reset'),
  ...(status === undefined ? {} : { status }),
  durationMs: 1,
})
export const notSent: Exchange = { kind: 'not-sent', error: new Error('refused'), durationMs: 1 }

export function answer(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  return { kind: 'answer', status, headers: { 'content-type': 'application/json', ...headers }, body: bytes, durationMs: 1 }
}

export const failure = (status: number, code: string, headers: Record<string, string> = {}) =>
  answer(status, { errors: [{ code, message: code }], request: { params: {} } }, headers)

export function fakeService(latencyMs = 0): FakeService {
  let inFlight = 0
  let nextKey = 1
  const service: FakeService = {
    seen: [],
    members: new Map(),
    products: new Map(),
    script: () => undefined,
    mostInFlight: 0,
    async exchange(request) {
      const body = Buffer.from(request.body ?? '').toString()
      service.seen.push({
        method: request.method,
        path: request.path,
        body,
        sha256: createHash('sha256').update(body).digest('hex'),
        inFlight,
      })
      const nth = service.seen.length
      inFlight++
      service.mostInFlight = Math.max(service.mostInFlight, inFlight)
      try {
        if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs))
        return (
          (await service.script(request, nth, () => apply(request.method, request.path, body))) ?? apply(request.method, request.path, body)
        )
      } finally {
        inFlight--
      }
    },
    close: async () => undefined,
  }

  function apply(method: string, path: string, body: string): Answer {
    if (method === 'GET') return answer(200, { data: [] })
    return path.includes('/product_catalogs/') ? applyProducts(method, body) : applyUsers(body)
  }

  function applyProducts(method: string, body: string): Answer {
    if (method === 'DELETE') {
      const { product_keys: keys } = JSON.parse(body) as { product_keys: string[] }
      return answer(200, {
        data: {
          delete_products: keys.map((key) => {
            const id = [...service.products].find(([, product]) => product.key === key)?.[0]
            if (id === undefined) return { product_key: null, failed_product_key: key, message: 'unknown' }
            service.products.delete(id)
            return { product_key: key, failed_product_key: null, message: null }
          }),
        },
      })
    }
    const { products } = JSON.parse(body) as { products: { id: string }[] }
    return answer(200, {
      data: {
        products_response: products.map((product) => {
          const known = service.products.get(product.id)
          const key = known?.key ?? String(nextKey++)
          service.products.set(product.id, { key, json: JSON.stringify(product) })
          return {
            warnings: [],
            errors: [],
            product_key: key,
            id: product.id,
            status: known === undefined ? 'CREATE_SUCCESS' : 'UPDATE_SUCCESS',
          }
        }),
      },
    })
  }

  function applyUsers(body: string): Answer {
    const operations = JSON.parse(body) as { operation_type: string; params: { users: Record<string, string[]>[]; expires_at?: string } }[]
    for (const { operation_type: type, params } of operations) {
      for (const user of params.users) {
        for (const value of Object.values(user).flat()) {
          if (type === 'Delete') service.members.delete(value)
          else service.members.set(value, params.expires_at ?? '')
        }
      }
    }
    return answer(200, { data: operations.map(({ params }) => ({ success_count: params.users.length, total_count: params.users.length })) })
  }

  return service
}

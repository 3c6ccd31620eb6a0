/** Calls below one ad account of a sandbox, and expectations that several conformance tests share. */
import { expect } from 'vitest'
import type { CallOptions, CallResult, SandboxUnderTest } from './sandbox.ts'

export const ACCOUNT = '18ce54d4x5t'

type Values = Readonly<Record<string, string | number | boolean>>

export interface AccountCalls {
  readonly get: (path: string, query?: Values) => Promise<CallResult>
  /** Parameters in the query, as the SDKs of the service send them. */
  readonly post: (path: string, query?: Values) => Promise<CallResult>
  readonly put: (path: string, query?: Values) => Promise<CallResult>
  readonly del: (path: string, query?: Values) => Promise<CallResult>
  readonly json: (method: string, path: string, json: unknown) => Promise<CallResult>
  /** Below `/12/batch/accounts/…`. */
  readonly batch: (path: string, json: unknown) => Promise<CallResult>
}

export function accountCalls(sandbox: SandboxUnderTest, account: string = ACCOUNT): AccountCalls {
  const call = (method: string, path: string, options: CallOptions) => sandbox.call(method, `/12/accounts/${account}/${path}`, options)
  return {
    get: (path, query = {}) => call('GET', path, { query }),
    post: (path, query = {}) => call('POST', path, { query }),
    put: (path, query = {}) => call('PUT', path, { query }),
    del: (path, query = {}) => call('DELETE', path, { query }),
    json: (method, path, json) => call(method, path, { json }),
    batch: (path, json) => sandbox.call('POST', `/12/batch/accounts/${account}/${path}`, { json }),
  }
}

/** Returns `[status, code, parameter]` of the first error, for one comparison. */
export function refusal(answer: CallResult): readonly [number, string | undefined, string | undefined] {
  return [answer.status, answer.body?.errors?.[0]?.code, answer.body?.errors?.[0]?.parameter]
}

/** Expects a refusal in the documented shape. */
export function expectRefusal(answer: CallResult, expected: readonly [number, string, (string | undefined)?]): void {
  const [status, code, parameter] = refusal(answer)
  expect([status, code, ...(expected.length > 2 ? [parameter] : [])], answer.text).toEqual(expected)
  expect(answer.body.request).toEqual({ params: expect.any(Object) as object })
  expect(answer.body.errors[0].message).toEqual(expect.any(String))
}

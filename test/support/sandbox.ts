/** A sandbox of the test on a free port, signed calls to it, and its control API. */
import type { Clock } from '../../src/clock.ts'
import type { SandboxControl } from '../../src/sandbox/controlClient.ts'
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/start.ts'
import { authorization, encode, sandboxCredentials, type SignerCredentials } from './signer.ts'
import { skipWithoutControlApi, target, targetHasControlApi } from './target.ts'

// Tests read answers of every shape; each assertion names the expected values.
// oxlint-disable-next-line typescript/no-explicit-any
export type Loose = any

export interface CallOptions {
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly form?: Readonly<Record<string, string>>
  /** JSON body. */
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly oauth?: Readonly<Record<string, string>>
  readonly credentials?: SignerCredentials
  readonly timestamp?: number
  readonly nonce?: string
  /** Instead of a signature. */
  readonly bearer?: string
}

export interface CallResult {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Parsed if it is JSON. */
  readonly body: Loose
}

export interface SandboxUnderTest extends Omit<Sandbox, Exclude<keyof SandboxControl, 'reset'>> {
  /** Sends a signed call; `path` with its version, without the query. */
  readonly call: (method: string, path: string, options?: CallOptions) => Promise<CallResult>
  readonly control: Control
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

export interface Control {
  readonly request: (method: string, path: string, body?: unknown) => Promise<CallResult>
  readonly ledger: (after?: number) => Promise<Loose[]>
  readonly violations: () => Promise<Loose[]>
  readonly stats: () => Promise<Loose>
  readonly audience: (id?: string) => Promise<{ members: number; identifiers: Record<string, number>; digest: string }>
  readonly identifiers: (id?: string) => Promise<string>
  readonly catalog: (id?: string) => Promise<{ products: number; digest: string }>
  readonly products: (id?: string) => Promise<Loose[]>
  readonly fault: (match: Record<string, unknown>, fault: Record<string, unknown>, times?: number | 'always') => Promise<string>
  readonly clearFaults: () => Promise<void>
  readonly switches: (values: Record<string, unknown>) => Promise<void>
  readonly advance: (seconds: number) => Promise<void>
  readonly setClock: (iso: string) => Promise<void>
  readonly reset: (seed?: number) => Promise<void>
  readonly holds: () => Promise<Loose[]>
  readonly release: (name: string) => Promise<number>
}

/**
 * Starts a sandbox, to be disposed of with `await using` or `close`. With CONFORMANCE_TARGET it is the target instead, reset to its first
 * state if it has a control API. A test with its own clock, seed or state file still gets a sandbox of its own.
 */
export async function withSandbox(options: SandboxOptions & { readonly clock?: Clock } = {}): Promise<SandboxUnderTest> {
  const sandbox =
    target === undefined || Object.keys(options).length > 0
      ? await startSandbox({ credentials: sandboxCredentials, ...options })
      : await openTarget(target)
  return {
    ...sandbox,
    call: (method, path, rest) => signedCall(sandbox.url, method, path, rest),
    control: controlOf(sandbox.url),
    [Symbol.asyncDispose]: sandbox.close,
  }
}

async function openTarget(
  url: string,
): Promise<Pick<Sandbox, 'url' | 'port' | 'credentials' | 'reset' | 'close' | typeof Symbol.asyncDispose>> {
  const reset = async (): Promise<void> => {
    if (await targetHasControlApi()) await fetch(`${url}/_sandbox/reset`, { method: 'POST' })
  }
  await reset()
  const close = () => Promise.resolve()
  return { url, port: Number(new URL(url).port), credentials: sandboxCredentials, reset, close, [Symbol.asyncDispose]: close }
}

/** Fetches an app-only token of this sandbox (spec 4.1). */
export async function bearerOf(sandbox: SandboxUnderTest): Promise<string> {
  const { consumerKey, consumerSecret } = sandbox.credentials
  const basic = Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')
  const answer = await sandbox.call('POST', '/oauth2/token', {
    form: { grant_type: 'client_credentials' },
    headers: { authorization: `Basic ${basic}` },
  })
  return answer.body.access_token as string
}

export async function signedCall(base: string, method: string, path: string, options: CallOptions = {}): Promise<CallResult> {
  const query = Object.entries(options.query ?? {})
    .map(([name, value]) => `${encode(name)}=${encode(String(value))}`)
    .join('&')
  const url = `${base}${path}${query === '' ? '' : `?${query}`}`
  const headers: Record<string, string> = { ...options.headers }
  headers['authorization'] ??=
    options.bearer === undefined
      ? authorization({
          method,
          url,
          ...(options.form === undefined ? {} : { form: options.form }),
          ...(options.oauth === undefined ? {} : { oauth: options.oauth }),
          ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
          ...(options.timestamp === undefined ? {} : { timestamp: options.timestamp }),
          ...(options.nonce === undefined ? {} : { nonce: options.nonce }),
        })
      : `Bearer ${options.bearer}`
  let body: string | undefined
  if (options.json !== undefined) {
    headers['content-type'] ??= 'application/json'
    body = typeof options.json === 'string' ? options.json : JSON.stringify(options.json)
  } else if (options.form !== undefined) {
    headers['content-type'] ??= 'application/x-www-form-urlencoded'
    body = Object.entries(options.form)
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .join('&')
  }
  return readAnswer(await fetch(url, { method, headers, redirect: 'manual', ...(body === undefined ? {} : { body }) }))
}

export function controlOf(base: string): Control {
  const request = async (method: string, path: string, body?: unknown): Promise<CallResult> => {
    if (base === target && !(await targetHasControlApi())) skipWithoutControlApi(`${method} /_sandbox/${path}`)
    return readAnswer(await fetch(`${base}/_sandbox/${path}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }))
  }
  const must = async (method: string, path: string, body?: unknown): Promise<Loose> => {
    const answer = await request(method, path, body)
    if (answer.status !== 200) throw new Error(`${method} /_sandbox/${path}: ${answer.status} ${answer.text}`)
    return answer.body ?? answer.text
  }
  return {
    request,
    ledger: (after = 0) => must('GET', `ledger?after=${after}`),
    violations: () => must('GET', 'violations'),
    stats: () => must('GET', 'stats'),
    audience: (id = '1nmth') => must('GET', `audiences/${id}`),
    identifiers: async (id = '1nmth') => (await request('GET', `audiences/${id}/identifiers`)).text,
    catalog: (id = '4001') => must('GET', `catalogs/${id}`),
    products: async (id = '4001') =>
      (await request('GET', `catalogs/${id}/products`)).text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as unknown),
    fault: async (match, fault, times = 1) => (await must('POST', 'faults', { match, fault, times })).id,
    clearFaults: () => must('DELETE', 'faults'),
    switches: (values) => must('PUT', 'switches', values),
    advance: (seconds) => must('PUT', 'clock', { advance_s: seconds }),
    setClock: (iso) => must('PUT', 'clock', { now: iso }),
    // A service without the control API cannot be reset, so its tests begin with the state that they find.
    reset: async (seed) =>
      base === target && !(await targetHasControlApi()) ? undefined : must('POST', 'reset', seed === undefined ? {} : { seed }),
    holds: () => must('GET', 'holds'),
    release: async (name) => (await must('POST', `release/${name}`)).released,
  }
}

export async function readAnswer(response: Response): Promise<CallResult> {
  const text = await response.text()
  let body: unknown
  try {
    body = text === '' ? undefined : JSON.parse(text)
  } catch {
    body = undefined
  }
  return { status: response.status, headers: response.headers, text, body }
}

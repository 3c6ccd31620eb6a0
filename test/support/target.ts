/**
 * The service under test. By default it is a sandbox of the test. With CONFORMANCE_TARGET it is a running service. Its credentials are
 * SLUICE_CONSUMER_KEY, SLUICE_CONSUMER_SECRET, SLUICE_ACCESS_TOKEN and SLUICE_ACCESS_TOKEN_SECRET.
 */
import type { TestContext } from 'vitest'

const address = process.env['CONFORMANCE_TARGET']

/** Base URL without a trailing slash; undefined if no target was requested. */
export const target: string | undefined = address === undefined || address === '' ? undefined : address.replace(/\/+$/, '')

/** Credentials of the environment for a target, else those of every sandbox. */
export const targetCredentials = {
  consumerKey: given('SLUICE_CONSUMER_KEY', 'sandbox-consumer-key'),
  consumerSecret: given('SLUICE_CONSUMER_SECRET', 'sandbox-consumer-secret'),
  accessToken: given('SLUICE_ACCESS_TOKEN', '1001-sandbox-access-token'),
  accessTokenSecret: given('SLUICE_ACCESS_TOKEN_SECRET', 'sandbox-access-token-secret'),
} as const

let running: TestContext | undefined
if (target !== undefined) {
  // Only here, because benches use the same signer outside the runner.
  const { beforeEach } = await import('vitest')
  beforeEach((context) => {
    running = context
  })
}

let controlApi: Promise<boolean> | undefined

/** Resolves to true if the target has the control API of a sandbox. Checks once per test file. */
export function targetHasControlApi(): Promise<boolean> {
  controlApi ??= fetch(`${target ?? ''}/_sandbox/health`).then(
    (answer) => answer.ok,
    () => false,
  )
  return controlApi
}

/** Skips the current test, which cannot be observed from outside without the control API. */
export function skipWithoutControlApi(what: string): never {
  const reason = `the target has no control API: ${what}`
  if (running !== undefined) running.skip(reason)
  throw new Error(reason)
}

function given(name: string, own: string): string {
  return target === undefined ? own : (process.env[name] ?? own)
}

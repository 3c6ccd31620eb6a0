/** The conformance tests against a service that already runs: a sandbox of another process, with other credentials. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { startSandbox, type Sandbox } from '../../../src/sandbox/start.ts'

const FILES = ['test/conformance/client.test.ts', 'test/conformance/campaigns.test.ts', 'test/conformance/sandboxAuth.test.ts']
const root = fileURLToPath(new URL('../../..', import.meta.url))
const credentials = {
  consumerKey: 'another-key',
  consumerSecret: 'another-secret',
  accessToken: '1001-another',
  accessTokenSecret: 'another-token-secret',
}

let other: Sandbox
beforeAll(async () => {
  other = await startSandbox({ credentials })
})
afterAll(() => other.close())

const conformance = (secret: string, files: readonly string[]): Promise<{ code: number | null; text: string }> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--project', 'conformance', ...files], {
      cwd: root,
      stdio: 'pipe',
      env: {
        PATH: process.env['PATH'] ?? '',
        CONFORMANCE_TARGET: `${other.url}/`,
        SLUICE_CONSUMER_KEY: credentials.consumerKey,
        SLUICE_CONSUMER_SECRET: secret,
        SLUICE_ACCESS_TOKEN: credentials.accessToken,
        SLUICE_ACCESS_TOKEN_SECRET: credentials.accessTokenSecret,
        NO_COLOR: '1',
        SLUICE_TEST_DATABASE_URL: inject('postgresUrl'),
      },
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    child.on('error', reject).on('close', (code) => resolve({ code, text }))
  })
const ledger = async (): Promise<unknown[]> => (await (await fetch(`${other.url}/_sandbox/ledger`)).json()) as unknown[]

test(
  'pass against CONFORMANCE_TARGET with the credentials given, and it is the target that answers',
  { tags: ['long'], timeout: 120_000 },
  async () => {
    const { code, text } = await conformance(credentials.consumerSecret, FILES)
    expect(text).toMatch(/Tests +\d{3} passed \(\d{3}\)/)
    expect(code).toBe(0)
    // The requests of the last test; its reset removed the earlier ones.
    expect(await ledger()).not.toEqual([])
  },
)

test('fail with a wrong secret', { tags: ['long'], timeout: 120_000 }, async () => {
  const { code, text } = await conformance('wrong', FILES.slice(0, 1))
  expect(code).toBe(1)
  expect(text).toMatch(/Tests +\d+ failed/)
})

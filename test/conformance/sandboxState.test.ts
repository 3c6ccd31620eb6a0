import { spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { controlOf, signedCall, withSandbox, type CallResult, type Loose } from '../support/sandbox.ts'
import { target } from '../support/target.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-sandbox-'))
})
const children: ChildProcess[] = []
afterEach(() => {
  // A failed test leaves no process behind.
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const consumer = { consumerKey: 'sandbox-consumer-key', consumerSecret: 'sandbox-consumer-secret' }
const product = (id: string): Record<string, unknown> => ({
  id,
  title: 'A mug',
  description: 'Stoneware',
  availability: 'in stock',
  condition: 'new',
  price: '12.90 EUR',
  link: 'https://shop.example/a',
  image_link: 'https://shop.example/a.jpg',
  brand: 'Acme',
  item_group_id: 'g',
})
const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

async function startProcess(file: string): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('../support/sandboxProcess.ts', import.meta.url)), file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  for await (const line of createInterface({ input: child.stdout! })) return { url: line, child }
  throw new Error('the sandbox printed no address')
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}

test.skipIf(target !== undefined)(
  'what was answered before a SIGKILL is there after it: products, keys, members, tokens, clock, switches',
  async () => {
    const file = join(folder, 'state.jsonl')
    const first = await startProcess(file)
    const before = controlOf(first.url)
    await before.setClock('2028-02-28T00:00:00Z')
    await before.switches({ audience_users_response: 'object' })
    const put = (url: string, ids: string[]): Promise<CallResult> =>
      signedCall(url, 'PUT', '/12/product_catalogs/4001/products', { json: { products: ids.map(product) } })
    await put(first.url, ['a', 'b'])
    await put(first.url, ['b', 'b'])
    await before.fault({ method: 'PUT' }, { kind: 'partial_apply' })
    await put(first.url, ['c', 'd'])
    await signedCall(first.url, 'POST', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users', {
      json: [{ operation_type: 'Update', params: { users: [{ email: [digest('a')], partner_user_id: ['vip'] }] } }],
    })
    await signedCall(first.url, 'POST', '/12/accounts/18ce54d4x5t/custom_audiences', { query: { name: 'Second' } })
    const token = new URLSearchParams(
      (await signedCall(first.url, 'POST', '/oauth/request_token', { credentials: consumer, oauth: { oauth_callback: 'oob' } })).text,
    )
    const page = await (await fetch(`${first.url}/oauth/authorize?oauth_token=${token.get('oauth_token')}&decision=allow`)).text()
    const told = {
      products: await before.products(),
      catalog: await before.catalog(),
      identifiers: await before.identifiers(),
      audience: await before.audience(),
    }
    await kill(first.child)

    // A line that the kill cut short: dropped, not fatal.
    appendFileSync(file, '{"kind":"call","now":17')
    const second = await startProcess(file)
    const after = controlOf(second.url)
    expect({
      products: await after.products(),
      catalog: await after.catalog(),
      identifiers: await after.identifiers(),
      audience: await after.audience(),
    }).toEqual(told)
    expect(told.products.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect((await after.request('GET', 'clock')).body.now).toMatch(/^2028-02-28/)
    expect((await after.request('GET', 'switches')).body.audience_users_response).toBe('object')
    const access = await signedCall(second.url, 'POST', '/oauth/access_token', {
      credentials: { ...consumer, accessToken: token.get('oauth_token') ?? '', accessTokenSecret: token.get('oauth_token_secret') ?? '' },
      form: { oauth_verifier: /id="oauth_pin">(\d+)</.exec(page)?.[1] ?? '' },
    })
    expect(access.status).toBe(200)
    expect(
      (await signedCall(second.url, 'GET', '/12/accounts/18ce54d4x5t/custom_audiences')).body.data.map(({ name }: Loose) => name),
    ).toContain('Second')
    const fresh = (await put(second.url, ['e'])).body.data.products_response[0].product_key
    expect(told.products.map(({ product_key: key }) => key)).not.toContain(fresh)
    await kill(second.child)

    const third = await startProcess(file)
    expect((await controlOf(third.url).products()).map(({ id }) => id)).toEqual(['a', 'b', 'c', 'e'])
    await controlOf(third.url).reset()
    await kill(third.child)
    const fourth = await startProcess(file)
    expect((await controlOf(fourth.url).catalog()).products).toBe(0)
    await kill(fourth.child)
  },
  60_000,
)

test.skipIf(target !== undefined)('without a state file nothing is kept', async () => {
  await using first = await withSandbox()
  await first.call('PUT', '/12/product_catalogs/4001/products', { json: { products: [product('a')] } })
  await using second = await withSandbox()
  expect((await second.control.catalog()).products).toBe(0)
})

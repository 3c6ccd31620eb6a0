/** The state file: every confirmed change survives a restart and a kill (docs/sandbox.md). */
import { spawn, type ChildProcess } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/start.ts'
import { product as mug } from '../support/product.ts'
import { sha256 } from '../support/digests.ts'
import { bearerOf, controlOf, signedCall, withSandbox, type CallResult, type Loose, type SandboxUnderTest } from '../support/sandbox.ts'
import { target } from '../support/target.ts'
import { webhookEndpoint } from '../support/webhookEndpoint.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-sandbox-'))
})
const children: ChildProcess[] = []
afterEach(() => {
  // Ends the process if the test fails.
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const consumer = { consumerKey: 'sandbox-consumer-key', consumerSecret: 'sandbox-consumer-secret' }
const product = (id: string): Record<string, unknown> => mug(id, { item_group_id: 'g' })

async function startProcess(file: string, compactAfterBytes?: number): Promise<{ url: string; child: ChildProcess }> {
  const script = fileURLToPath(new URL('../support/sandboxProcess.ts', import.meta.url))
  const child = spawn(process.execPath, [script, file, ...(compactAfterBytes === undefined ? [] : [String(compactAfterBytes)])], {
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
  { tags: ['long'], timeout: 60_000 },
  async () => {
    const file = join(folder, 'state.jsonl')
    const first = await startProcess(file)
    const before = controlOf(first.url)
    await before.setClock('2028-02-28T00:00:00Z')
    await before.switches({ audience_users_response: 'array' })
    const put = (url: string, ids: string[]): Promise<CallResult> =>
      signedCall(url, 'PUT', '/12/product_catalogs/4001/products', { json: { products: ids.map(product) } })
    await put(first.url, ['a', 'b'])
    await put(first.url, ['b', 'b'])
    await before.fault({ method: 'PUT' }, { kind: 'partial_apply' })
    await put(first.url, ['c', 'd'])
    await signedCall(first.url, 'POST', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users', {
      json: [{ operation_type: 'Update', params: { users: [{ email: [sha256('a')], partner_user_id: ['vip'] }] } }],
    })
    await signedCall(first.url, 'POST', '/12/accounts/18ce54d4x5t/custom_audiences', { query: { name: 'Second' } })
    const token = new URLSearchParams(
      (await signedCall(first.url, 'POST', '/oauth/request_token', { credentials: consumer, oauth: { oauth_callback: 'oob' } })).text,
    )
    const page = await (await fetch(`${first.url}/oauth/authorize?oauth_token=${token.get('oauth_token')}&decision=allow`)).text()
    const saved = {
      products: await before.products(),
      catalog: await before.catalog(),
      identifiers: await before.identifiers(),
      audience: await before.audience(),
      instance: (await before.request('GET', 'instance')).body,
    }
    await kill(first.child)

    // A line that the kill truncated is dropped, without an error.
    appendFileSync(file, '{"kind":"call","now":17')
    const second = await startProcess(file)
    const after = controlOf(second.url)
    expect({
      products: await after.products(),
      catalog: await after.catalog(),
      identifiers: await after.identifiers(),
      audience: await after.audience(),
      instance: (await after.request('GET', 'instance')).body,
    }).toEqual(saved)
    expect(saved.products.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect((await after.request('GET', 'clock')).body.now).toMatch(/^2028-02-28/)
    expect((await after.request('GET', 'switches')).body.audience_users_response).toBe('array')
    const access = await signedCall(second.url, 'POST', '/oauth/access_token', {
      credentials: { ...consumer, accessToken: token.get('oauth_token') ?? '', accessTokenSecret: token.get('oauth_token_secret') ?? '' },
      form: { oauth_verifier: /id="oauth_pin">(\d+)</.exec(page)?.[1] ?? '' },
    })
    expect(access.status).toBe(200)
    expect(
      (await signedCall(second.url, 'GET', '/12/accounts/18ce54d4x5t/custom_audiences')).body.data.map(({ name }: Loose) => name),
    ).toContain('Second')
    const fresh = (await put(second.url, ['e'])).body.data.products_response[0].product_key
    expect(saved.products.map(({ product_key: key }) => key)).not.toContain(fresh)
    await kill(second.child)

    const third = await startProcess(file)
    expect((await controlOf(third.url).products()).map(({ id }) => id)).toEqual(['a', 'b', 'c', 'e'])
    await controlOf(third.url).reset()
    await kill(third.child)
    const fourth = await startProcess(file)
    expect((await controlOf(fourth.url).catalog()).products).toBe(0)
    await kill(fourth.child)
  },
)

test.skipIf(target !== undefined)(
  'killed at any instant while the journal begins again again and again: all that was answered is there, and the file stays small',
  { tags: ['long'], timeout: 60_000 },
  async () => {
    const file = join(folder, 'state.jsonl')
    const answered = new Set<string>()
    const members = new Set<string>()
    let next = 0
    let compacted = 0
    for (let round = 0; round < 8; round++) {
      // So small that nearly every request rewrites the file.
      const { url, child } = await startProcess(file, 1_000)
      const control = controlOf(url)
      expect(new Set((await control.products()).map(({ id }) => String(id))).isSupersetOf(answered)).toBe(true)
      const held = await control.identifiers()
      for (const member of members) expect(held).toContain(member)
      await control.switches({ rate_limits: 'off' })
      let up = true
      const writer = async (): Promise<void> => {
        while (up) {
          const id = `p${next++}`
          const done = await signedCall(url, 'PUT', '/12/product_catalogs/4001/products', { json: { products: [product(id)] } }).catch(
            () => undefined,
          )
          if (done?.status === 200) answered.add(id)
          const user = sha256(id)
          const added = await signedCall(url, 'POST', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users', {
            json: [{ operation_type: 'Update', params: { users: [{ email: [user], partner_user_id: [id] }] } }],
          }).catch(() => undefined)
          if (added?.status === 200) members.add(user)
        }
      }
      const before = answered.size
      const writers = [writer(), writer(), writer()]
      // A busy machine answers later.
      await expect.poll(() => answered.size).toBeGreaterThan(before + 1)
      await new Promise((resolve) => setTimeout(resolve, round * 37))
      await kill(child)
      up = false
      await Promise.all(writers)
      if (readFileSync(file).subarray(0, 15).toString().startsWith('{"kind":"state"')) compacted++
    }
    expect(compacted).toBe(8)
    expect(answered.size).toBeGreaterThan(10)
    // A partly written file of a killed process is ignored.
    writeFileSync(`${file}.new`, '{"kind":"state","version":3,"parts":[{"name":"core","bytes":9')
    const last = await startProcess(file, 1_000)
    expect((await controlOf(last.url).products()).map(({ id }) => String(id))).toEqual(expect.arrayContaining([...answered]))
    await kill(last.child)
  },
)

test.skipIf(target !== undefined)(
  'a journal that began again holds every resource, the clock and the switches, and continues',
  { tags: ['long'], timeout: 60_000 },
  async () => {
    const file = join(folder, 'state.jsonl')
    const { url, child } = await startProcess(file, 1)
    const control = controlOf(url)
    await control.setClock('2028-02-28T00:00:00Z')
    await control.switches({ webhook_dev_urls: 'on', product_put: 'merge' })
    const account = '/12/accounts/18ce54d4x5t'
    const campaign = (await signedCall(url, 'POST', `${account}/campaigns`, { query: { funding_instrument_id: 'lygyi', name: 'Kept' } }))
      .body.data
    await signedCall(url, 'PUT', '/12/product_catalogs/4001/products', { json: { products: [product('a'), product('b')] } })
    await signedCall(url, 'DELETE', `${account}/line_items/9cqi1`)
    await control.request('POST', 'events', { times: 3 })
    const before = [await control.catalog(), await control.identifiers()]
    const { id } = (await control.request('POST', 'snapshot')).body
    await signedCall(url, 'PUT', '/12/product_catalogs/4001/products', { json: { products: [product('c')] } })
    // Moving the clock back is not a call that can be replayed.
    await control.request('POST', `restore/${id}`)
    await kill(child)
    expect(readFileSync(file).subarray(0, 15).toString()).toBe('{"kind":"state"')

    const again = await startProcess(file, 1)
    const after = controlOf(again.url)
    expect([await after.catalog(), await after.identifiers()]).toEqual(before)
    expect((await after.request('GET', 'clock')).body.now).toMatch(/^2028-02-28/)
    expect((await after.request('GET', 'switches')).body).toMatchObject({ webhook_dev_urls: 'on', product_put: 'merge' })
    expect((await signedCall(again.url, 'GET', `${account}/campaigns/${campaign.id}`)).body.data).toEqual(campaign)
    expect((await signedCall(again.url, 'GET', `${account}/line_items/9cqi1`)).status).toBe(404)
    const next = (await signedCall(again.url, 'POST', `${account}/campaigns`, { query: { funding_instrument_id: 'lygyi', name: 'Next' } }))
      .body.data
    expect(next.id).not.toBe(campaign.id)
    await after.reset()
    await kill(again.child)
    const empty = await startProcess(file, 1)
    expect((await controlOf(empty.url).catalog()).products).toBe(0)
    await kill(empty.child)
  },
)

test.skipIf(target !== undefined)('a reset without a seed keeps the seed of the last reset, also after a restart', async () => {
  const path = join(folder, 'state.jsonl')
  const tokenAfterRestart = async (resets: readonly { seed?: number }[], stateFile: string): Promise<string> => {
    {
      await using before = await withSandbox({ stateFile })
      for (const options of resets) await before.reset(options)
    }
    await using after = await withSandbox({ stateFile })
    return (await after.call('POST', '/oauth/request_token', { credentials: consumer, oauth: { oauth_callback: 'oob' } })).text
  }
  const expected = await tokenAfterRestart([{ seed: 5 }], `${path}.5`)
  expect(await tokenAfterRestart([{ seed: 5 }, {}], path)).toBe(expected)
  expect(await tokenAfterRestart([], `${path}.1`)).not.toBe(expected)
})

test.skipIf(target !== undefined).for([
  ['a state of another version', '{"kind":"state","version":99,"parts":[]}\n\n', 'has version 99'],
  ['a journal of another version', '{"kind":"journal","version":99}\n{"kind":"reset","seed":1}\n', 'has version 99'],
  ['a journal without a version', '{"kind":"reset","seed":1}\n{"kind":"instance","id":"a"}\n', 'names no version'],
  ['a file of another program', 'id,email', 'names no version'],
] as const)('%s is refused aloud, not guessed at, and stays as it is', async ([, content, found]) => {
  const file = join(folder, 'my state.jsonl')
  writeFileSync(file, content)
  await expect(startSandbox({ stateFile: file })).rejects.toMatchObject({
    code: 'SANDBOX_STATE_DAMAGED',
    message: expect.stringContaining(`The state file ${found} of its format, and this sandbox needs version 3`) as string,
    where: file,
    hint: `Check the path, or delete the file to start from the first state: rm '${file}'`,
  })
  expect(readFileSync(file, 'utf8')).toBe(content)
})

test.skipIf(target !== undefined)('a state file that a kill cut within its first line is empty', async () => {
  const file = join(folder, 'state.jsonl')
  await (await startSandbox({ stateFile: file, seed: 7 })).close()
  const [head = '', reset = ''] = readFileSync(file, 'utf8').split('\n')
  expect([head, reset]).toEqual(['{"kind":"journal","version":3}', '{"kind":"reset","seed":7}'])
  for (const content of ['', '{"kind":"jou', head, `${head}\n`, `${head}\n{"kind":"res`]) {
    writeFileSync(file, content)
    await (await startSandbox({ stateFile: file, seed: 7 })).close()
    expect(readFileSync(file, 'utf8').split('\n').slice(0, 2), content).toEqual([head, reset])
  }
})

test.skipIf(target !== undefined)(
  'a state file is for one sandbox at a time, and is free again after an end and after a kill',
  async () => {
    const file = join(folder, 'state.jsonl')
    const first = await withSandbox({ stateFile: file })
    await expect(startSandbox({ stateFile: file })).rejects.toMatchObject({
      code: 'SANDBOX_STATE_LOCKED',
      where: file,
      hint: expect.stringContaining(`${file}.lock`),
    })
    await first.close()
    const other = await startProcess(file)
    await expect(startSandbox({ stateFile: file })).rejects.toThrow(`process id ${other.child.pid}`)
    await kill(other.child)
    await (await startSandbox({ stateFile: file })).close()
    expect(existsSync(`${file}.lock`)).toBe(false)
    // The number of an ended process may belong to another one now.
    writeFileSync(`${file}.lock`, JSON.stringify({ pid: process.ppid, host: hostname(), startedAt: 'another start' }))
    await (await startSandbox({ stateFile: file })).close()
  },
)

test.skipIf(target !== undefined)('a request that a fault holds is not applied when the sandbox is closed', async () => {
  const file = join(folder, 'state.jsonl')
  const first = await withSandbox({ stateFile: file })
  await first.control.fault({}, { kind: 'hold', stage: 'before_apply' })
  const held = first.call('PUT', '/12/product_catalogs/4001/products', { json: { products: [product('a')] } }).catch(() => 'broken')
  await expect.poll(async () => (await first.control.holds()).length).toBe(1)
  await first.close()
  expect(await held).toBe('broken')
  await using again = await withSandbox({ stateFile: file })
  expect((await again.control.catalog()).products).toBe(0)
})

test.skipIf(target !== undefined)('a check that waits for its answer is not recorded when the sandbox is closed', async () => {
  const file = join(folder, 'state.jsonl')
  await using endpoint = await webhookEndpoint()
  const sandbox = await withSandbox({ stateFile: file })
  await sandbox.control.switches({ webhook_dev_urls: 'on' })
  const bearer = await bearerOf(sandbox)
  const { id } = (await sandbox.call('POST', '/2/webhooks', { json: { url: endpoint.url }, bearer })).body.data
  const closed = Promise.withResolvers<void>()
  endpoint.beforeAnswer = () => closed.promise
  const waiting = sandbox.call('PUT', `/2/webhooks/${id}`, { bearer }).catch(() => 'broken')
  await expect.poll(() => endpoint.challenges).toBe(2)
  await sandbox.close()
  closed.resolve()
  expect(await waiting).toBe('broken')
  expect(readFileSync(file, 'utf8')).not.toContain('"checked"')
})

test.skipIf(target !== undefined)('a damaged line of the state file is named with file and line, and the file stays as it is', async () => {
  const file = join(folder, 'state.jsonl')
  const first = await withSandbox({ stateFile: file })
  for (const id of ['a', 'b', 'c']) await first.call('PUT', '/12/product_catalogs/4001/products', { json: { products: [product(id)] } })
  await first.close()
  const whole = readFileSync(file, 'utf8')
  for (const [damage, what] of [
    ['{"kind":"call","now":17', 'is not JSON'],
    ['[]', 'is not an entry'],
    ['{"kind":"call","endpoint":"products.put"}', 'cannot be applied'],
    ['{"kind":"call","endpoint":"products.puts"}', 'cannot be applied (unknown endpoint products.puts)'],
    ['{"kind":"calls"}', 'cannot be applied (unknown kind calls)'],
    [
      '{"kind":"event","now":1,"nextId":"1","nextShortId":1,"random":1,"area":"nowhere","event":{}}',
      'cannot be applied (unknown area nowhere)',
    ],
  ] as const) {
    const lines = whole.split('\n')
    lines[1] = damage
    writeFileSync(file, lines.join('\n'))
    await expect(startSandbox({ stateFile: file })).rejects.toMatchObject({
      code: 'SANDBOX_STATE_DAMAGED',
      message: expect.stringContaining(`Line 2 of the state file ${what}`),
      where: `${file}:2`,
    })
    expect(readFileSync(file, 'utf8')).toBe(lines.join('\n'))
  }
  writeFileSync(file, whole)
  await using again = await withSandbox({ stateFile: file })
  expect((await again.control.catalog()).products).toBe(3)
})

test.skipIf(target !== undefined)('without a state file nothing is kept', async () => {
  await using first = await withSandbox()
  await first.call('PUT', '/12/product_catalogs/4001/products', { json: { products: [product('a')] } })
  await using second = await withSandbox()
  expect((await second.control.catalog()).products).toBe(0)
})

test.skipIf(target !== undefined)(
  'a restart gives no id twice if a call that waited is in the journal after calls that began later',
  { tags: ['long'] },
  async () => {
    const file = join(folder, 'state.jsonl')
    const create = async (url: string, name: string): Promise<unknown> =>
      ((await signedCall(url, 'POST', '/12/accounts/18ce54d4x5t/custom_audiences', { query: { name } })).body as Loose).data.id
    const first = await startProcess(file)
    const ids = [await create(first.url, 'First'), await create(first.url, 'Second')]
    await kill(first.child)

    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    const [a, b] = lines.flatMap((line, i) => (line.startsWith('{"kind":"call"') ? [i] : []))
    const swapped = lines.with(a!, lines[b!]!).with(b!, lines[a!]!)
    writeFileSync(file, `${swapped.join('\n')}\n`)
    const second = await startProcess(file)
    ids.push(await create(second.url, 'Third'))
    expect(ids).toEqual([...new Set(ids)])
    const listed = (await signedCall(second.url, 'GET', '/12/accounts/18ce54d4x5t/custom_audiences')).body as Loose
    expect(listed.data.map(({ name }: Loose) => name)).toEqual(expect.arrayContaining(['First', 'Second', 'Third']))
  },
)

test.skipIf(target !== undefined)('a download of a statistics file writes nothing to the state file', async () => {
  const stateFile = join(folder, 'state.jsonl')
  await using sandbox = await withSandbox({ stateFile })
  // The file of the first job expires after two days.
  await sandbox.control.setClock('2026-01-17T00:00:00Z')
  const jobs = (await sandbox.call('GET', '/12/stats/jobs/accounts/18ce54d4x5t')).body as Loose
  const before = readFileSync(stateFile, 'utf8')
  expect((await fetch(jobs.data[0].url as string)).status).toBe(200)
  expect(readFileSync(stateFile, 'utf8')).toBe(before)
})

const requestToken = async (sandbox: SandboxUnderTest): Promise<string> =>
  (await sandbox.call('POST', '/oauth/request_token', { credentials: consumer, oauth: { oauth_callback: 'oob' } })).text

test.skipIf(target !== undefined)('a restart repeats no request token', async () => {
  const stateFile = join(folder, 'state.jsonl')
  let created: string
  {
    await using sandbox = await withSandbox({ stateFile })
    created = await requestToken(sandbox)
  }
  await using again = await withSandbox({ stateFile })
  expect(await requestToken(again)).not.toBe(created)
})

test.skipIf(target !== undefined)('a restart repeats no request token that was created while a webhook check waited', async () => {
  const stateFile = join(folder, 'state.jsonl')
  await using endpoint = await webhookEndpoint()
  let created: string
  {
    await using sandbox = await withSandbox({ stateFile })
    await sandbox.control.switches({ webhook_dev_urls: 'on' })
    const bearer = await bearerOf(sandbox)
    const { id } = (await sandbox.call('POST', '/2/webhooks', { json: { url: endpoint.url }, bearer })).body.data
    const answered = Promise.withResolvers<void>()
    endpoint.beforeAnswer = () => answered.promise
    const check = sandbox.call('PUT', `/2/webhooks/${id}`, { bearer })
    await expect.poll(() => endpoint.challenges).toBe(2)
    created = await requestToken(sandbox)
    answered.resolve()
    expect((await check).status).toBe(200)
  }
  await using again = await withSandbox({ stateFile })
  expect(await requestToken(again)).not.toBe(created)
})

test.skipIf(target !== undefined)('a state file that is cut within the stored state is damaged', async () => {
  const file = join(folder, 'state.jsonl')
  const first = await withSandbox({ stateFile: file, compactAfterBytes: 1 })
  await first.call('PUT', '/12/product_catalogs/4001/products', { json: { products: [product('a')] } })
  await first.control.request('POST', `restore/${(await first.control.request('POST', 'snapshot')).body.id}`)
  await first.close()
  const whole = readFileSync(file)
  for (const length of [20, whole.indexOf(10), whole.indexOf(10) + 100, whole.length - 2]) {
    writeFileSync(file, whole.subarray(0, length))
    await expect(startSandbox({ stateFile: file })).rejects.toMatchObject({ code: 'SANDBOX_STATE_DAMAGED', where: file })
  }
  writeFileSync(file, whole)
  await using again = await withSandbox({ stateFile: file })
  expect((await again.control.catalog()).products).toBe(1)
})

test.skipIf(target !== undefined)('a damaged state at the beginning of the file is named, and the file stays as it is', async () => {
  const file = join(folder, 'state.jsonl')
  const first = await withSandbox({ stateFile: file })
  await first.call('PUT', '/12/product_catalogs/4001/products', { json: { products: [product('a')] } })
  await first.control.request('POST', `restore/${(await first.control.request('POST', 'snapshot')).body.id}`)
  await first.close()
  const whole = readFileSync(file)
  const head = whole.subarray(0, whole.indexOf(10)).toString()
  const rest = whole.subarray(whole.indexOf(10))
  for (const [damaged, bytes] of [
    ['{"kind":"state",x', rest],
    ['{"kind":"state","version":3}', rest],
    [head.replace('"bytes":', '"bytes":-'), rest],
    [head, Buffer.concat([rest.subarray(0, 1), Buffer.alloc(200, 7), rest.subarray(201)])],
  ] as const) {
    const content = Buffer.concat([Buffer.from(damaged), bytes])
    writeFileSync(file, content)
    await expect(startSandbox({ stateFile: file }), damaged.slice(0, 40)).rejects.toMatchObject({
      code: 'SANDBOX_STATE_DAMAGED',
      where: file,
      hint: expect.stringContaining(file),
    })
    expect(readFileSync(file).equals(content)).toBe(true)
  }
})

test.skipIf(target !== undefined)('a state file that cannot be written does not stay locked', async () => {
  const file = join(folder, 'state.jsonl')
  symlinkSync(join(folder, 'missing', 'state.jsonl'), file)
  await expect(startSandbox({ stateFile: file })).rejects.toMatchObject({ code: 'ENOENT' })
  mkdirSync(join(folder, 'missing'))
  await using _again = await withSandbox({ stateFile: file })
})

test.skipIf(target !== undefined)('a restart keeps the seed of the first start', async () => {
  const stateFile = join(folder, 'state.jsonl')
  const addUser = async (sandbox: SandboxUnderTest): Promise<unknown> =>
    (await sandbox.control.request('POST', 'users', { screen_name: 'maria' })).body.oauth_token
  {
    await using _first = await withSandbox({ stateFile, seed: 7 })
  }
  await using plain = await withSandbox({ seed: 7 })
  const expected = await addUser(plain)
  await using again = await withSandbox({ stateFile })
  expect(await addUser(again)).toBe(expected)
  await again.reset()
  expect(await addUser(again)).toBe(expected)
})

test.skipIf(target !== undefined)('a restart keeps the id of a scheduled post that was published after a refused call', async () => {
  const stateFile = join(folder, 'state.jsonl')
  const account = '/12/accounts/18ce54d4x5t'
  const post = (sandbox: SandboxUnderTest): Promise<CallResult> =>
    sandbox.call('POST', `${account}/tweet`, { query: { as_user_id: '1001', text: 'Twice' } })
  const tweetId = async (sandbox: SandboxUnderTest, id: string): Promise<string> =>
    (await sandbox.call('GET', `${account}/scheduled_tweets/${id}`)).body.data.tweet_id
  let scheduled: string
  let published: string
  {
    await using sandbox = await withSandbox({ stateFile })
    const scheduled_at = new Date(Date.now() + 3_600_000).toISOString()
    const query = { as_user_id: '1001', text: 'In an hour', scheduled_at }
    scheduled = (await sandbox.call('POST', `${account}/scheduled_tweets`, { query })).body.data.id_str
    expect([(await post(sandbox)).status, (await post(sandbox)).body.errors[0].code]).toEqual([200, 'DUPLICATE_TWEET'])
    await sandbox.control.advance(3700)
    published = await tweetId(sandbox, scheduled)
    expect(published).toMatch(/^\d+$/)
  }
  await using sandbox = await withSandbox({ stateFile })
  expect(await tweetId(sandbox, scheduled)).toBe(published)
  await sandbox.control.switches({ duplicate_posts: 'accept' })
  expect(BigInt((await post(sandbox)).body.data.id_str)).toBeGreaterThan(BigInt(published))
})

test.skipIf(target !== undefined)('a restart keeps the processing that an upload started of which a fault applied no entry', async () => {
  const stateFile = join(folder, 'state.jsonl')
  const audience = '/12/accounts/18ce54d4x5t/custom_audiences/1nmth'
  const reasons = async (sandbox: SandboxUnderTest): Promise<Loose> =>
    (await sandbox.call('GET', audience)).body.data.reasons_not_targetable
  {
    await using sandbox = await withSandbox({ stateFile })
    await sandbox.control.switches({ partial_apply: 'on', processing_times: 'clock' })
    await sandbox.control.fault({ method: 'POST' }, { kind: 'latency', ms: 1, apply: 'first:0' })
    const operation = { operation_type: 'Update', params: { users: [{ email: [sha256('a')] }] } }
    const json = [operation, { operation_type: 'Update', params: {} }]
    expect((await sandbox.call('POST', `${audience}/users`, { json })).status).toBe(400)
    expect(await reasons(sandbox)).toEqual(['PROCESSING'])
  }
  await using sandbox = await withSandbox({ stateFile })
  expect(await reasons(sandbox)).toEqual(['PROCESSING'])
})

test.skipIf(target !== undefined)('a restart keeps what a partly applied upload, an expired token and an added user changed', async () => {
  const stateFile = join(folder, 'state.jsonl')
  const added = '2027-05-01T00:00:00.000Z'
  const user = async (sandbox: SandboxUnderTest, bearer: string): Promise<Loose> =>
    (await sandbox.call('GET', '/2/users/1002', { bearer, query: { 'user.fields': 'created_at' } })).body.data
  let members: string
  let expired: string
  {
    await using sandbox = await withSandbox({ stateFile })
    await sandbox.control.switches({ partial_apply: 'on' })
    await sandbox.control.setClock(added)
    const operation = { operation_type: 'Update', params: { users: [{ email: [sha256('a')] }] } }
    const upload = await sandbox.call('POST', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users', {
      json: [operation, { operation_type: 'Update', params: {} }],
    })
    expect(upload.status).toBe(400)
    members = await sandbox.control.identifiers()
    expect(members).toContain(sha256('a'))
    await sandbox.control.request('POST', 'users', { screen_name: 'maria' })
    await sandbox.control.advance(3600)
    expired = await bearerOf(sandbox)
    expect((await user(sandbox, expired)).created_at).toContain('2027-05-01T00:00')
    await sandbox.control.fault({ path: '/2/' }, { kind: 'expire_token' })
    expect((await sandbox.call('GET', '/2/webhooks', { bearer: expired })).status).toBe(401)
  }
  await using sandbox = await withSandbox({ stateFile })
  expect(await sandbox.control.identifiers()).toBe(members)
  expect((await sandbox.call('GET', '/2/webhooks', { bearer: expired })).status).toBe(401)
  expect((await user(sandbox, await bearerOf(sandbox))).created_at).toContain('2027-05-01T00:00')
})

/** Commands that call the service directly, as processes against the sandbox. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { catalogue } from '../../../src/cli/commandLine/catalogue.ts'
import { ended, printed, sluice, sluiceHere, start, emptyFolder } from './support.ts'
import { json, shopYaml, workspace } from './workspace.ts'

test('the sandbox prints its address and an env block that works when pasted', async () => {
  const folder = emptyFolder()
  const child = start(['sandbox', '--port', '0'], { cwd: folder })
  const over = ended(child)
  const text = await printed(child, /SLUICE_ACCESS_TOKEN_SECRET=.*\n/)
  const lines = text.split('\n').filter((line) => line.startsWith('SLUICE_'))
  expect(lines).toContain('SLUICE_CONSUMER_KEY=sandbox-consumer-key')
  writeFileSync(join(folder, '.env'), lines.join('\n'))
  const status = await sluiceHere(['auth', 'status', '--json'], { cwd: folder })
  expect(status.code).toBe(0)
  expect(json(status)).toMatchObject({ userId: '1001', advertising: true, accounts: [{ id: '18ce54d4x5t' }, {}] })
  const url = lines[0]?.split('=')[1] ?? ''
  expect(await (await fetch(`${url}/_sandbox/health`)).json()).toMatchObject({ ok: true })
  child.kill('SIGTERM')
  expect((await over).code).toBe(143)
})

test('the status of the sign-in reads every page of accounts', async () => {
  const account = (id: string, approval_status: string) => ({ id, name: id, approval_status })
  const server = createServer((request, answer) => {
    const page = request.url?.includes('cursor=next')
      ? { data: [account('b2', 'PENDING')], next_cursor: null }
      : { data: [account('a1', 'ACCEPTED')], next_cursor: 'next' }
    answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const env = {
    SLUICE_BASE_URL: `http://127.0.0.1:${port}`,
    SLUICE_CONSUMER_KEY: 'k',
    SLUICE_CONSUMER_SECRET: 's',
    SLUICE_ACCESS_TOKEN: '1-t',
    SLUICE_ACCESS_TOKEN_SECRET: 't',
  }
  const status = await sluiceHere(['auth', 'status', '--json'], { cwd: emptyFolder(), env })
  server.close()
  expect(json(status)).toMatchObject({ accounts: [{ id: 'a1' }, { id: 'b2' }], missing: [{ what: 'account b2 is PENDING' }] })
  expect(status.code).toBe(1)
})

test('a port in use is reported as such', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const { code, stderr } = await sluice(['sandbox', '--port', String(port)])
  server.close()
  expect(code).toBe(1)
  expect(stderr).toMatch(/error {2}PORT_IN_USE .*\nhint {3}choose another port with --port/)
})

test('the doctor passes all checks, and names the variable of a refused credential', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  const well = await shop.here(['doctor', '--json'])
  expect(json(well)).toMatchObject({ ok: true, failed: 0 })
  expect(well.code).toBe(0)
  const wrong = await shop.here(['doctor'], { env: { SLUICE_ACCESS_TOKEN_SECRET: 'wrong-secret' } })
  expect(wrong.code).toBe(1)
  expect(wrong.stdout).toMatch(/failed +credentials +SLUICE_ACCESS_TOKEN_SECRET refused/)
  expect(wrong.stdout.trimEnd().split('\n').slice(-2)).toEqual(['1 failed', 'Next  sluice auth login'])
  const elsewhere = await shop.here(['doctor'], { env: { SLUICE_BASE_URL: 'http://127.0.0.1:9' } })
  expect(elsewhere.stdout).toMatch(/failed +service/)
  shop.write(
    'pipelines/list.yaml',
    'source: { url: x.csv }\nmap: { email: email }\ndestination: { kind: do-not-reach, account_id: other, list_id: 2dnr }\n',
  )
  expect((await shop.here(['doctor'])).stdout).toMatch(/failed +pipeline list .*account other/)
})

test('doctor ends at a signal although the service does not answer', async () => {
  await using shop = await workspace()
  const silent = createServer()
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const requested = new Promise((resolve) => silent.once('request', resolve))
  const doctor = shop.start(['doctor'], { env: { SLUICE_BASE_URL: `http://127.0.0.1:${(silent.address() as AddressInfo).port}` } })
  const over = ended(doctor)
  await requested
  doctor.kill('SIGINT')
  const { code, stdout, stderr } = await over
  silent.closeAllConnections()
  silent.close()
  expect(code).toBe(130)
  expect(stdout).not.toContain('does not answer')
  expect(stderr).not.toContain('Forced to quit')
})

test('the sandbox serves every GET that the help of api shows', async () => {
  await using shop = await workspace()
  const examples = catalogue.find(({ name }) => name === 'api')?.examples.filter((example) => example.includes(' GET ')) ?? []
  expect(examples.length).toBeGreaterThan(1)
  for (const example of examples) expect(await shop.run(example.split(' ').slice(1))).toMatchObject({ code: 0 })
})

test('api prints the unchanged answer, follows pages, and explains a refusal by parameter and hint', async () => {
  await using shop = await workspace()
  const accounts = await shop.here(['api', 'GET', '/12/accounts'])
  expect((await shop.here(['api', 'get', '12/accounts'])).stdout).toBe(accounts.stdout)
  expect(json(accounts).data[0].id).toBe('18ce54d4x5t')
  const products = JSON.stringify({
    products: ['A', 'B', 'C'].map((id) => ({
      id,
      title: id,
      description: id,
      link: 'https://a.example.com',
      image_link: 'https://a.example.com/i.png',
      price: '1.00 USD',
      availability: 'in stock',
      condition: 'new',
      brand: 'Acme',
    })),
  })
  const put = await shop.run(['api', 'PUT', '/12/product_catalogs/4001/products', '--data', '-'], { input: products })
  expect(put.code).toBe(0)
  const paged = await shop.here(['api', 'GET', '/12/product_catalogs/4001/products?count=1', '--paginate'])
  expect(json(paged).data.map((product: { id: string }) => product.id)).toEqual(['A', 'B', 'C'])
  const all = json(await shop.here(['api', 'GET', '/12/product_catalogs/4001/products?count=1', '--paginate', '--include', '--json']))
  expect(all).toMatchObject({ status: 200, body: { data: [{ id: 'A' }, { id: 'B' }, { id: 'C' }] } })
  expect(all.body).not.toHaveProperty('next_cursor')
  const counted = ['-F', 'count=1', '-F', 'with_total_count=true', '--paginate']
  expect(json(await shop.here(['api', 'GET', '/12/accounts/18ce54d4x5t/campaigns', ...counted]))).toMatchObject({
    data: expect.arrayContaining([expect.objectContaining({ id: '8wku2' }), expect.objectContaining({ id: '8wku3' })]),
    total_count: expect.any(Number),
  })
  const record = await shop.here(['api', 'GET', '/12/accounts/18ce54d4x5t', '--paginate'])
  expect(json(record).data).toMatchObject({ id: '18ce54d4x5t' })
  const included = json(await shop.here(['api', 'GET', '/12/accounts', '--include', '--json']))
  expect(included).toMatchObject({ status: 200, headers: expect.any(Object), body: expect.any(Object) })
  const refused = await shop.here(['api', 'GET', '/12/accounts', '-F', 'count=9999'])
  expect(refused.code).toBe(1)
  expect(json(refused).errors[0].parameter).toBe('count')
  expect(refused.stderr).toMatch(/error {2}[A-Z_]+ .*count[\s\S]*hint .*count/)
  expect((await shop.here(['api', 'FETCH', '/12/accounts'])).code).toBe(2)
  expect((await shop.here(['api', 'GET', '/12/accounts', '--data', '{'])).code).toBe(2)
})

test('api reads all pages of a search, with the records that they include and without the token of a page', async () => {
  await using shop = await workspace()
  for (let n = 0; n < 12; n++) await shop.here(['api', 'POST', '/2/tweets', '-F', `text=Teapots, part ${n}`])
  const search = '/2/tweets/search/recent?query=teapots&expansions=author_id'
  const one = json(await shop.here(['api', 'GET', `${search}&max_results=100`]))
  const paged = json(await shop.here(['api', 'GET', `${search}&max_results=10`, '--paginate']))
  expect(one.data.length).toBeGreaterThan(10)
  expect(paged.data).toEqual(one.data)
  expect(paged.includes).toEqual(one.includes)
  expect(paged.meta).toMatchObject({ result_count: one.data.length })
  expect(paged.meta).not.toHaveProperty('next_token')
})

test('api ends a listing that repeats a cursor or a page that is not JSON with an error, and prints an empty answer as it is', async () => {
  await using shop = await workspace()
  const campaigns = '/12/accounts/18ce54d4x5t/campaigns'
  const list = (...args: readonly string[]) => shop.here(['api', 'GET', `${campaigns}?count=1`, '--paginate', '--json', ...args])
  const arm = (fault: Record<string, unknown>, nth?: number) =>
    shop.sandbox.control.fault({ path: campaigns, ...(nth && { nth }) }, fault, nth ? 1 : 'always')
  await arm({ kind: 'cursor_repeats' })
  expect(json(await list()).error).toMatchObject({ code: 'SERVICE_CURSOR_REPEATS', where: `GET ${campaigns}` })
  await shop.sandbox.control.clearFaults()
  await arm({ kind: 'html', status: 200 }, 2)
  expect(json(await list()).error).toMatchObject({ code: 'SERVICE_ANSWER_UNREADABLE', where: `GET ${campaigns}` })
  await arm({ kind: 'empty', status: 200 })
  expect(await list()).toMatchObject({ code: 0, stdout: '""\n' })
})

test('api sends a field as the type of its parameter, and rejects an object or array that is not JSON', async () => {
  await using shop = await workspace()
  const post = (...fields: readonly string[]) =>
    shop.here(['api', 'POST', '/12/product_catalogs/4001/product_sets', '-F', 'name=x', ...fields.flatMap((field) => ['-F', field])])
  const made = await post('type=FILTERED', 'filters=[{"attribute":"custom_label_0","operator":"MATCH","value":"Acme"}]')
  expect(json(made).data.filters).toEqual([{ attribute: 'custom_label_0', operator: 'MATCH', value: 'Acme' }])
  const broken = await post('type=FILTERED', 'filters=[{')
  expect([broken.code, broken.stderr]).toEqual([
    2,
    expect.stringContaining('filters is an array, and the value is not JSON. Nothing was sent.'),
  ])
})

test('api sends every value of a repeated list, and rejects another parameter that is given twice', async () => {
  await using shop = await workspace()
  const ids = ['8wku2', '8wku3']
  for (const target of [
    [`/12/accounts/18ce54d4x5t/campaigns?${ids.map((id) => `campaign_ids=${id}`).join('&')}`],
    ['/12/accounts/18ce54d4x5t/campaigns', ...ids.flatMap((id) => ['-F', `campaign_ids=${id}`])],
  ])
    expect(
      json(await shop.here(['api', 'GET', ...target]))
        .data.map(({ id }: { id: string }) => id)
        .toSorted(),
    ).toEqual(ids)
  const twice = await shop.here(['api', 'GET', '/12/accounts', '-F', 'count=1', '-F', 'count=2'])
  expect([twice.code, twice.stderr]).toEqual([2, expect.stringMatching(/count is given more than once/)])
})

test('sign-in by PIN works without a terminal: start, consent in a browser, finish, sign-out', async () => {
  await using shop = await workspace()
  const { SLUICE_ACCESS_TOKEN: _, SLUICE_ACCESS_TOKEN_SECRET: __, ...env } = shop.env
  const begun = await sluiceHere(['auth', 'login'], { cwd: shop.folder, env })
  expect(begun.code).toBe(2)
  expect(begun.stderr).toMatch(/hint {3}sluice auth login --pin PIN/)
  const url = /Open (\S+) and/.exec(begun.stderr)?.[1] ?? ''
  const pin = await agree(url)
  const finished = await sluiceHere(['auth', 'login', '--pin', pin], { cwd: shop.folder, env })
  expect(finished).toMatchObject({ code: 0 })
  const file = join(shop.folder, '.env')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(existsSync(join(shop.folder, '.sluice', 'login.json'))).toBe(false)
  const secret = /SLUICE_ACCESS_TOKEN_SECRET=(.*)/.exec(readFileSync(file, 'utf8'))?.[1] ?? 'none'
  expect(finished.stdout + finished.stderr).not.toContain(secret)
  expect((await sluiceHere(['auth', 'status'], { cwd: shop.folder, env })).code).toBe(0)
  expect((await sluiceHere(['auth', 'logout'], { cwd: shop.folder, env })).code).toBe(0)
  const after = await sluiceHere(['auth', 'status', '--json'], { cwd: shop.folder, env })
  expect(after.code).toBe(1)
  expect(json(after).error.hint).toContain('SLUICE_ACCESS_TOKEN')
})

test('sign-in stores the tokens in the files that the environment names, although they do not exist yet', async () => {
  await using shop = await workspace()
  const { SLUICE_ACCESS_TOKEN: _, SLUICE_ACCESS_TOKEN_SECRET: __, ...rest } = shop.env
  const env = { ...rest, SLUICE_ACCESS_TOKEN_FILE: 'token.txt', SLUICE_ACCESS_TOKEN_SECRET_FILE: 'secret.txt' }
  expect(json(await sluiceHere(['auth', 'status', '--json'], { cwd: shop.folder, env })).error.code).toBe('ENVIRONMENT_INVALID')
  const begun = await sluiceHere(['auth', 'login'], { cwd: shop.folder, env })
  const pin = await agree(/Open (\S+) and/.exec(begun.stderr)?.[1] ?? begun.stderr)
  const signedIn = await sluiceHere(['auth', 'login', '--pin', pin, '--json'], { cwd: shop.folder, env })
  expect(json(signedIn).storedIn).toEqual(['token.txt', 'secret.txt'])
  expect(signedIn.stderr).toBe('')
  expect((await sluiceHere(['auth', 'status'], { cwd: shop.folder, env })).code).toBe(0)
})

test('sign-in refuses a place for the tokens that does not work before it asks the service', async () => {
  await using shop = await workspace()
  const { SLUICE_ACCESS_TOKEN: _, SLUICE_ACCESS_TOKEN_SECRET: __, ...env } = shop.env
  const login = async (args: string[], more: Record<string, string>) => {
    const outcome = await sluiceHere(['auth', 'login', '--json', ...args], { cwd: shop.folder, env: { ...env, ...more } })
    return { code: outcome.code, error: json(outcome).error }
  }
  expect(await login([], { SLUICE_ACCESS_TOKEN_FILE: 'token.txt' })).toMatchObject({
    code: 2,
    error: { code: 'INVALID_VALUE', where: 'SLUICE_ACCESS_TOKEN_SECRET_FILE' },
  })
  expect(await login(['--out', 'no/such/folder/new.env'], {})).toMatchObject({ code: 2, error: { code: 'INVALID_VALUE', where: '--out' } })
  mkdirSync(join(shop.folder, 'folder'))
  expect(await login(['--out', 'folder', '--pin', '1'], {})).toMatchObject({ code: 1, error: { code: 'NOT_A_FILE', where: 'folder' } })
  expect(existsSync(join(shop.folder, '.sluice', 'login.json'))).toBe(false)
})

test('sign-in writes to the file of --out although the environment names files, and warns if the environment has an older token', async () => {
  await using shop = await workspace()
  const begun = await sluiceHere(['auth', 'login'], { cwd: shop.folder, env: shop.env })
  const pin = await agree(/Open (\S+) and/.exec(begun.stderr)?.[1] ?? begun.stderr)
  const signedIn = await sluiceHere(['auth', 'login', '--pin', pin], { cwd: shop.folder, env: shop.env })
  expect(signedIn.code).toBe(0)
  expect(signedIn.stderr).toMatch(
    /^warning  the environment already has a token, and later commands use it instead of the new one in \.env\. Unset SLUICE_ACCESS_TOKEN and SLUICE_ACCESS_TOKEN_SECRET/,
  )

  const { SLUICE_ACCESS_TOKEN: _, SLUICE_ACCESS_TOKEN_SECRET: __, ...rest } = shop.env
  const env = { ...rest, SLUICE_ACCESS_TOKEN_FILE: 'token.txt', SLUICE_ACCESS_TOKEN_SECRET_FILE: 'secret.txt' }
  rmSync(join(shop.folder, '.env'))
  const again = await sluiceHere(['auth', 'login'], { cwd: shop.folder, env })
  const otherPin = await agree(/Open (\S+) and/.exec(again.stderr)?.[1] ?? again.stderr)
  const elsewhere = await sluiceHere(['auth', 'login', '--pin', otherPin, '--out', 'new.env'], { cwd: shop.folder, env })
  expect(elsewhere).toMatchObject({ code: 0, stderr: '' })
  expect(readFileSync(join(shop.folder, 'new.env'), 'utf8')).toMatch(/^SLUICE_ACCESS_TOKEN=\S+\n/)
  expect(existsSync(join(shop.folder, 'token.txt'))).toBe(false)
})

test('sign-in keeps the tokens and the pending sign-in if the answer has no token', async () => {
  await using shop = await workspace()
  const answers: Record<string, string> = { '/oauth/request_token': 'oauth_token=r&oauth_token_secret=s&oauth_callback_confirmed=true' }
  const server = createServer((request, response) => response.end(answers[request.url ?? ''] ?? 'ok=1'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    shop.write('.env', 'SLUICE_ACCESS_TOKEN=old\nSLUICE_ACCESS_TOKEN_SECRET=older\n')
    const { SLUICE_ACCESS_TOKEN: _, SLUICE_ACCESS_TOKEN_SECRET: __, ...rest } = shop.env
    const env = { ...rest, SLUICE_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
    const login = (...args: readonly string[]) => sluiceHere(['auth', 'login', '--json', ...args], { cwd: shop.folder, env })
    expect(json(await login()).error.code).toBe('PIN_NEEDED')
    const { error } = json(await login('--pin', '1234'))
    expect([error.code, error.where]).toEqual(['SERVICE_ANSWER_UNREADABLE', 'POST /oauth/access_token'])
    expect(readFileSync(join(shop.folder, '.env'), 'utf8')).toBe('SLUICE_ACCESS_TOKEN=old\nSLUICE_ACCESS_TOKEN_SECRET=older\n')
    expect(existsSync(join(shop.folder, '.sluice', 'login.json'))).toBe(true)
    answers['/oauth/request_token'] = 'ok=1'
    expect(json(await login()).error.where).toBe('POST /oauth/request_token')
  } finally {
    server.close()
  }
})

test('sign-in by callback checks the state', async () => {
  await using shop = await workspace()
  const { SLUICE_ACCESS_TOKEN: _, SLUICE_ACCESS_TOKEN_SECRET: __, ...env } = shop.env
  const child = start(['auth', 'login', '--callback', '--out', 'tokens.env'], { cwd: shop.folder, env })
  const over = ended(child)
  const url = await new Promise<string>((resolve) => {
    let text = ''
    child.stderr?.on('data', (chunk) => {
      const found = /\s(http\S+oauth_token=\S+)/.exec((text += String(chunk)))
      if (found?.[1]) resolve(found[1])
    })
  })
  const location = await agree(url)
  const forged = new URL(location)
  forged.searchParams.set('state', '0'.repeat(32))
  expect((await fetch(forged)).status).toBe(404)
  expect((await fetch(`${forged.origin}//`)).status).toBe(404)
  expect((await fetch(location)).status).toBe(200)
  expect((await over).code).toBe(0)
  expect(readFileSync(join(shop.folder, 'tokens.env'), 'utf8')).toMatch(/^SLUICE_ACCESS_TOKEN=\S+\nSLUICE_ACCESS_TOKEN_SECRET=\S+\n$/)
})

test('the app-only token is written to a pipe or a private file', async () => {
  await using shop = await workspace()
  const piped = await shop.here(['auth', 'bearer'])
  expect(piped.stdout).toMatch(/^\S{40,}\n$/)
  const filed = await shop.here(['auth', 'bearer', '--out', 'bearer.token'])
  expect(filed.stdout).not.toContain(piped.stdout.trim())
  expect(readFileSync(join(shop.folder, 'bearer.token'), 'utf8')).toBe(piped.stdout)
  expect(statSync(join(shop.folder, 'bearer.token')).mode & 0o777).toBe(0o600)
})

test.for<[path: string, correct: string]>([
  ['hooks', '/hooks'],
  ['/hooks?key=1', '/hooks'],
  ['/a b', '/a%20b'],
] as const)('webhooks listen rejects the path %s, which no request has', async ([path, correct]) => {
  await using shop = await workspace()
  const { code, stderr } = await shop.here(['webhooks', 'listen', '--port', '0', '--path', path])
  expect([code, stderr]).toEqual([2, expect.stringMatching(`INVALID_VALUE [^]*hint {3}sluice webhooks listen --path ${correct}\n$`)])
})

test('a host name of a server that cannot be resolved is no fault of the database', async () => {
  await using shop = await workspace()
  const { code, stderr } = await shop.here(['webhooks', 'listen', '--port', '0', '--host', 'nosuch.invalid'])
  expect([code, stderr]).toEqual([1, expect.stringMatching(/HOST_UNAVAILABLE +the host name nosuch.invalid of --host cannot be resolved/)])
})

test('a webhook is registered, listed, checked and removed while the receiver listens', async () => {
  await using shop = await workspace()
  const receiver = shop.start(['webhooks', 'listen', '--port', '0'])
  const over = ended(receiver)
  const url = /http\S+/.exec(await printed(receiver, /listening on \S+\n/))?.[0] ?? ''
  await shop.sandbox.control.switches({ webhook_dev_urls: 'on' })
  const added = await shop.here(['webhooks', 'add', url, '--json'])
  expect(added.code).toBe(0)
  const { id } = json(added)
  expect((await shop.here(['webhooks', 'list'])).stdout).toContain(url)
  expect((await shop.here(['webhooks', 'check', id])).code).toBe(0)
  expect((await shop.here(['webhooks', 'remove', id])).code).toBe(0)
  expect((await shop.here(['webhooks', 'replay', id])).code).toBe(2)
  const other = printed(receiver, / GET \/other 404\n/)
  await fetch(new URL('/other?secret', url))
  expect(await other).not.toContain('secret')
  receiver.kill('SIGINT')
  expect((await over).code).toBe(130)
})

test('webhooks and calls with the app-only token need no tokens of a user', async () => {
  await using shop = await workspace()
  const env = { SLUICE_ACCESS_TOKEN: '', SLUICE_ACCESS_TOKEN_SECRET: '' }
  const replay = ['webhooks', 'replay', '1', '--from', '202611200000', '--to', '202611210000']
  for (const call of [
    ['webhooks', 'list'],
    ['api', 'GET', '/2/webhooks'],
    ['api', 'GET', '/2/tweets', '-F', 'ids=1', '--bearer'],
  ])
    expect([call, (await shop.here(call, { env })).code]).toEqual([call, 0])
  for (const call of [replay, ['webhooks', 'check', '1'], ['webhooks', 'remove', '1']])
    expect((await shop.here(call, { env })).stderr).toContain('WebhookIdInvalid')
  const { code, stderr } = await shop.here(['api', 'GET', '/12/accounts'], { env })
  expect([code, stderr]).toEqual([2, expect.stringContaining('SERVICE_NOT_CONFIGURED')])
})

/** Clicks "allow" on the sandbox's page: the PIN, or the address that the browser is sent to. */
async function agree(url: string): Promise<string> {
  const page = await (await fetch(url)).text()
  const target = new URL(/<form[^>]*action="([^"]*)"/.exec(page)?.[1] ?? '', url)
  for (const [tag] of page.matchAll(/<input[^>]*>/g))
    target.searchParams.set(/name="([^"]*)"/.exec(tag)?.[1] ?? '', /value="([^"]*)"/.exec(tag)?.[1] ?? '')
  target.searchParams.set('decision', 'allow')
  const answer = await fetch(target, { redirect: 'manual' })
  const location = answer.headers.get('location')
  if (location) return location
  const text = await answer.text()
  return /\b(\d{7})\b/.exec(text)?.[1] ?? /<code[^>]*>([^<]+)/.exec(text)?.[1] ?? text
}

/**
 * Several sources are one snapshot: if one of them is truncated, the others are not complete either. A file is read beside a source of
 * each type, on its real server. The connection of that source breaks.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { EngineUnderTest } from '../../support/engine.ts'
import { engineUnderTest, imbalance } from '../../support/engine.ts'
import type { Cut } from './cuttingProxy.ts'
import { cuttingProxy } from './cuttingProxy.ts'
import { openStore, s3Env } from './s3Store.ts'
import { openSsh, sshCredentials, withoutSsh } from './sshServer.ts'

const columns = ['id', 'title', 'description', 'link', 'image_link', 'price', 'availability', 'brand', 'mpn', 'condition'] as const

/** Rows of about 4 KB, so that a break in the middle of twenty leaves complete ones. */
function rows(from: number, to: number, title = 'Shirt'): readonly (readonly string[])[] {
  return Array.from({ length: to - from }, (_, i) => {
    const id = `SKU-${from + i}`
    const page = `https://shop.example.com/${id}`
    return [id, `${title} ${id}`, 'All about it. '.repeat(280), page, `${page}.jpg`, '9.99 EUR', 'in stock', 'Example', id, 'new']
  })
}

function csv(lines: readonly (readonly string[])[]): string {
  return [columns, ...lines].map((line) => `${line.join(',')}\n`).join('')
}

interface Remote extends AsyncDisposable {
  readonly port: number
  /** The source of the pipeline if it is accessed through `port`. */
  readonly yaml: (port: number) => string
  readonly env: Readonly<Record<string, string>>
  /** Bytes of each connection before it is broken; the file has 80 KB. The rest is requested from a store again, four times. */
  readonly afterBytes: number
}

const remotes: Readonly<Record<string, (feed: string, engine: EngineUnderTest) => Promise<Remote>>> = {
  http: async (feed) => {
    const server = createServer((_, response) => response.writeHead(200, { 'content-length': feed.length }).end(feed))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return {
      port: (server.address() as AddressInfo).port,
      yaml: (port) => `{ url: "http://127.0.0.1:${port}/feed.csv" }`,
      env: {},
      afterBytes: 40_000,
      [Symbol.asyncDispose]: async () => void server.close(),
    }
  },
  SFTP: async (feed) => {
    const ssh = await openSsh()
    const path = await ssh.folder.write('feed.csv', feed)
    return {
      port: ssh.port,
      yaml: (port) => `{ url: "${ssh.uri(path, port)}", host_key: "${ssh.fingerprint}", credentials: ${JSON.stringify(sshCredentials)} }`,
      env: ssh.env,
      afterBytes: 40_000,
      [Symbol.asyncDispose]: () => ssh[Symbol.asyncDispose](),
    }
  },
  store: async (feed) => {
    const store = await openStore()
    await store.put('feed.csv', feed)
    return {
      port: store.port,
      yaml: (port) => `{ url: "s3://exports/feed.csv?endpoint=http://127.0.0.1:${port}", allow_private: true }`,
      env: s3Env,
      afterBytes: 5_000,
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    }
  },
  Postgres: async (_, engine) => {
    await engine.db.execute(`create table shop (${columns.map((name) => `${name} text`).join(', ')})`)
    for (const row of rows(20, 40)) await engine.db.execute(`insert into shop values (${row.map((_, i) => `$${i + 1}`).join(', ')})`, row)
    const address = new URL(engine.databaseUrl)
    return {
      port: Number(address.port),
      yaml: (port) => {
        const through = new URL(address)
        through.port = String(port)
        return `{ url: "${through.href}", query: "select * from shop order by id" }`
      },
      env: {},
      afterBytes: 40_000,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  },
}

test.for(Object.keys(remotes))(
  'a file and %s: a truncated source withholds the deletes of both',
  { tags: ['long'] },
  async (kind, { skip }) => {
    skip(kind === 'SFTP' && withoutSsh, 'OpenSSH is not installed')
    await using engine = await engineUnderTest()
    await using remote = await (remotes[kind] as (typeof remotes)[string])(csv(rows(20, 40)), engine)
    let cut: Cut | undefined
    await using proxy = await cuttingProxy(remote.port, () => cut)
    Object.assign(engine.deps.env, remote.env)
    // No guard, so that only the truncation can keep the products.
    engine.pipeline(
      'shop',
      `source: [{ url: "{folder}/feed.csv" }, ${remote.yaml(proxy.port)}]\ndestination: { kind: catalog, catalog_id: "4001" }\nguards: { min_rows: 0 }\n`,
    )
    engine.write('feed.csv', csv(rows(0, 20)))
    expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { read: 40, creates: 40 } })

    // Five products are missing from the file and the others have a new name. Of the other source only a part arrives.
    engine.write('feed.csv', csv(rows(5, 20, 'Coat')))
    const mark = await engine.mark()
    for (const how of ['end', 'reset'] as const) {
      cut = { afterBytes: remote.afterBytes, how }
      const report = await engine.run('shop')
      expect([report.status, imbalance(report.counts)]).toEqual(['failed', []])
      expect(report.error?.code).toMatch(/^(FILE_TRUNCATED|SOURCE_UNAVAILABLE)$/)
      expect(report.error?.hint).toMatch(/run again/i)
    }
    expect(proxy.cuts()).toBeGreaterThanOrEqual(2)
    expect(await engine.writes(mark)).toEqual([])
    expect((await engine.sandbox.control.catalog()).products).toBe(40)

    cut = undefined
    expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { read: 35, updates: 15, deletes: 5 } })
    expect((await engine.sandbox.control.catalog()).products).toBe(35)
  },
)

test('a source without a proven end withholds the deletes of all sources; upserts are sent', async () => {
  await using engine = await engineUnderTest()
  let length = true
  const feed = csv(rows(20, 40))
  const server = createServer((_, response) => {
    // Without a length the end of the connection is the end of the body, and a break looks the same.
    response.useChunkedEncodingByDefault = false
    response.shouldKeepAlive = false
    response.writeHead(200, length ? { 'content-length': feed.length } : {}).end(feed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    engine.pipeline(
      'shop',
      `source: [{ url: "{folder}/feed.csv" }, { url: "http://127.0.0.1:${port}/feed.csv" }]\ndestination: { kind: catalog, catalog_id: "4001" }\nguards: { min_rows: 0 }\n`,
    )
    engine.write('feed.csv', csv(rows(0, 20)))
    expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { creates: 40 } })
    engine.write('feed.csv', csv(rows(5, 20, 'Coat')))
    length = false
    expect(await engine.run('shop')).toMatchObject({ status: 'withheld', counts: { updates: 15, deletes: 0, withheld: 5 } })
    expect((await engine.sandbox.control.catalog()).products).toBe(40)
    length = true
    expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { updates: 0, deletes: 5 } })
  } finally {
    server.close()
  }
})

test('one empty source of several withholds its deletes, also in the next run, until they are approved', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'shop',
    `source: [{ url: "{folder}/a.csv" }, { url: "{folder}/b.csv" }]\ndestination: { kind: catalog, catalog_id: "4001" }\n`,
  )
  const live = async () => (await engine.sandbox.control.catalog()).products
  engine.write('a.csv', csv(rows(0, 60)))
  engine.write('b.csv', csv(rows(100, 105)))
  await engine.run('shop')
  engine.write('b.csv', csv([]))
  for (let times = 0; times < 2; times++)
    expect(await engine.run('shop')).toMatchObject({
      status: 'withheld',
      counts: { withheld: 5 },
      guards: [{ code: 'GUARD_ROWS_FELL', message: expect.stringMatching(/^rows of .*b\.csv fell from 5 to 0$/) }],
    })
  expect(await live()).toBe(65)
  // Its products may move to another source.
  engine.write('a.csv', csv([...rows(0, 60), ...rows(100, 105)]))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { deletes: 0 } })
  engine.write('a.csv', csv(rows(0, 60)))
  engine.write('b.csv', csv(rows(100, 105)))
  await engine.run('shop')
  engine.write('b.csv', csv([]))
  expect(await engine.run('shop', { approveDeletes: 5 })).toMatchObject({ status: 'succeeded', counts: { deletes: 5, confirmed: 5 } })
  expect(await live()).toBe(60)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
})

test('a source is compared with its own last read when a source before it is removed', async () => {
  await using engine = await engineUnderTest()
  const yaml = (...files: readonly string[]) =>
    `source: [${files.map((file) => `{ url: "{folder}/${file}" }`).join(', ')}]
map: { key: id, email: email }
consent: { column: ok, values: ["yes"] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`
  const people = (from: number, to: number, more: (i: number) => string) =>
    Array.from({ length: to - from }, (_, i) => `C${from + i},p${from + i}@example.com,${more(from + i)}`).join('\n')
  // `a.csv` has a column more, opt-outs, and a line end at its end.
  engine.write('a.csv', `id,email,ok,city\n${people(0, 60, (i) => `${i < 30 ? 'yes' : 'no'},Rome`)}\n`)
  engine.write('b.csv', `id,email,ok\n${people(60, 150, () => 'yes')}`)
  engine.pipeline('crm', yaml('a.csv', 'b.csv'))
  expect(await engine.run('crm')).toMatchObject({ status: 'succeeded', counts: { valid: 120, suppressed: 30 } })
  engine.pipeline('crm', yaml('b.csv'))
  const report = await engine.run('crm', { approveDeletes: 30 })
  expect(report).toMatchObject({ status: 'succeeded', guards: [], counts: { valid: 90, deletes: 30, confirmed: 30 } })
  expect(report.warnings?.map(({ code }) => code)).not.toContain('COLUMN_VANISHED')
})

test('the next file of a pattern without rows withholds its deletes, also beside an added source', async () => {
  await using engine = await engineUnderTest()
  const yaml = (...files: readonly string[]) =>
    `source: [${files.map((file) => `{ url: "{folder}/${file}" }`).join(', ')}]\ndestination: { kind: catalog, catalog_id: "4001" }\n`
  engine.write('eu-1.csv', csv(rows(0, 60)))
  engine.write('us-1.csv', csv(rows(100, 105)))
  engine.pipeline('shop', yaml('eu-*.csv', 'us-*.csv'))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { valid: 65 } })
  engine.write('eu-2.csv', csv(rows(0, 60)))
  engine.write('us-2.csv', csv([]))
  engine.write('new.csv', csv(rows(200, 210)))
  engine.pipeline('shop', yaml('eu-*.csv', 'us-*.csv', 'new.csv'))
  expect(await engine.run('shop')).toMatchObject({
    status: 'withheld',
    counts: { withheld: 5 },
    guards: [{ code: 'GUARD_ROWS_FELL', message: expect.stringMatching(/^rows of .*us-2\.csv fell from 5 to 0$/) }],
  })
})

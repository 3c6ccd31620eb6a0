/**
 * Histories in which a gated read could differ from a full read (docs/architecture.md#three-gates-work-that-is-skipped-safely). The
 * outcome of a row depends on more than its bytes, or on a decision about the whole source.
 */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rowIdentifiers } from '../../../src/db/identifiers.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest, type RunOptions } from '../../support/engine.ts'
import { everyKey } from '../../support/everyKey.ts'
import { forgetAll, histories } from '../../support/histories.ts'

let gated: EngineUnderTest
let slow: EngineUnderTest
beforeAll(async () => {
  gated = await engineUnderTest()
  slow = await engineUnderTest()
})
afterAll(async () => {
  await gated[Symbol.asyncDispose]()
  await slow[Symbol.asyncDispose]()
})

/** One run of the same pipeline on both engines; the second deletes its digests, so that it reads every record. */
interface Day {
  readonly files: Readonly<Record<string, string>>
  readonly yaml?: string
  readonly run?: RunOptions
}

/** Plays the days on an engine with the gate and on one without, and compares counts, guards, rejects and content. */
async function sameEnds(name: string, yaml: string, days: readonly Day[], fingerprint: (engine: EngineUnderTest) => Promise<unknown>) {
  await forgetAll(gated, slow)
  for (const [day, { files, yaml: changed, run }] of days.entries()) {
    await slow.db.execute('delete from sluice.record_digest')
    const ends = []
    for (const engine of [gated, slow]) {
      engine.pipeline(name, changed ?? yaml)
      for (const [file, content] of Object.entries(files)) engine.write(file, content)
      const report = await engine.run(name, run)
      ends.push({
        ...report.counts,
        status: report.status,
        guards: report.guards.map(({ code }) => code),
        error: report.error?.code,
        rejects: await engine.db.query(
          'select source, line, code, field from sluice.reject where run_id = $1 order by source, line, code',
          [report.runId.slice(2)],
        ),
        state: await fingerprint(engine),
      })
    }
    expect(ends[0], `run ${day + 1}`).toEqual(ends[1])
  }
}

const products = async ({ db, sandbox }: EngineUnderTest) => ({
  records: await db.query(`select convert_from(key, 'UTF8') as key, status, body from sluice.record order by key`),
  digest: (await sandbox.control.catalog()).digest,
})

const members = async ({ db, sandbox }: EngineUnderTest) => ({
  records: await db.query(`select key, hash, status, ${rowIdentifiers('record')} as identifiers from sluice.record order by key`),
  remote: await db.query(`select key, ref_count, desired_hash = synced_hash as same from ${everyKey} m order by key`),
  digest: (await sandbox.control.audience()).digest,
})

const loose = 'guards: { max_delete_count: 1000, max_reject_percent: 100 }\n'

const product = (id: number, more: Readonly<Record<string, string | undefined>> = {}) => ({
  id: `SKU-${id}`,
  title: `Cup ${id}`,
  description: 'A cup',
  availability: 'in stock',
  condition: 'new',
  price: '12.00 EUR',
  link: 'https://shop.example.com/cup',
  image_link: 'https://shop.example.com/cup.png',
  brand: 'Acme',
  ...more,
})
const lines = (rows: readonly object[]) => `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)

test('a new record without a required field is rejected, alone or beside known records', { timeout: 60_000 }, async () => {
  const three = numbers(3).map((id) => product(id))
  // The name of the file has no type, so that the columns must show it.
  await sameEnds(
    'shop',
    `${catalogYaml('feed.txt')}${loose}`,
    [{ files: { 'feed.txt': lines(three) } }, { files: { 'feed.txt': lines([...three, product(9, { price: undefined })]) } }],
    products,
  )
})

const audience = (file: string, more: string) => `source: { url: "{folder}/${file}" }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
${more}`

test('a new record without the consent column has no consent, alone or beside known records', { timeout: 60_000 }, async () => {
  const three = numbers(3).map((id) => ({ Id: `C${id}`, Email: `p${id}@example.com`, HasOptedOutOfEmail: false }))
  await sameEnds(
    'crm',
    audience('crm.jsonl', `preset: salesforce\nguards: { max_reject_percent: 100, accept: [CONSENT_UNKNOWN] }\n`),
    [{ files: { 'crm.jsonl': lines(three) } }, { files: { 'crm.jsonl': lines([...three, { Id: 'C9', Email: 'p9@example.com' }]) } }],
    members,
  )
})

const people = (
  from: number,
  to: number,
  email: (id: number) => string,
  phone = (id: number) => `+1-201-555-01${String(id % 100).padStart(2, '0')}`,
) =>
  numbers(to - from)
    .map((i) => from + i)
    .map((id) => `C${id},${email(id)},${phone(id)}\n`)
    .join('')
const table = (...parts: readonly string[]) => `id,email,phone\n${parts.join('')}`
const own = (id: number) => `p${id}@example.org`
const mapped = `map: { key: id, email: email, phone_number: phone }\n${loose}`

test('a share of old and new rows together withholds the run', { timeout: 120_000 }, async () => {
  const role = (id: number) => `${['info', 'sales', 'office'][id % 3]}@shop${id}.example.org`
  await sameEnds(
    'crm',
    audience('crm.csv', mapped),
    [
      { files: { 'crm.csv': table(people(0, 400, own), people(400, 403, role)) } },
      { files: { 'crm.csv': table(people(0, 400, own), people(400, 406, role)) } },
    ],
    members,
  )
})

test('one identifier on a third of old and new rows together withholds the run', { timeout: 120_000 }, async () => {
  const same = () => 'one@example.org'
  await sameEnds(
    'crm',
    audience('crm.csv', mapped),
    [
      { files: { 'crm.csv': table(people(0, 100, own), people(100, 130, same)) } },
      { files: { 'crm.csv': table(people(0, 100, own), people(100, 160, same)) } },
    ],
    members,
  )
})

test('a note in guards.hold is computed over all rows', { timeout: 60_000 }, async () => {
  const three = numbers(3).map((id) => product(id))
  await sameEnds(
    'shop',
    `${catalogYaml('feed.jsonl')}guards: { max_delete_count: 1000, hold: [CURRENCIES_MIXED] }\n`,
    [{ files: { 'feed.jsonl': lines(three) } }, { files: { 'feed.jsonl': lines([...three, product(9, { price: '12.00 USD' })]) } }],
    products,
  )
})

test('the fill rate counts known rows too, not only new ones', { timeout: 120_000 }, async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('crm', audience('crm.csv', mapped))
  engine.write('crm.csv', table(people(0, 900, own)))
  await engine.run('crm')
  engine.write(
    'crm.csv',
    table(
      people(0, 900, own),
      people(900, 1020, own, () => ''),
    ),
  )
  const few = await engine.run('crm')
  expect(few.warnings?.map(({ code }) => code)).not.toContain('FILL_RATE_FELL')
  engine.write(
    'crm.csv',
    table(
      people(0, 500, own),
      people(500, 1020, own, () => ''),
    ),
  )
  const many = await engine.run('crm')
  expect(many.warnings?.map(({ code }) => code)).toContain('FILL_RATE_FELL')
})

test('a person removed from a do-not-reach list by an address of another row stays removed', { timeout: 60_000 }, async () => {
  const head = 'email,phone,off\n'
  const one = 'a@example.com,+1-201-555-0101,no\n'
  const off = 'a@example.com,,yes\n'
  const other = (id: number) => `p${id}@example.com,,no\n`
  await sameEnds(
    'dnr',
    `source: { url: "{folder}/dnr.csv" }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
map: { email: email, phone_number: phone, remove: { column: off, values: ["yes"] } }
${loose}`,
    [
      { files: { 'dnr.csv': `${head}${one}${other(1)}${other(2)}` } },
      { files: { 'dnr.csv': `${head}${one}${off}${other(1)}${other(2)}` } },
      { files: { 'dnr.csv': `${head}${one}${off}${other(1)}${other(2)}${other(3)}` } },
      { files: { 'dnr.csv': `${head}${one}${other(1)}${other(2)}${other(3)}` } },
    ],
    async ({ db }) => ({
      records: await db.query(`select key, status, ${rowIdentifiers('record')} as identifiers from sluice.record order by key`),
      remote: await db.query(`select key, ref_count, desired_hash = synced_hash as same from ${everyKey} m order by key`),
    }),
  )
})

test('a server that answers 304 although the feed changed is believed for a day', { timeout: 60_000 }, async () => {
  let feed = ''
  const server = createServer((request, response) => {
    if (request.headers['if-none-match'] === '"v1"') response.writeHead(304, { etag: '"v1"' }).end()
    else response.writeHead(200, { etag: '"v1"', 'content-length': Buffer.byteLength(feed) }).end(feed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    await using engine = await engineUnderTest()
    engine.pipeline(
      'shop',
      `${catalogYaml('').replace('{folder}/', `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed.jsonl`)}${loose}`,
    )
    const validAfter = async (ids: readonly number[]) => {
      feed = lines(ids.map((id) => product(id)))
      return (await engine.run('shop')).counts.valid
    }
    const age = (interval: string) => engine.db.execute(`update snapshot set closed_at = closed_at - $1::interval`, [interval])
    expect(await validAfter(numbers(8))).toBe(8)
    expect(await validAfter(numbers(9))).toBe(8)
    await age('23 hours')
    expect(await validAfter(numbers(9))).toBe(8)
    await age('2 hours')
    expect(await validAfter(numbers(9))).toBe(9)
    expect(await validAfter(numbers(10))).toBe(9)
    // The snapshot was stored while the clock of the database was ahead.
    await age('-2 days')
    expect(await validAfter(numbers(10))).toBe(10)
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
})

test('a changed feed with an ETag goes through the record gate', { timeout: 60_000 }, async () => {
  let feed = ''
  const server = createServer((request, response) => {
    const etag = `"${createHash('md5').update(feed).digest('hex')}"`
    if (request.headers['if-none-match'] === etag) response.writeHead(304, { etag }).end()
    else response.writeHead(200, { etag, 'content-length': Buffer.byteLength(feed) }).end(feed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    await using engine = await engineUnderTest()
    engine.pipeline(
      'shop',
      `${catalogYaml('').replace('{folder}/', `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed.jsonl`)}${loose}`,
    )
    const days = [numbers(8), numbers(9), numbers(9), numbers(10), [...numbers(8), 9]]
    const stored = []
    for (const ids of days) {
      feed = lines(ids.map((id) => product(id)))
      const { status, counts } = await engine.run('shop')
      expect({ status, valid: counts.valid }).toEqual({ status: 'succeeded', valid: ids.length })
      stored.push(
        ...(await engine.db.query(
          'select sum(octet_length(digests) / 16)::int as digests, sum(cardinality(outdated))::int as outdated, count(*)::int as chunks from sluice.record_digest',
        )),
      )
    }
    // A full read would write one chunk again, or none; a gated one appends.
    expect(stored).toEqual([
      { digests: 8, outdated: 0, chunks: 1 },
      { digests: 9, outdated: 0, chunks: 2 },
      { digests: 9, outdated: 0, chunks: 2 },
      { digests: 10, outdated: 0, chunks: 3 },
      { digests: 10, outdated: 1, chunks: 3 },
    ])
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

test('contradicting rows of a feed on one line are reported with their own cells', { timeout: 60_000 }, async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', `${catalogYaml('feed.json')}${loose}`)
  const two = [product(2, { price: '2.00 EUR' }), product(2, { price: '3.00 EUR' })]
  engine.write('feed.json', JSON.stringify([product(1), ...two, product(3)]))
  await engine.run('shop')
  const cells = await engine.db.query<{ cells: string[] }>(`select cells from sluice.reject where code = 'DUPLICATE_CONFLICT'`)
  expect(cells.map((reject) => reject.cells).toSorted()).toEqual(two.map((row) => Object.values(row)))
})

/** A row of a random file by small numbers, so that keys are repeated, contradict, break and return. */
interface Item {
  readonly id: number
  readonly price: number
  readonly broken: boolean
}

const items = fc.array(fc.record({ id: fc.nat(7), price: fc.nat(1), broken: fc.boolean() }), { maxLength: 8 })
const how = fc.record({
  first: items,
  second: items,
  /** Changes to the two files. */
  action: fc.constantFrom('run', 'run', 'run', 'full', 'backfill', 'plan', 'short last row', 'open quote', 'redefined'),
  reordered: fc.boolean(),
  semicolons: fc.boolean(),
  ending: fc.constantFrom('\n', '\r\n', '\r'),
  marked: fc.boolean(),
})
type How = typeof how extends fc.Arbitrary<infer Value> ? Value : never

function csv(rows: readonly Item[], { reordered, semicolons, ending, marked }: How): string {
  const cells = rows.map(({ id, price, broken }) =>
    Object.entries(product(id, { price: broken ? 'dear' : `1${price}.00 EUR`, title: `Cup ${id}` })),
  )
  const head = Object.entries(product(0)).map(([name]) => [name, name] as const)
  const table = [head, ...cells].map((row) => (reordered ? row.toReversed() : row))
  const text = table.map((row) => row.map(([, value]) => `"${value}"`).join(semicolons ? ';' : ',')).join(ending) + ending
  return marked ? `\ufeff${text}` : text
}

const plain = { action: 'run', reordered: false, semicolons: false, ending: '\n', marked: false } as const
const good = (id: number): Item => ({ id, price: 0, broken: false })
/** Makes sure that the gate is used: the same rows except one, for three more days. */
const steady: [How[]] = [[0, 1, 2].map((day) => ({ ...plain, first: [good(day), good(3), good(4)], second: [good(5), good(6)] }))]

test('after any history, a gated run of two sources has the result of a full read', { tags: ['model'], timeout: 3_600_000 }, async () => {
  let gatedReadings = 0
  await fc.assert(
    fc.asyncProperty(fc.array(how, { minLength: 3, maxLength: 6 }), async (days) => {
      await forgetAll(gated, slow)
      for (const [day, today] of days.entries()) {
        const { action } = today
        await slow.db.execute('delete from sluice.record_digest')
        const [known] = await gated.db.query<{ n: number }>('select count(*)::int as n from sluice.record_digest')
        if (action === 'run') gatedReadings += known?.n ?? 0
        const ends = []
        for (const engine of [gated, slow]) {
          engine.pipeline(
            'shop',
            `source: [{ url: "{folder}/a.csv" }, { url: "{folder}/b.csv" }]\ndestination: { kind: catalog, catalog_id: "4001" }\n` +
              `${action === 'redefined' ? 'map: { custom_label_0: { const: sale } }\n' : ''}${loose}`,
          )
          const end = action === 'open quote' ? '"SKU' : action === 'short last row' ? '"SKU-0"' : ''
          engine.write('a.csv', csv(today.first, today))
          engine.write('b.csv', csv(today.second, today) + end)
          const report =
            action === 'backfill'
              ? await engine.backfill('shop', 'a.csv')
              : action === 'plan'
                ? await engine
                    .plan('shop')
                    .catch(({ code }: { code?: string }) => ({ status: code, counts: {}, guards: [], error: null, runId: '' }))
                : await engine.run('shop', action === 'full' ? { full: true } : {})
          ends.push({
            ...report.counts,
            status: report.status,
            guards: report.guards.map(({ code }) => code),
            error: report.error?.code,
            rejects: await engine.db.query(
              `select source, line, code, field, message, cells from sluice.reject where run_id = (select max(id) from sluice.run) order by source, line, code`,
            ),
            state: await products(engine),
          })
        }
        expect(ends[0], `run ${day + 1}: ${action}`).toEqual(ends[1])
      }
    }),
    { ...histories(3), examples: [steady] },
  )
  expect(gatedReadings, 'the gate must have been open').toBeGreaterThan(0)
})

/** Possible changes of a long file from one day to the next. Places are fractions of its length, so that each is inside. */
const change = fc.record({
  what: fc.constantFrom('moved', 'repeated', 'changed', 'left', 'new', 'contradicted'),
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  to: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
})

function overnight(
  rows: readonly string[],
  changes: readonly { readonly what: string; readonly at: number; readonly to: number }[],
): string[] {
  const next = [...rows]
  for (const [n, { what, at, to }] of changes.entries()) {
    const [from, place] = [Math.floor(at * next.length), Math.floor(to * next.length)]
    const [id] = (next[from] ?? '').split(',')
    if (what === 'moved') next.splice(place, 0, ...next.splice(from, 1))
    else if (what === 'repeated') next.splice(place, 0, next[from] ?? '')
    else if (what === 'changed') next[from] = `${id},changed${n}.${next.length}@example.org,\n`
    else if (what === 'left') next.splice(from, 1)
    else if (what === 'new') next.splice(place, 0, `N${n}-${next.length},new${n}.${next.length}@example.org,\n`)
    else next.splice(place, 0, `${id},other${n}.${next.length}@example.org,\n`)
  }
  return next
}

test(
  'a gated run handles moved, repeated, changed, missing and contradicting records of a long file as a full read does',
  { tags: ['model'], timeout: 240_000 },
  async () => {
    const long = people(0, 300, own)
      .trimEnd()
      .split('\n')
      .map((line) => `${line}\n`)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(change, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }), async (nights) => {
        let rows = long
        const days = [rows, ...nights.map((changes) => (rows = overnight(rows, changes)))]
        await sameEnds(
          'crm',
          audience('crm.csv', mapped),
          days.map((day) => ({ files: { 'crm.csv': table(...day) } })),
          members,
        )
      }),
      {
        ...histories(4),
        examples: [
          [[[{ what: 'moved', at: 0.5, to: 0.1 }]]],
          [[[{ what: 'repeated', at: 0.1, to: 0.9 }], [{ what: 'moved', at: 0.3, to: 0.8 }], [{ what: 'changed', at: 0.1, to: 0 }]]],
          [[[{ what: 'contradicted', at: 0.9, to: 0.1 }]]],
        ],
      },
    )
  },
)

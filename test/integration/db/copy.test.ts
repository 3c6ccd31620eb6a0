/** COPY in both directions, compared with what Postgres reads and writes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CopyWriter } from '../../../src/db/copyBinary.ts'
import { copyOut, ValueReader } from '../../../src/db/copyOut.ts'
import { testDatabase } from '../../support/postgres.ts'

const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array))
const row = fc.record({
  bytes,
  two: fc.integer({ min: -32_768, max: 32_767 }),
  four: fc.integer(),
  eight: fc.maxSafeInteger(),
  text: fc.string({ unit: 'binary' }).map((text) => text.toWellFormed().replaceAll('\0', '')),
  at: fc.date({ min: new Date('1900-01-01'), max: new Date('2200-01-01'), noInvalidDate: true }),
  list: fc.array(bytes, { maxLength: 4 }),
})

test('Postgres reads the values that the COPY writer wrote', async () => {
  await using fresh = await testDatabase()
  const client = await fresh.db.connect()
  try {
    await client.query('create temp table t (n int4, b bytea, two int2, four int4, eight int8, x text, at timestamptz, list bytea[])')
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 40 }), async (rows) => {
        await client.query('truncate t')
        const writer = new CopyWriter(client, 't')
        for (const [n, given] of rows.entries()) {
          writer.row(8)
          writer.int4(n)
          writer.bytes(given.bytes)
          writer.int2(given.two)
          writer.int4(given.four)
          writer.int8(given.eight)
          writer.text(given.text)
          writer.timestamp(given.at.getTime())
          writer.byteaArray(given.list)
          if (n % 7 === 0) await writer.flush()
        }
        await writer.end()
        const { rows: read } = await client.query('select b, two, four, eight, x, at, list from t order by n')
        expect(read).toEqual(
          rows.map(({ bytes: b, two, four, eight, text, at, list }) => ({ b, two, four, eight: String(eight), x: text, at, list })),
        )
      }),
      { numRuns: 60 },
    )
  } finally {
    client.release(true)
  }
})

test('the COPY reader returns the values of Postgres, of any size', async () => {
  await using fresh = await testDatabase()
  const client = await fresh.db.connect()
  try {
    await client.query(
      `create temp table t as
       select n, case n % 4 when 0 then ''::bytea when 1 then decode(repeat('ab', n), 'hex') else decode(repeat('0f', n * 400), 'hex') end as b
       from generate_series(1, 300) as n`,
    )
    const { rows } = await client.query<{ b: Buffer }>('select b from t order by n')
    const read: Buffer[] = []
    for await (const value of copyOut(client, 'select b from t order by n')) read.push(Buffer.from(value))
    expect(read.map((value, i) => value.equals(rows[i]?.b ?? Buffer.of(1)))).toEqual(rows.map(() => true))
    expect(await Array.fromAsync(copyOut(client, 'select b from t where false'))).toEqual([])
    // The connection is as before.
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  } finally {
    client.release(true)
  }
})

test('a COPY that waits for other statements has its rows, and none of them if it is aborted before', { timeout: 20_000 }, async () => {
  await using fresh = await testDatabase()
  const client = await fresh.db.connect()
  const source = Buffer.from('before, value, after')
  const copyAfter = async (after: Promise<unknown>, work: (copy: CopyWriter) => Promise<void>) => {
    const copy = new CopyWriter(client, 't', { after, maxWaitingBytes: 100_000_000 })
    for (let n = 0; n < 200_000; n++) {
      copy.row(2)
      copy.int4(n)
      copy.slice(source, 8, 5)
      if (copy.full) await copy.flush()
    }
    await work(copy)
  }
  const stored = async () =>
    (await client.query(`select count(*)::int as n, count(*) filter (where b = 'value')::int as right from t`)).rows
  try {
    await client.query('create temp table t (n int4, b bytea)')
    await copyAfter(client.query('select pg_sleep(0.3)'), (copy) => copy.end())
    expect(await stored()).toEqual([{ n: 200_000, right: 200_000 }])
    await client.query('begin')
    await copyAfter(client.query('select pg_sleep(0.3)'), async (copy) => copy.abort())
    await client.query('rollback')
    expect(await stored()).toEqual([{ n: 200_000, right: 200_000 }])
    // A statement before that failed.
    await copyAfter(client.query('select 1 / 0'), (copy) => copy.end())
    expect(await stored()).toEqual([{ n: 400_000, right: 400_000 }])
  } finally {
    client.release(true)
  }
})

test('several COPYs at the same time, which reuse buffers of each other, have their own rows', { timeout: 60_000 }, async () => {
  await using fresh = await testDatabase()
  const clients = await Promise.all([1, 2, 3].map(() => fresh.db.connect()))
  try {
    await Promise.all(clients.map((client) => client.query('create temp table t (round int4, n int4, b bytea)')))
    const rounds = 6
    const rowsPerRound = 4_000
    const value = (of: number, round: number, n: number) => Buffer.alloc(n % 500, (of * 31 + round * 7 + n) & 0xff)
    await Promise.all(
      clients.map(async (client, of) => {
        for (let round = 0; round < rounds; round++) {
          const copy = new CopyWriter(client, 't')
          for (let n = 0; n < rowsPerRound; n++) {
            copy.row(3)
            copy.int4(round)
            copy.int4(n)
            copy.bytes(value(of, round, n))
            if (copy.full) await copy.flush()
          }
          await copy.end()
        }
      }),
    )
    for (const [of, client] of clients.entries()) {
      const { rows } = await client.query<{ round: number; n: number; b: Buffer }>('select * from t order by round, n')
      expect(rows.length).toBe(rounds * rowsPerRound)
      expect(rows.filter(({ round, n, b }) => !b.equals(value(of, round, n)))).toEqual([])
    }
  } finally {
    for (const client of clients) client.release(true)
  }
})

test('the reader of values returns values of any size and null; two of them are valid at a time', async () => {
  await using fresh = await testDatabase()
  const client = await fresh.db.connect()
  try {
    const reader = new ValueReader(client)
    const sizes = [10, 1_000_000, 3, 70_000, 2_500_000, 0, 1_000_000]
    const read = (i: number) => reader.read(`select convert_to(repeat(chr(${97 + i}), ${sizes[i]}), 'UTF8')`)
    const expected = (i: number) => Buffer.alloc(sizes[i] ?? 0, 97 + i)
    let before: Buffer | undefined
    for (const i of sizes.keys()) {
      const value = await read(i)
      expect(value?.equals(expected(i))).toBe(true)
      if (i > 0) expect(before?.equals(expected(i - 1))).toBe(true)
      before = value
    }
    expect(await reader.read('select null::bytea')).toBe(undefined)
    await expect(reader.read('select 1 / 0')).rejects.toThrow('division by zero')
    expect((await read(0))?.equals(expected(0))).toBe(true)
  } finally {
    client.release(true)
  }
})

/**
 * Simple implementation for comparison: csv-parse with columns, the phone library, createHash, multi-row INSERT, and a Map of the previous
 * rows. It has the same file, the same normal forms and the same Postgres.
 */
import { parse } from 'csv-parse'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { parsePhoneNumberFromString } from 'libphonenumber-js/max'
import pg from 'pg'

const rowsAtOnce = 1_000

/** Loads `first` untimed, then syncs `second` against it, timed. */
export async function naive(input: { readonly databaseUrl: string; readonly first: string; readonly second: string }): Promise<object> {
  const client = new pg.Client({ connectionString: input.databaseUrl })
  await client.connect()
  try {
    await client.query('drop table if exists public.naive_member')
    await client.query('create table public.naive_member (customer_id text primary key, email text, phone text)')
    await load(client, input.first)
    const started = performance.now()
    const changes = await sync(client, input.second)
    return { seconds: (performance.now() - started) / 1000, changes }
  } finally {
    await client.query('drop table if exists public.naive_member')
    await client.end()
  }
}

/** Measures a first sync up to the stored request bodies: members by multi-row INSERT, bodies of 2,500 users by JSON.stringify. */
export async function naiveFirst(input: { readonly databaseUrl: string; readonly csv: string }): Promise<object> {
  const client = new pg.Client({ connectionString: input.databaseUrl })
  await client.connect()
  try {
    await client.query('drop table if exists public.naive_member, public.naive_body')
    await client.query('create table public.naive_member (customer_id text primary key, email text, phone text)')
    await client.query('create table public.naive_body (id serial primary key, body text)')
    const started = performance.now()
    let users: Member[] = []
    let bodies = 0
    const store = async () => {
      await client.query('insert into public.naive_body (body) values ($1)', [JSON.stringify(users.map(userOperation))])
      users = []
      bodies += 1
    }
    for await (const group of groups(input.csv)) {
      await insert(client, 'public.naive_member', group)
      for (const member of group) {
        users.push(member)
        if (users.length === 2_500) await store()
      }
    }
    if (users.length > 0) await store()
    return { seconds: (performance.now() - started) / 1000, bodies }
  } finally {
    await client.query('drop table if exists public.naive_member, public.naive_body')
    await client.end()
  }
}

function userOperation({ email, phone }: Member): object {
  const users = [{ email: [email], phone_number: [phone] }]
  return { operation_type: 'Update', params: { effective_at: '2026-11-22T00:00:00Z', expires_at: '2028-12-21T00:00:00Z', users } }
}

/**
 * Returns the number of bodies of a packer that renders the whole body again after each user, to know its size. The time grows with the
 * square of the number of users.
 */
export function quadraticBodies(operations: readonly object[]): number {
  let bodies = 0
  let open: object[] = []
  for (const operation of operations) {
    if (open.length === 2_500 || Buffer.byteLength(JSON.stringify([...open, operation])) > 5_000_000) {
      bodies += 1
      open = []
    }
    open.push(operation)
  }
  return open.length > 0 ? bodies + 1 : bodies
}

/** Loads the earlier state. */
async function load(client: pg.Client, file: string): Promise<void> {
  for await (const group of groups(file)) await insert(client, 'public.naive_member', group)
}

async function sync(client: pg.Client, file: string): Promise<number> {
  const { rows } = await client.query<Member>('select customer_id, email, phone from public.naive_member')
  const before = new Map(rows.map((row) => [row.customer_id, row]))
  await client.query('drop table if exists public.naive_stage')
  await client.query('create unlogged table public.naive_stage (customer_id text, email text, phone text)')
  let changes = 0
  for await (const group of groups(file)) {
    for (const member of group) {
      const known = before.get(member.customer_id)
      if (known?.email !== member.email || known.phone !== member.phone) changes++
      before.delete(member.customer_id)
    }
    await insert(client, 'public.naive_stage', group)
  }
  await client.query('drop table public.naive_stage')
  return changes + before.size
}

interface Member {
  readonly customer_id: string
  readonly email: string
  readonly phone: string
}

async function* groups(file: string): AsyncGenerator<Member[]> {
  let group: Member[] = []
  const rows = createReadStream(file).pipe(parse({ columns: true })) as AsyncIterable<Record<string, string>>
  for await (const row of rows) {
    group.push({
      customer_id: row['customer_id'] ?? '',
      email: sha256((row['email'] ?? '').trim().toLowerCase()),
      phone: sha256(parsePhoneNumberFromString(row['phone'] ?? '')?.number ?? ''),
    })
    if (group.length < rowsAtOnce) continue
    yield group
    group = []
  }
  if (group.length > 0) yield group
}

async function insert(client: pg.Client, table: string, group: readonly Member[]): Promise<void> {
  const values = group.flatMap(({ customer_id, email, phone }) => [customer_id, email, phone])
  const places = group.map((_, i) => `($${i * 3 + 1}, $${i * 3 + 2}, $${i * 3 + 3})`).join(',')
  await client.query(`insert into ${table} (customer_id, email, phone) values ${places}`, values)
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Each table has one module that writes it: its transitions have names, and a change of its columns has one place (docs/architecture.md). */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { is } from 'drizzle-orm'
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core'
import { parseSync } from 'oxc-parser'
import { expect, test } from 'vitest'

const src = join(import.meta.dirname, '../../../src')

/** The module that writes each table: a file, or a folder whose files write it together. */
const writers: Readonly<Record<string, string>> = {
  alert: 'db/alerts.ts',
  alert_delivery: 'db/alerts.ts',
  attempt: 'db/attempts.ts',
  audit: 'db/auditLog.ts',
  batch: 'db/batches/',
  batch_entries: 'db/entries/',
  budget: 'db/rateBudget.ts',
  budget_slot: 'db/rateBudget.ts',
  changed_key: 'db/changedKeys.ts',
  destination: 'db/destinations.ts',
  entry: 'db/entries/',
  erased_key: 'db/erasures.ts',
  erasure: 'db/erasures.ts',
  erasure_delete: 'db/erasures.ts',
  implied_key: 'db/impliedKeyIndex.ts',
  pipeline_pause: 'db/pauses.ts',
  pipeline_schedule: 'db/schedules.ts',
  plan: 'db/plans.ts',
  product_set: 'db/productSets.ts',
  record: 'db/records.ts',
  record_digest: 'db/digests.ts',
  record_quality: 'db/digests.ts',
  reject: 'db/rejects.ts',
  remote: 'db/remote/',
  run: 'db/runs/',
  run_request: 'db/runs/idempotency.ts',
  snapshot: 'db/snapshots.ts',
  tick: 'db/schedules.ts',
  webhook_event: 'db/webhookEvents.ts',
  worker: 'db/workers.ts',
}

/**
 * Modules that may also write the table of another module, because one statement writes two tables (atomic, or in one round trip). An
 * entry without a statement fails too.
 */
const shared: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  attempt: {
    'db/batches/release.ts': 'recovery ends the attempts of lost batches in the statement that takes them over',
    'db/batches/settleLoad.ts': 'an answer that confirms a whole batch is one statement',
  },
  audit: { 'db/batches/settleLoad.ts': 'an answer that confirms a whole batch is one statement' },
  batch: {
    'db/attempts.ts': 'an attempt and the fresh lease of its batch are one statement: no byte leaves without both',
    'db/remote/implied.ts': 'storing the implied keys of a batch and saying so is one statement',
  },
  destination: { 'db/batches/settleLoad.ts': 'an answer that confirms a whole batch is one statement' },
}

/** Files with a table that is known at run time only. */
const dynamic: Readonly<Record<string, string>> = {
  'db/copyBinary.ts': 'the writer of COPY: who makes one names the table',
  'db/journal.ts': 'the journal of migrations, in a schema of its own',
  'db/temporaryTables.ts': 'temporary tables of a run',
  'sync/plan/planTables.ts': 'temporary tables of a plan',
  'webhooks/eventStore.ts': "the table of events is `webhook_event`, or one in the user's own database",
}

interface Node {
  readonly type: string
  readonly [part: string]: unknown
}

const hole = '«»'
const write =
  /\b(?:(?<insert>insert\s+into|merge\s+into|delete\s+from|truncate(?:\s+table)?|copy)|(?<update>update))\s+(?:only\s+)?(?:"?\w+"?\.)?"?(?<table>\w+|«»)"?(?=(?<rest>[^]*))/gi
/** A text without these words has no statement that writes, and need not be parsed. */
const mayWrite = /insert\s+into|merge\s+into|delete\s+from|truncate|copy|update/i

const known = new Map<string, readonly string[]>()

/** Returns the tables that the SQL of a source text writes. `«»` is a name that is inserted at run time. */
function writesOf(text: string): readonly string[] {
  const found = known.get(text) ?? findWrites(text)
  known.set(text, found)
  return found
}

function findWrites(text: string): readonly string[] {
  if (!mayWrite.test(text)) return []
  const found: string[] = []
  visit(parseSync('file.ts', text).program as unknown as Node, (node) => {
    for (const { groups } of textOf(node).matchAll(write)) {
      const { insert, update, table = '', rest = '' } = groups ?? {}
      // `on conflict do update set`, `for update of`, and prose are not statements.
      if (update !== undefined && !/^(?:\s+as)?(?:\s+\w+)?\s+set\b/i.test(rest)) continue
      if (insert !== undefined && /^copy/i.test(insert) && !/^\s*(?:\([\w\s,«»]*\)\s*)?from\b/i.test(rest)) continue
      if (insert !== undefined && /^truncate/i.test(insert) && table === 'table') continue
      found.push(table.toLowerCase())
    }
  })
  return found
}

function textOf(node: Node): string {
  // The target of a COPY: `new CopyWriter(client, 'batch (id, …)')`.
  if (node.type === 'NewExpression' && isNode(node['callee']) && node['callee']['name'] === 'CopyWriter')
    return `copy ${(node['arguments'] as Node[]).map(textOf).join('')} from stdin`
  if (node.type === 'Literal' && typeof node['value'] === 'string') return node['value']
  if (node.type !== 'TemplateLiteral') return ''
  return (node['quasis'] as { value: { raw: string } }[]).map(({ value }) => value.raw).join(hole)
}

function visit(node: Node, look: (node: Node) => void): void {
  look(node)
  for (const part of Object.values(node)) for (const child of Array.isArray(part) ? part : [part]) if (isNode(child)) visit(child, look)
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}

function owns(table: string, file: string): boolean {
  const owner = writers[table]
  return owner?.endsWith('/') === true ? file.startsWith(owner) : owner === file
}

/** Returns each write outside of the table's module and the exceptions, as `table <- file`. */
function illegalWrites(files: ReadonlyMap<string, string>, tables: ReadonlySet<string>): readonly string[] {
  return [...files].flatMap(([file, text]) =>
    [...new Set(writesOf(text))]
      .filter((table) =>
        table === hole ? !(file in dynamic) : tables.has(table) && !owns(table, file) && !(file in (shared[table] ?? {})),
      )
      .map((table) => `${table} <- ${file}`),
  )
}

const schemas = readdirSync(join(src, 'db/schema')).map(
  async (name) => (await import(join(src, 'db/schema', name))) as Readonly<Record<string, unknown>>,
)
const tables = new Set(
  (await Promise.all(schemas)).flatMap((schema) =>
    Object.values(schema).flatMap((table) => (is(table, PgTable) ? [getTableConfig(table).name] : [])),
  ),
)
const files = new Map(
  readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.startsWith('sandbox/'))
    .map((name) => [name, readFileSync(join(src, name), 'utf8')]),
)

test('each table is written by one module', () => {
  expect(files.size, 'the checker must see the code it checks').toBeGreaterThan(400)
  expect([...files.values()].flatMap(writesOf).length).toBeGreaterThan(120)
  expect([...tables].toSorted()).toEqual(Object.keys(writers))
  expect(illegalWrites(files, tables)).toEqual([])
})

test('every listed module and exception writes a table', () => {
  const isWritten = (table: string, file: string) => writesOf(files.get(file) ?? '').includes(table)
  const idle = Object.keys(writers).filter(
    (table) => table !== 'webhook_event' && ![...files.keys()].some((file) => owns(table, file) && isWritten(table, file)),
  )
  const unused = Object.entries(shared).flatMap(([table, others]) => Object.keys(others).filter((file) => !isWritten(table, file)))
  expect([idle, unused, Object.keys(dynamic).filter((file) => !isWritten(hole, file))]).toEqual([[], [], []])
})

test.for([
  ["db.execute('update run set status = $1')", ['run']],
  ['db.query(`with x as (delete from only sluice.run r where true returning id) select`)', ['run']],
  ['db.query(`insert into "run" (id) values ($1) on conflict do update set id = excluded.id`)', ['run']],
  ["client.query(copyFrom('copy run (id, status) from stdin binary'))", ['run']],
  ["new CopyWriter(client, 'run (id, status)')", ['run']],
  ['db.query(`truncate run, worker`)', ['run']],
  ['db.execute(`delete from ${table} where id = $1`)', [hole]],
  ["db.query('select from run for update of run')", []],
] as const)('%s', ([text, expected]) => {
  expect(writesOf(text)).toEqual(expected)
})

test.for(Object.entries(writers))('finds a write of %s from a second module', ([table]) => {
  const verbs = [`insert into ${table} (id) values ($1)`, `update ${table} t set id = 1`, `delete from ${table} where id = 1`]
  for (const verb of verbs)
    expect(illegalWrites(new Map([['jobs/other.ts', `db.execute(\`${verb}\`)`]]), tables)).toEqual([`${table} <- jobs/other.ts`])
})

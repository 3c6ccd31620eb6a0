/** Stores received events once each, by id (docs/guarantees.md#webhook-delivery). */
import { logEvent } from '../db/auditLog.ts'
import type { Queryable } from '../db/queryable.ts'
import type { Gap, GapReceiver } from './gap.ts'
import { errorCode } from '../unknownValue.ts'

/** Event whose signature was verified. */
export interface ReceivedEvent {
  /** The event's `event_uuid`. Without one that Postgres can store: the SHA-256 of the body in hex. */
  readonly id: string
  /** `event_type`, else the first key of the body that is not about users, else `unknown`. */
  readonly type: string
  /** The body as it was received, a JSON object. */
  readonly json: string
}

export interface EventStore {
  /**
   * Stores the event. Resolves to false if its id is already stored. Rejects if the event could not be stored. The receiver then answers
   * 503, so that the service may deliver the event again.
   */
  readonly add: (event: ReceivedEvent) => Promise<boolean>
  /** Resolves if events can be stored again, else rejects. Called while events are refused. */
  readonly probe: () => Promise<void>
  /** Records the time in which events were refused, so that they can be replayed. Rejects if it could not be recorded. */
  readonly recordGap?: (gap: Gap) => Promise<void>
}

/** Stores the newest `limit` events in memory. An event that is delivered again after a restart, or after `limit` others, counts as new. */
export function memoryEventStore({ limit = 100_000 }: { readonly limit?: number } = {}): EventStore & {
  readonly events: () => readonly ReceivedEvent[]
} {
  const byId = new Map<string, ReceivedEvent>()
  return {
    async add(event) {
      if (byId.has(event.id)) return false
      byId.set(event.id, event)
      for (const id of byId.keys()) {
        if (byId.size <= limit) break
        byId.delete(id)
      }
      return true
    },
    probe: async () => undefined,
    events: () => [...byId.values()],
  }
}

/** Part of `pg.Pool` that the store uses. */
export interface PostgresPool {
  readonly query: (text: string, values?: unknown[]) => Promise<{ readonly rowCount: number | null }>
}

/**
 * Stores events in a table of your own Postgres: `id text`, `type text`, `body jsonb`, `received_at timestamptz`. Creates a missing table
 * before the first event.
 *
 * @throws {TypeError} if `table` is not a name of lower-case letters, digits and _
 */
export function postgresEventStore(pool: PostgresPool, { table = 'sluice_webhook_event' }: { readonly table?: string } = {}): EventStore {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(table)) throw new TypeError(`"${table}" is not a table name of lower-case letters, digits and _`)
  let created: Promise<unknown> | undefined
  const hasTable = async () => (await pool.query('select where to_regclass($1) is not null', [table])).rowCount === 1
  const createMissingTable = async () => {
    // Postgres denies `create table if not exists` to a role that may only insert, even if the table exists.
    if (await hasTable()) return
    try {
      await pool.query(
        `create table if not exists ${table} (id text primary key, type text not null, body jsonb not null, received_at timestamptz not null default statement_timestamp())`,
      )
    } catch (error) {
      // Fails with 23505 or 42710 if another process creates the table at the same time.
      if (!(await hasTable())) throw error
    }
  }
  const createTable = () =>
    (created ??= createMissingTable().catch((error: unknown) => {
      created = undefined
      throw error
    }))
  const execute: Execute = async (text, values) => (await pool.query(text, values)).rowCount ?? 0
  return {
    async add(event) {
      await createTable()
      return insertEvent(execute, table, event)
    },
    async probe() {
      await createTable()
      await insertNothing(execute, table)
    },
  }
}

/**
 * Stores events in the table `webhook_event` of Sluice's database, and gaps in its audit log. `receiver`: the receiver that refuses events.
 * Without it, the replays of any receiver request these gaps.
 */
export function databaseEventStore(db: Queryable, receiver?: GapReceiver): EventStore {
  return {
    add: (event) => insertEvent((text, values) => db.execute(text, values), 'webhook_event', event),
    probe: () => insertNothing((text, values) => db.execute(text, values), 'webhook_event'),
    async recordGap({ from, to, refused }) {
      const detail = { from: from.toISOString(), to: to.toISOString(), refused, ...receiver }
      await logEvent(db, { actor: 'webhooks', what: 'webhook.gap', detail })
    },
  }
}

/** Error codes of Postgres for JSON that jsonb cannot contain: U+0000, lone surrogates, numbers such as 1e400000. */
const unstorable = new Set(['22P02', '22P05', '22021', '22003'])

/** Runs a statement. Resolves to the number of inserted rows. */
type Execute = (text: string, values: unknown[]) => Promise<number>

/** Runs an insert without rows. It fails if the server is read-only, or the role may not insert into the table. */
async function insertNothing(execute: Execute, table: string): Promise<void> {
  await execute(`insert into ${table} (id, type, body) select '', '', '{}' where false`, [])
}

/** Inserts the event. Returns false if its id is already stored. */
async function insertEvent(execute: Execute, table: string, event: ReceivedEvent): Promise<boolean> {
  const insert = (json: string) =>
    execute(`insert into ${table} (id, type, body) values ($1, $2, $3) on conflict (id) do nothing`, [event.id, event.type, json])
  try {
    return (await insert(event.json)) === 1
  } catch (error) {
    if (!unstorable.has(String(errorCode(error)))) throw error
    // A body that jsonb cannot contain is stored as Base64. Its content cannot be searched.
    return (await insert(JSON.stringify({ base64: Buffer.from(event.json).toString('base64') }))) === 1
  }
}

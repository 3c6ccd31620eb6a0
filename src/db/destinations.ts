/** The `destination` table: one row for each catalog, audience or list of one service, and whose work it is. */
import type { Database, Queryable } from './database.ts'

export interface DestinationKey {
  /** Address of the advertising host. */
  readonly service: string
  readonly kind: string
  readonly accountId: string
  readonly targetId: string
}

export interface DestinationRow {
  readonly id: number
  /** Credentials that its work belongs to; null until its first run. */
  readonly credentials: string | null
}

/** Returns the row of a destination, and inserts it if it is new. */
export async function ensureDestination(db: Queryable, key: DestinationKey): Promise<DestinationRow> {
  const [known] = await find(db, key)
  if (known) return known
  await adoptHostOnly(db, key)
  await db.execute(`insert into destination (service, kind, account_id, target_id) values ($1, $2, $3, $4) on conflict do nothing`, [
    key.service,
    key.kind,
    key.accountId,
    key.targetId,
  ])
  const [row] = await find(db, key)
  if (!row) throw new Error('the destination was just made')
  return row
}

function find(db: Queryable, key: DestinationKey): Promise<DestinationRow[]> {
  return db.query<DestinationRow & Record<string, unknown>>(
    `select id, credentials from destination where service = $1 and kind = $2 and account_id = $3 and target_id = $4`,
    [key.service, key.kind, key.accountId, key.targetId],
  )
}

/** Earlier versions stored an address without its path. Such a row goes to the first address on its host that asks for it. */
async function adoptHostOnly(db: Queryable, key: DestinationKey): Promise<void> {
  const { origin } = new URL(key.service)
  if (origin === key.service) return
  await db.execute(
    `update destination set service = $1 where service = $2 and kind = $3 and account_id = $4 and target_id = $5 and credentials is null`,
    [key.service, origin, key.kind, key.accountId, key.targetId],
  )
}

/**
 * Moves a destination to other credentials, with all that is open there: it is the same catalog, audience or list.
 * False while a run is under way: nothing was moved.
 */
export async function takeOverDestination(db: Database, destinationId: number, credentials: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [before] = await tx.query<{ credentials: string | null }>('select credentials from destination where id = $1 for update', [
      destinationId,
    ])
    const moved = await tx.execute(
      `update destination d set credentials = $2
       where id = $1 and not exists (select from run r where r.destination_id = d.id and r.status = 'running' and r.lease_until > statement_timestamp())`,
      [destinationId, credentials],
    )
    if (moved === 0) return false
    await tx.execute(`insert into audit (actor, what, detail) values ('command', 'destination.taken_over', $1)`, [
      JSON.stringify({ destinationId, from: before?.credentials ?? null, to: credentials }),
    ])
    return true
  })
}

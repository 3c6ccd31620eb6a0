/**
 * Notifies other processes about new work. Every connection of a pool listens, so that an idle process needs only one connection. A
 * notification may be lost with its connection, so processes still poll, but at long intervals.
 */
import { hash } from 'node:crypto'
import type pg from 'pg'
import type { Queryable } from './queryable.ts'

/** Topic of a notification: a queued run, a plan that several workers can push, an action of an operator. */
export type Topic = 'run' | 'push' | 'action'

/**
 * Called with the topic of a notification, once for each open connection of the pool. Called without a topic when the pool opens a
 * connection and had none before: notifications may have been lost meanwhile.
 */
export type NotificationListener = (topic?: string) => void

/** Beginning of the name of a channel. */
const prefix = 'sluice_'
/** Number of hex digits after the prefix, from the SHA-256 of the schema's name. */
const digits = 24
/** Waits in milliseconds between attempts to open a connection again. The last wait repeats. */
const reopenAfterMs = [100, 1_000, 5_000, 15_000]

/** Returns the name of the channel of a schema. Channels belong to the whole database, so the schema is a part of the name. */
export function channelOf(schema: string): string {
  return `${prefix}${hash('sha256', schema).slice(0, digits)}`
}

/** Notifies all processes of this schema, at the commit of the transaction; on the pool, immediately. */
export async function notify(db: Queryable, topic: Topic): Promise<void> {
  await db.query(`select pg_notify('${prefix}' || left(encode(sha256(convert_to(current_schema(), 'UTF8')), 'hex'), ${digits}), $1)`, [
    topic,
  ])
}

/** Delivers the notifications of a pool, and keeps a connection open while there are listeners. */
export class Notifications {
  readonly #listeners = new Set<NotificationListener>()
  readonly #pool: pg.Pool
  /** Open connections. The pool also removes connections that break while they are set up, and that it never reported as open. */
  readonly #connections = new Set<pg.ClientBase>()
  #failures = 0
  #reopening: NodeJS.Timeout | undefined

  constructor(pool: pg.Pool) {
    this.#pool = pool
    pool.on('connect', (client) => {
      client.on('notification', ({ payload }) => this.#deliver(payload))
      this.#failures = 0
      this.#connections.add(client)
      if (this.#connections.size === 1) this.#deliver(undefined)
    })
    pool.on('remove', (client) => {
      if (this.#connections.delete(client) && this.#connections.size === 0) this.#reopen()
    })
  }

  /** Registers `listener`. Returns a function that removes it. */
  listen(listener: NotificationListener): () => void {
    this.#listeners.add(listener)
    if (this.#connections.size === 0) this.#reopen()
    return () => {
      this.#listeners.delete(listener)
    }
  }

  #deliver(topic: string | undefined): void {
    for (const listener of this.#listeners) listener(topic)
  }

  /** Opens a connection after a wait. Repeats this until it succeeds, or until there are no listeners or the pool has a connection. */
  #reopen(): void {
    if (this.#listeners.size === 0 || this.#reopening !== undefined) return
    const waitMs = reopenAfterMs[Math.min(this.#failures, reopenAfterMs.length - 1)]
    this.#reopening = setTimeout(() => {
      this.#reopening = undefined
      if (this.#connections.size > 0 || this.#pool.ending) return
      this.#pool.query('select').catch(() => {
        this.#failures++
        this.#reopen()
      })
    }, waitMs)
    // Reconnecting must not keep a finished command alive.
    this.#reopening.unref()
  }
}

/** Reads figures of the table `webhook_event`, and deletes old events. */
import type { Queryable } from './database.ts'
import type { Value } from './row.ts'

export interface WebhookState {
  /** Time of the last event; null if there is none. */
  readonly lastAt: Date | null
  /** Number of events of the last 24 hours. */
  readonly lastDayCount: number
}

/** Returns the figures of the stored webhook events. */
export async function webhookState(db: Queryable): Promise<WebhookState> {
  const [row] = await db.query<{ last_at: Value<'webhook_event', 'received_at'> | null; last_day_count: number }>(
    `select (select max(received_at) from webhook_event) as last_at,
       (select count(*)::int from webhook_event where received_at > statement_timestamp() - interval '1 day') as last_day_count`,
  )
  return { lastAt: row?.last_at ?? null, lastDayCount: row?.last_day_count ?? 0 }
}

/** Deletes events after 35 days. Returns their number. */
export async function dropOldWebhookEvents(db: Queryable): Promise<number> {
  return db.execute(`delete from webhook_event where received_at < statement_timestamp() - interval '35 days'`)
}

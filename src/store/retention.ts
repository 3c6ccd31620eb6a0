/** What is kept no longer than it is needed (guarantees 8.5). Every statement is small and safe to repeat. */
import type { Database } from './database.ts'

/** Deletes what its time is over for; returns rows touched, by kind. */
export async function applyRetention(db: Database): Promise<Readonly<Record<string, number>>> {
  return {
    // Frozen bodies hold digests: seven days after they settled nobody may need to send them again.
    bodies: await db.execute(
      `update sluice.batch set body = null where body is not null and status in ('settled', 'split', 'superseded') and settled_at < clock_timestamp() - interval '7 days'`,
    ),
    rejects: await db.execute(
      `delete from sluice.reject x using sluice.run r where r.id = x.run_id and r.finished_at < clock_timestamp() - interval '7 days'`,
    ),
    // A key that late bytes might have brought back, and did not.
    keys: await db.execute(
      `delete from sluice.remote where held <= 0 and synced_hash is null and late_until <= clock_timestamp()
       and not exists (select from sluice.entry e join sluice.batch b on b.id = e.batch_id
         where b.status in ('pending', 'in_flight', 'ambiguous', 'parked') and b.destination_id = remote.destination_id and remote.key = any(e.keys))`,
    ),
    audit: await db.execute(`delete from sluice.audit where at < clock_timestamp() - interval '24 months'`),
    events: await db.execute(`delete from sluice.webhook_event where received_at < clock_timestamp() - interval '35 days'`),
    ticks: await db.execute(`delete from sluice.tick where scheduled_for < clock_timestamp() - interval '35 days'`),
    workers: await db.execute(
      `delete from sluice.worker w where seen_at < clock_timestamp() - interval '7 days'
       and not exists (select from sluice.batch b where b.worker_id = w.id) and not exists (select from sluice.run r where r.worker_id = w.id and r.status = 'running')`,
    ),
  }
}

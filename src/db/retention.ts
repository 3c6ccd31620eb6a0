/** Deletes data that is no longer needed (docs/retention.md). Every statement is safe to repeat. */
import type { Database } from './database.ts'
import { dropOldBodies } from './batches/bodies.ts'
import { supersedeStaleBatches } from './batches/release.ts'
import { dropOldEntries, dropOldTemplates } from './entries/drop.ts'
import { dropUnusedKeys } from './remote/drop.ts'
import { defaultKeepRunsDays, dropRuns } from './runRetention.ts'
import { dropOldAlerts } from './alerts.ts'
import { dropOldAuditLines } from './auditLog.ts'
import { supersedeStalePlans } from './plans.ts'
import { dropOldCells, dropOldRejects } from './rejects.ts'
import { dropOldTicks } from './schedules.ts'
import { dropOldWebhookEvents } from './webhookEvents.ts'
import { dropOldWorkers } from './workers.ts'

/**
 * Deletes expired data. `keepRunsDays`: days after which ended runs are deleted. Returns the number of deleted or changed rows by type of
 * data.
 */
export async function applyRetention(
  db: Database,
  { keepRunsDays = defaultKeepRunsDays }: { readonly keepRunsDays?: number } = {},
): Promise<Readonly<Record<string, number>>> {
  return {
    plans: await endStalePlans(db),
    // Frozen bodies contain digests, and are not needed after the end of their batch.
    bodies: (await dropOldBodies(db)) + (await dropOldTemplates(db)),
    operations: await dropOldEntries(db),
    // Cells (the values of a rejected row) are deleted earlier than the rejects themselves.
    cells: await dropOldCells(db),
    rejects: await dropOldRejects(db),
    keys: await dropUnusedKeys(db),
    runs: await dropRuns(db, keepRunsDays),
    audit: await dropOldAuditLines(db),
    alerts: await dropOldAlerts(db),
    events: await dropOldWebhookEvents(db),
    ticks: await dropOldTicks(db),
    workers: await dropOldWorkers(db),
  }
}

/** Supersedes stale plans and their unsent batches. Returns the number of plans. */
async function endStalePlans(db: Database): Promise<number> {
  return db.transaction(async (tx) => {
    const plans = await supersedeStalePlans(tx)
    await supersedeStaleBatches(tx, plans)
    return plans.length
  })
}

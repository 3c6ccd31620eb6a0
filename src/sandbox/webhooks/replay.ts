/**
 * Runs replay jobs (docs/spec-notes.md#replays). A job delivers the events of a webhook in a time range again, then an event with the
 * result. If the webhook is invalid or deleted, the job delivers nothing and is `Incomplete`, even without events.
 */
import type { World } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { isSuccess, postEvent } from './events.ts'
import { startUnlessRunning } from './runtime.ts'
import type { ReplayJob, WebhooksState } from './state.ts'

/** Runs the pending jobs. Resolves when they have ended or were cancelled. */
export async function runJobs(world: World, state: WebhooksState): Promise<void> {
  const pending = [...state.jobs.values()].filter((job) => job.state === 'pending')
  await Promise.all(
    pending.map((job) => startUnlessRunning(world, `job ${job.job_id}`, (cancelled) => runJob(world, state, job, cancelled))),
  )
}

async function runJob(world: World, state: WebhooksState, job: ReplayJob, cancelled: AbortSignal): Promise<void> {
  const webhook = state.webhooks.get(job.webhookId)
  const events = state.log.filter((event) => event.webhookId === job.webhookId && event.at >= job.from && event.at < job.to)
  const isValid = webhook?.valid === true
  let failedCount = 0
  if (isValid) {
    for (const event of events) {
      // Waits for each delivery, so that a replay keeps the order of events.
      const status = await postEvent(world, webhook.url, { body: event.body, signature: 'good' }, cancelled)
      if (cancelled.aborted) return
      if (!isSuccess(status)) failedCount++
    }
    const description =
      failedCount === 0 ? `${events.length} events were delivered` : `${failedCount} of ${events.length} events were not accepted`
    const status = {
      webhook_id: job.webhookId,
      job_state: failedCount === 0 ? 'Complete' : 'Incomplete',
      job_state_description: description,
      job_id: job.job_id,
    }
    await postEvent(world, webhook.url, { body: JSON.stringify({ replay_job_status: status }), signature: 'good' }, cancelled)
  }
  if (cancelled.aborted) return
  world.recordEvent(areaRefs.webhooks, {
    kind: 'replayed',
    id: job.job_id,
    state: isValid && failedCount === 0 ? 'Complete' : 'Incomplete',
  })
}

/** Reads `yyyymmddhhmm` in UTC. Returns milliseconds since 1970; undefined for any other text. */
export function parseMinute(text: string): number | undefined {
  const match = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})$/.exec(text)
  if (match === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0] = match.slice(1).map(Number)
  const at = Date.UTC(year, month - 1, day, hour, minute)
  return new Date(at).toISOString().startsWith(`${match[1]}-${match[2]}-${match[3]}T${match[4]}:${match[5]}`) ? at : undefined
}

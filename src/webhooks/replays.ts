/**
 * Requests events again that were refused while the database was down (docs/guarantees.md#webhook-delivery): redelivery alone is
 * not promised. Follows from the audit log alone, so a restart continues where the last process stopped, and two processes
 * in parallel ask twice at worst: a replayed event has one effect.
 */
import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'
import { noteEvent } from '../db/audit.ts'
import type { Queryable } from '../db/queryable.ts'

/** Service calls that a replay needs; times are minutes in UTC, `yyyymmddhhmm`. */
export interface ReplayService {
  readonly webhooks: () => Promise<readonly { readonly id: string; readonly url: string }[]>
  /** Answers the id of the job. */
  readonly replay: (range: { readonly webhook_id: string; readonly from_date: string; readonly to_date: string }) => Promise<string>
}

export interface ReplayDeps {
  readonly db: Queryable
  readonly service: ReplayService
  /** Path of our receiver, which distinguishes our webhooks from others of the app. */
  readonly path: string
  readonly log: Logger
  readonly clock: Pick<Clock, 'now'>
}

const MINUTE = 60_000
/** The service reaches 5 days back (docs/spec-notes.md#webhooks). */
const REACH_MS = 5 * 24 * 60 * MINUTE
/** A job that has said nothing for so long is asked for again: its last event may itself have been refused. */
const RETRY_AFTER_MS = 15 * MINUTE
/** Then a person has to look. */
const MOST_ATTEMPTS = 10

export interface ReplayKeeper {
  /** Checks immediately, because a gap was just recorded. */
  readonly wake: () => void
  /** Resolves when the look on its way has ended. */
  readonly stop: () => Promise<void>
}

/**
 * Looks now and then whether the database is back and whether a gap wants its events again: at the start, when woken, and
 * every `everyMs` while something is open. One look at a time; none keeps a process alive.
 */
export function keepReplays(deps: ReplayDeps & { readonly probe: () => Promise<void>; readonly everyMs?: number }): ReplayKeeper {
  let open = true
  let running: Promise<void> | undefined
  const look = async (): Promise<void> => {
    await deps.probe()
    if (!open) return
    try {
      open = (await requestReplays(deps)) > 0
    } catch (error) {
      // The database again: what is recorded there waits for the next look.
      deps.log.debug({ error: error instanceof Error ? error.name : 'unknown' }, 'gaps in webhook events could not be looked up')
    }
  }
  const lookOnce = (): void => {
    running ??= look().finally(() => (running = undefined))
  }
  const timer = setInterval(lookOnce, deps.everyMs ?? 15_000)
  timer.unref()
  lookOnce()
  return {
    wake: () => {
      open = true
      lookOnce()
    },
    stop: async () => {
      clearInterval(timer)
      await running
    },
  }
}

interface AuditEntry {
  readonly id: string
  readonly at: Date
  readonly what: string
  readonly detail: Readonly<Record<string, unknown>>
}

interface OpenGap {
  readonly id: string
  readonly fromMs: number
  readonly toMs: number
  readonly attempts: readonly AuditEntry[]
}

/** Asks for every gap that still wants it. Resolves to the number of gaps not yet known to be filled; never rejects for want of the service. */
export async function requestReplays(deps: ReplayDeps): Promise<number> {
  const gaps = await openGaps(deps.db)
  let open = 0
  for (const gap of gaps) if (!(await settle(deps, gap))) open++
  return open
}

/** True when nothing is left to do for this gap. */
async function settle(deps: ReplayDeps, gap: OpenGap): Promise<boolean> {
  const last = gap.attempts.at(-1)
  const jobs = jobsOf(last)
  const ended = await jobStates(deps.db, jobs)
  if (jobs.length > 0 && jobs.every((job) => ended.get(job) === 'Complete')) {
    await note(deps.db, 'webhook.replayed', { gap: gap.id })
    deps.log.info({ attempts: gap.attempts.length }, 'the events of the gap were delivered again')
    return true
  }
  const failed = jobs.some((job) => ended.has(job) && ended.get(job) !== 'Complete')
  if (last !== undefined && !failed && deps.clock.now() - last.at.getTime() < RETRY_AFTER_MS) return false
  if (gap.attempts.length >= MOST_ATTEMPTS || deps.clock.now() - gap.toMs > REACH_MS) {
    await note(deps.db, 'webhook.replay_given_up', { gap: gap.id, attempts: gap.attempts.length })
    deps.log.error(
      { from: minuteOf(gap.fromMs), to: minuteOf(gap.toMs), attempts: gap.attempts.length },
      'webhook events of a gap could not be had again; by hand: sluice webhooks replay ID --from … --to …',
    )
    return true
  }
  await request(deps, gap)
  return false
}

async function request(deps: ReplayDeps, gap: OpenGap): Promise<void> {
  // A minute more on either side: an event is made before it is refused, and the service counts in whole minutes.
  const range = {
    from_date: minuteOf(Math.max(gap.fromMs - MINUTE, deps.clock.now() - REACH_MS + MINUTE)),
    to_date: minuteOf(gap.toMs + MINUTE),
  }
  const jobs: string[] = []
  try {
    for (const { id } of ours(await deps.service.webhooks(), deps.path)) jobs.push(await deps.service.replay({ webhook_id: id, ...range }))
  } catch (error) {
    // Tried again at the next check; a second request for the same events has no effect.
    deps.log.warn({ error: error instanceof Error ? error.name : 'unknown', ...range }, 'the replay of a gap could not be asked for yet')
    return
  }
  await note(deps.db, 'webhook.replay', { gap: gap.id, jobs, ...range })
  if (jobs.length === 0) deps.log.warn(range, 'the app has no webhook that leads here, so nothing can be replayed')
  else deps.log.info({ jobs, ...range }, 'the replay of a gap was asked for')
}

/** Those whose path is the receiver's; behind a proxy that changes paths, all of the app. */
function ours(webhooks: readonly { readonly id: string; readonly url: string }[], path: string): readonly { readonly id: string }[] {
  const same = webhooks.filter(({ url }) => URL.canParse(url) && new URL(url).pathname.replace(/\/$/, '') === path.replace(/\/$/, ''))
  return same.length > 0 ? same : webhooks
}

async function openGaps(db: Queryable): Promise<OpenGap[]> {
  // Rows without a run are few and indexed; six days, because an older gap is out of the service's reach.
  const entries = await db.query<{ id: string; at: Date; what: string; detail: Record<string, unknown> }>(
    `select id, at, what, detail from audit
     where run_id is null and what like 'webhook.%' and at > now() - interval '6 days'
     order by id`,
  )
  const of = (what: string, gap: string): AuditEntry[] => entries.filter((one) => one.what === what && String(one.detail['gap']) === gap)
  return entries
    .filter(({ what, id }) => what === 'webhook.gap' && [...of('webhook.replayed', id), ...of('webhook.replay_given_up', id)].length === 0)
    .map(({ id, detail }) => ({
      id,
      fromMs: Date.parse(String(detail['from'])),
      toMs: Date.parse(String(detail['to'])),
      attempts: of('webhook.replay', id),
    }))
}

/** Returns the final state of the jobs, from their last events (docs/spec-notes.md#webhooks). */
async function jobStates(db: Queryable, jobs: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (jobs.length === 0) return new Map()
  const rows = await db.query<{ job: string; state: string }>(
    `select body->'replay_job_status'->>'job_id' as job, body->'replay_job_status'->>'job_state' as state
     from webhook_event
     where type = 'replay_job_status' and received_at > now() - interval '6 days' and body->'replay_job_status'->>'job_id' = any($1)
     order by received_at`,
    [jobs],
  )
  return new Map(rows.map(({ job, state }) => [job, state]))
}

function jobsOf(attempt: AuditEntry | undefined): readonly string[] {
  const jobs = attempt?.detail['jobs']
  return Array.isArray(jobs) ? jobs.map(String) : []
}

async function note(db: Queryable, what: string, detail: Readonly<Record<string, unknown>>): Promise<void> {
  await noteEvent(db, { actor: 'webhooks', what, detail })
}

function minuteOf(ms: number): string {
  return new Date(ms).toISOString().replaceAll(/\D/g, '').slice(0, 12)
}

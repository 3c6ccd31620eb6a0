/**
 * Requests replays of events that were refused while the database was down. The service does not promise to deliver these events again. The
 * state is in the audit log, so the work continues after a restart. Two processes may request the same replay, but each event is stored
 * once (docs/guarantees.md#webhook-delivery).
 */
import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'
import { logEvent } from '../db/auditLog.ts'
import type { Queryable } from '../db/queryable.ts'
import { listOf } from '../unknownValue.ts'
import type { GapReceiver } from './gap.ts'

/** Calls of the service that a replay needs. Times are minutes in UTC, `yyyymmddhhmm`. */
export interface ReplayService {
  /** Lists the webhooks of the app, with the addresses that the service calls. */
  readonly webhooks: () => Promise<readonly { readonly id: string; readonly url: string }[]>
  /** Requests a replay. Resolves to the id of its job. */
  readonly replay: (range: { readonly webhook_id: string; readonly from_date: string; readonly to_date: string }) => Promise<string>
}

export interface ReplayDeps {
  readonly db: Queryable
  readonly service: ReplayService
  /** Receiver of this process. Gaps of another service or application are left to their own processes. Without it, all gaps are replayed. */
  readonly receiver?: GapReceiver
  /** Path of the receiver, if `receiver` is absent. */
  readonly path?: string
  readonly log: Logger
  readonly clock: Pick<Clock, 'now'>
  /** Milliseconds between checks. Default: 15 s. */
  readonly everyMs?: number
}

const defaultCheckMs = 15_000
const minuteMs = 60_000
/** Age in milliseconds up to which the service replays events. */
const replayableMs = 5 * 24 * 60 * minuteMs
/**
 * Milliseconds without a result after which a replay is requested again. The event with the result may have been refused too. Also the
 * longest wait after attempts that failed.
 */
const replayAgainAfterMs = 15 * minuteMs
/** Maximum number of attempts for one gap. After that, an error is logged for the operator. */
const maxAttempts = 10

/** Running checks for gaps. */
export interface ReplayKeeper {
  /** Checks immediately, or at the next interval if a check is running. Called when a gap was recorded. */
  readonly wake: () => void
  /** Stops the checks, also those of a later `wake`. Resolves when a running check has ended. */
  readonly stop: () => Promise<void>
}

/**
 * Checks whether the database is back, and whether an open gap (`OpenGap`) needs a replay. Checks at the start, on `wake` and every
 * `everyMs`. Checks never overlap, and do not keep the process alive.
 */
export function keepReplays(deps: ReplayDeps & { readonly probe: () => Promise<void> }): ReplayKeeper {
  let mayHaveOpenGaps = true
  let running: Promise<void> | undefined
  const check = async (): Promise<void> => {
    await deps.probe()
    if (!mayHaveOpenGaps) return
    mayHaveOpenGaps = false
    try {
      // Never set to false here, because `wake` may have set it meanwhile for a gap that this check did not read.
      if ((await requestReplays(deps)) > 0) mayHaveOpenGaps = true
    } catch (error) {
      // The database is down again. The next check reads the gaps again.
      mayHaveOpenGaps = true
      deps.log.debug({ error: error instanceof Error ? error.name : 'unknown' }, 'gaps in webhook events could not be read')
    }
  }
  let isStopped = false
  const checkOnce = (): void => {
    if (isStopped) return
    running ??= check().finally(() => (running = undefined))
  }
  const timer = setInterval(checkOnce, deps.everyMs ?? defaultCheckMs)
  timer.unref()
  checkOnce()
  return {
    wake: () => {
      mayHaveOpenGaps = true
      checkOnce()
    },
    stop: async () => {
      isStopped = true
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

/** Gap that was neither replayed nor given up, with the attempts to replay it. Times in milliseconds since 1970. */
interface OpenGap {
  readonly id: string
  readonly fromMs: number
  readonly toMs: number
  /** Path of the receiver that refused the events. */
  readonly path: string
  readonly attempts: readonly AuditEntry[]
}

/**
 * Requests the replays that are due. Resolves to the number of open gaps. Rejects if the database fails. A failure of the service is only
 * logged.
 */
export async function requestReplays(deps: ReplayDeps): Promise<number> {
  const { gaps, nowMs } = await openGaps(deps)
  let openCount = 0
  for (const gap of gaps) if (!(await resolveGap(deps, gap, nowMs))) openCount++
  return openCount
}

/**
 * Records the result of a gap's replay, or requests a replay. Resolves to true if the gap was replayed or given up. `nowMs`: time of the
 * database, which also wrote the times of the attempts.
 */
async function resolveGap(deps: ReplayDeps, gap: OpenGap, nowMs: number): Promise<boolean> {
  const last = gap.attempts.at(-1)
  const [jobs, missed] = [textsOf(last, 'jobs'), textsOf(last, 'missed')]
  const states = await jobStates(deps.db, jobs)
  if (jobs.length > 0 && missed.length === 0 && jobs.every((job) => states.get(job) === 'Complete')) {
    await recordEvent(deps.db, 'webhook.replayed', { gap: gap.id })
    deps.log.info({ attempts: gap.attempts.length }, 'the events of the gap were delivered again')
    return true
  }
  const isIncomplete = jobs.some((job) => states.has(job) && states.get(job) !== 'Complete')
  const hasFailed = isIncomplete || missed.length > 0
  if (last !== undefined && nowMs - last.at.getTime() < waitMs(deps, gap.attempts.length, hasFailed)) return false
  if (gap.attempts.length >= maxAttempts || deps.clock.now() - gap.toMs > replayableMs) {
    await recordEvent(deps.db, 'webhook.replay_given_up', { gap: gap.id, attempts: gap.attempts.length })
    deps.log.error(
      { from: minuteOf(gap.fromMs), to: minuteOf(gap.toMs), attempts: gap.attempts.length },
      'webhook events of a gap could not be replayed. hint: sluice webhooks replay ID --from … --to …',
    )
    return true
  }
  await requestReplay(deps, gap, missed.length === 0 || isIncomplete ? undefined : { jobs, missed })
  return false
}

/**
 * Returns the milliseconds from the last attempt to the next one. After a failed request or an incomplete job, the wait begins with
 * `everyMs` and doubles with each attempt, up to `replayAgainAfterMs`.
 */
function waitMs({ everyMs = defaultCheckMs }: ReplayDeps, attempts: number, hasFailed: boolean): number {
  return hasFailed ? Math.min(replayAgainAfterMs, everyMs * 2 ** (attempts - 1)) : replayAgainAfterMs
}

/**
 * Requests a replay from each webhook of the receiver. Records the jobs, and the webhooks without a job because their request failed
 * (`missed`). `earlierAttempt`: attempt of which only the missed webhooks get a request. A failure to list the webhooks is only logged.
 */
async function requestReplay(
  deps: ReplayDeps,
  gap: OpenGap,
  earlierAttempt: { readonly jobs: readonly string[]; readonly missed: readonly string[] } | undefined,
): Promise<void> {
  // The range has one minute more on either side. An event is created before it is refused, and the service replays whole minutes.
  const range = {
    from_date: minuteOf(Math.max(gap.fromMs - minuteMs, deps.clock.now() - replayableMs + minuteMs)),
    to_date: minuteOf(gap.toMs + minuteMs),
  }
  const warn = (error: unknown) =>
    deps.log.warn({ error: error instanceof Error ? error.name : 'unknown', ...range }, 'the replay of a gap could not be requested yet')
  let webhooks: readonly { readonly id: string }[]
  try {
    webhooks = webhooksOf(await deps.service.webhooks(), gap.path)
  } catch (error) {
    // Nothing was requested. The next check tries again.
    return warn(error)
  }
  const jobs = [...(earlierAttempt?.jobs ?? [])]
  const missed: string[] = []
  for (const { id } of webhooks.filter((webhook) => earlierAttempt === undefined || earlierAttempt.missed.includes(webhook.id))) {
    try {
      jobs.push(await deps.service.replay({ webhook_id: id, ...range }))
    } catch (error) {
      missed.push(id)
      warn(error)
    }
  }
  await recordEvent(deps.db, 'webhook.replay', { gap: gap.id, jobs, ...(missed.length === 0 ? {} : { missed }), ...range })
  if (jobs.length > 0) deps.log.info({ jobs, ...range }, 'the replay of a gap was requested')
  else if (missed.length === 0) deps.log.warn(range, 'the app has no webhook with the address of this receiver, so nothing can be replayed')
}

/** Returns the webhooks with the path of the receiver. If none has this path, a proxy may change paths, so all webhooks are returned. */
function webhooksOf(webhooks: readonly { readonly id: string; readonly url: string }[], path: string): readonly { readonly id: string }[] {
  const webhooksAtPath = webhooks.filter(
    ({ url }) => URL.canParse(url) && new URL(url).pathname.replace(/\/$/, '') === path.replace(/\/$/, ''),
  )
  return webhooksAtPath.length > 0 ? webhooksAtPath : webhooks
}

/**
 * Returns the open gaps of the service and the application, and the time of the database. A gap that an earlier version recorded belongs
 * to every receiver.
 */
async function openGaps({ db, receiver, path }: ReplayDeps): Promise<{ readonly gaps: readonly OpenGap[]; readonly nowMs: number }> {
  // Rows without a run are few and indexed. A gap that was recorded more than six days ago can no longer be replayed.
  const entries = await db.query<{ id: string; at: Date; what: string; detail: Record<string, unknown>; now: Date }>(
    `select id, at, what, detail, statement_timestamp() as now from audit
     where run_id is null and what like 'webhook.%' and at > now() - interval '6 days'
     order by id`,
  )
  const entriesOf = (what: string, gap: string): AuditEntry[] =>
    entries.filter((entry) => entry.what === what && String(entry.detail['gap']) === gap)
  const isOwn = (detail: AuditEntry['detail']) =>
    receiver === undefined ||
    detail['service'] === undefined ||
    (detail['service'] === receiver.service && detail['application'] === receiver.application)
  const gaps = entries
    .filter(
      ({ what, id, detail }) =>
        what === 'webhook.gap' &&
        isOwn(detail) &&
        ['webhook.replayed', 'webhook.replay_given_up'].every((end) => entriesOf(end, id).length === 0),
    )
    .map(({ id, detail }) => ({
      id,
      fromMs: Date.parse(String(detail['from'])),
      toMs: Date.parse(String(detail['to'])),
      path: String(detail['path'] ?? receiver?.path ?? path),
      attempts: entriesOf('webhook.replay', id),
    }))
  return { gaps, nowMs: entries.at(0)?.now.getTime() ?? 0 }
}

/** Returns the last reported state of the jobs that have reported one (docs/spec-notes.md#webhooks). */
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

function textsOf(attempt: AuditEntry | undefined, name: 'jobs' | 'missed'): readonly string[] {
  return listOf(attempt?.detail[name]).map(String)
}

async function recordEvent(db: Queryable, what: string, detail: Readonly<Record<string, unknown>>): Promise<void> {
  await logEvent(db, { actor: 'webhooks', what, detail })
}

function minuteOf(ms: number): string {
  return new Date(ms).toISOString().replaceAll(/\D/g, '').slice(0, 12)
}

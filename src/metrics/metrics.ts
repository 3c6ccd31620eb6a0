/**
 * Collects metrics for Prometheus. The waits for the rate limit and the version are of this process. All other metrics are read from
 * Postgres at the scrape, so every process reports the values of all processes. No key, run id or personal data is a label.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Database, Queryable } from '../db/database.ts'
import { runStatuses, onlyPlans, type RunCounts } from '../model/report.ts'
import { rateWaits } from '../sync/push/rateWaits.ts'
import { endedRequestsAfter, lastRequestId, loadGauges, runsAfter, runsOf, sharedNames } from '../db/metricRows.ts'
import type { MetricRun, SharedName } from '../db/metricRows.ts'
import type { Fence } from '../db/fence.ts'

export interface Metrics {
  /** Value of `Content-Type` for `text`. */
  readonly contentType: string
  /** Updates the metrics and returns them as text. Rejects if the database does not answer. */
  readonly text: () => Promise<string>
}

const rowOutcomes = ['read', 'valid', 'rejected', 'duplicates', 'suppressed', 'filtered', 'unchanged', 'stale'] as const
/** Numbers of days for which `sluice_members_expiring` counts the memberships that end. */
const lapseDays = [1, 7, 30]
/** Maximum number of runs that one statement loads. */
const runsPerRead = 5_000
/** Maximum number of requests that one scrape counts. The next scrape counts the others. */
const maxRequestsPerScrape = 20_000

/**
 * Maximum time of one collection in milliseconds. If a connection hangs, its statement never ends, and later scrapes would wait forever.
 * Runs and requests that were counted before the end stay counted.
 */
const defaultCollectMs = 60_000

/**
 * Creates the metrics. Does not wait for the database. `version`: version of this program. `collectMs`: maximum time of a scrape, by
 * default 60 s.
 */
export function createMetrics(deps: { readonly db: Database; readonly version: string; readonly collectMs?: number }): Metrics {
  const registry = new Registry()
  const registers = [registry]
  // The labels `service` and `credentials` are set only if several environments have a pipeline of the same name.
  const pipelineLabels = ['pipeline', 'service', 'credentials'] as const
  const counter = (name: string, help: string, labelNames: readonly string[]) =>
    new Counter({ name, help, labelNames: [...labelNames], registers })
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    new Gauge({ name, help, labelNames: [...labelNames], registers })
  const runs = counter('sluice_runs_total', 'Ended runs', [...pipelineLabels, 'status'])
  const rows = counter('sluice_rows_total', 'Rows of ended runs by outcome; plans are left out', [...pipelineLabels, 'outcome'])
  const operations = counter(
    'sluice_operations_total',
    'Operations of ended runs by kind and result; planned is the sum of the other results',
    [...pipelineLabels, 'kind', 'result'],
  )
  const runSeconds = new Histogram({
    name: 'sluice_run_duration_seconds',
    help: 'Duration of ended runs',
    labelNames: [...pipelineLabels],
    buckets: [1, 5, 15, 60, 300, 900, 3600, 14_400],
    registers,
  })
  const requests = counter('sluice_requests_total', 'Sent batches of products or people, of all processes, since this process started', [
    'endpoint',
    'status',
  ])
  const requestSeconds = new Histogram({
    name: 'sluice_request_duration_seconds',
    help: 'Time to the answer of sent batches, of all processes, since this process started',
    labelNames: ['endpoint'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 30],
    registers,
  })
  const rateWait = counter('sluice_rate_wait_seconds_total', 'Time that requests of this process waited for the rate budget', ['class'])
  const gauges = {
    lastSuccess: gauge('sluice_last_success_timestamp_seconds', 'End of the last successful run', pipelineLabels),
    withheld: gauge('sluice_deletes_withheld', 'Deletes that the last run withheld', pipelineLabels),
    unresolved: gauge('sluice_unsettled_operations', 'Operations sent without a clear answer', pipelineLabels),
    unresolvedAge: gauge('sluice_unsettled_oldest_seconds', 'Age of the oldest request without a clear answer', pipelineLabels),
    budget: gauge('sluice_rate_budget_ratio', 'Used part of the rate budget', ['class']),
    queue: gauge('sluice_queue_oldest_seconds', 'Age of the oldest queued run'),
    ending: gauge('sluice_members_expiring', 'Memberships that end within the given number of days', [...pipelineLabels, 'within']),
    workers: gauge('sluice_workers', 'Workers with a heartbeat within the last minute', ['role']),
    build: gauge('sluice_build_info', 'Version of this process', ['version']),
  }
  gauges.build.set({ version: deps.version }, 1)
  let seenRuns = new SeenIds(0)
  /** Runs of `seenRuns` that have not ended. They may stay open for hours, or until their pipeline is resumed, while others end. */
  let openRunIds = new Set<number>()
  /** Ended runs with ambiguous or pending operations, with the counts that were added to the metrics. */
  let unsettledRuns = new Map<number, MetricRun>()
  /** Destinations of pipelines whose name several environments have, at the last scrape. */
  let knownSharedNames: readonly SharedName[] = []
  /** `knownSharedNames` by destination and pipeline. */
  let sharedNameByKey: ReadonlyMap<string, SharedName> = new Map()
  // Read at the start, so that requests before the first scrape count too. If the database is down, counting starts at a later scrape.
  let lastRequestAtStart: Promise<number | undefined> | undefined = lastRequestId(deps.db).catch(() => undefined)
  let seenRequests: SeenIds | undefined
  /** Last scrape. Scrapes wait for each other, because two simultaneous scrapes would count the same runs twice. */
  let lastScrape: Promise<void> = Promise.resolve()

  const labelsOf = ({ pipeline, destinationId }: MetricRun) => labelsIn(pipeline, sharedNameByKey.get(`${destinationId} ${pipeline}`))

  /** Loads the shared names. If they have changed, other labels apply to the runs, so all runs are counted again. */
  const updateSharedNames = async (db: Queryable) => {
    const current = await sharedNames(db)
    if (JSON.stringify(current) === JSON.stringify(knownSharedNames)) return
    knownSharedNames = current
    sharedNameByKey = new Map(current.map((one) => [`${one.destinationId} ${one.pipeline}`, one]))
    for (const metric of [runs, rows, operations, runSeconds]) metric.reset()
    seenRuns = new SeenIds(0)
    openRunIds = new Set()
    unsettledRuns = new Map()
  }

  /** Adds ended runs, by pipeline. Each run alone would need 40 increments, and a scrape may count a hundred thousand runs. */
  const countEnded = (ended: readonly MetricRun[]) => {
    for (const ofPipeline of Map.groupBy(ended, ({ pipeline, destinationId }) => `${destinationId} ${pipeline}`).values()) {
      const [anyRun] = ofPipeline
      if (anyRun === undefined) continue
      const labels = labelsOf(anyRun)
      // `increase()` of Prometheus does not count the first sample of a series, so the first failure must find a 0.
      for (const status of runStatuses) runs.inc({ ...labels, status }, ofPipeline.filter((run) => run.status === status).length)
      for (const { seconds } of ofPipeline) if (seconds !== null) runSeconds.observe(labels, seconds)
      // The operations of a plan count in the run that applies the plan.
      const sending = ofPipeline.filter(({ trigger }) => !onlyPlans(trigger))
      if (sending.length === 0) continue
      for (const outcome of rowOutcomes) rows.inc({ ...labels, outcome }, sum(sending.map(({ counts }) => counts[outcome] ?? 0)))
      const byKind = Map.groupBy(sending.flatMap(operationsOf), ({ kind }) => kind)
      for (const [kind, ofKind] of byKind)
        for (const [result, group] of Map.groupBy(ofKind, (one) => one.result))
          operations.inc({ ...labels, kind, result }, sum(group.map(({ count }) => count)))
      for (const run of sending) if (run.counts.ambiguous + run.counts.pending > 0) unsettledRuns.set(run.id, run)
    }
  }

  const countNewRuns = async (db: Queryable) => {
    for (;;) {
      const loaded = await runsAfter(db, seenRuns.readAfter, runsPerRead)
      const added = loaded.filter(({ id }) => seenRuns.add(id))
      for (const run of added) if (isOpen(run)) openRunIds.add(run.id)
      countEnded(added.filter((run) => !isOpen(run)))
      if (loaded.length < runsPerRead) break
    }
    const openNow = await runsOf(db, [...openRunIds])
    openRunIds = new Set(openNow.filter(isOpen).map(({ id }) => id))
    countEnded(openNow.filter((run) => !isOpen(run)))
  }

  /** Counts operations that a later run settled. They count for the run that planned them, as in `sluice show`. */
  const countSettledLater = async (db: Queryable) => {
    // Leaves out runs that retention has deleted.
    const stillUnsettled = new Map<number, MetricRun>()
    for (const run of await runsOf(db, [...unsettledRuns.keys()])) {
      const before = unsettledRuns.get(run.id)
      const countBefore = new Map(
        (before === undefined ? [] : operationsOf(before)).map(({ kind, result, count }) => [`${kind} ${result}`, count]),
      )
      for (const { kind, result, count } of operationsOf(run)) {
        if (result !== 'confirmed' && result !== 'refused') continue
        operations.inc({ ...labelsOf(run), kind, result }, Math.max(0, count - (countBefore.get(`${kind} ${result}`) ?? 0)))
      }
      if (run.counts.ambiguous + run.counts.pending > 0) stillUnsettled.set(run.id, run)
    }
    unsettledRuns = stillUnsettled
  }

  const countRequests = async (db: Queryable) => {
    seenRequests ??= new SeenIds((await lastRequestAtStart) ?? (await lastRequestId(db)))
    const sent = await endedRequestsAfter(db, seenRequests.readAfter, maxRequestsPerScrape)
    for (const { id, endpoint, status, seconds } of sent) {
      if (!seenRequests.add(id)) continue
      requests.inc({ endpoint, status })
      if (seconds !== null) requestSeconds.observe({ endpoint }, seconds)
    }
  }

  const setGauges = async (db: Queryable) => {
    const values = await loadGauges(db, lapseDays, knownSharedNames)
    const { lastSuccess, withheld: deletesWithheld, unresolved, unresolvedAge, budget, ending, workers } = gauges
    for (const labelled of [lastSuccess, deletesWithheld, unresolved, unresolvedAge, rateWait, budget, ending, workers]) labelled.reset()
    for (const { pipeline, environment, succeededAt, withheld } of values.pipelines) {
      const labels = labelsIn(pipeline, environment)
      if (succeededAt !== null) lastSuccess.set(labels, succeededAt.getTime() / 1000)
      deletesWithheld.set(labels, withheld)
      unresolved.set(labels, 0)
      unresolvedAge.set(labels, 0)
    }
    for (const { pipeline, environment, operations: count, oldestS } of values.unresolved) {
      const labels = labelsIn(pipeline, environment)
      unresolved.set(labels, count)
      unresolvedAge.set(labels, oldestS)
    }
    for (const { budget: budgetName, seconds } of rateWaits()) rateWait.inc({ class: budgetName }, seconds)
    for (const row of values.budgets) budget.set({ class: row.class }, row.limit === 0 ? 0 : row.used / row.limit)
    gauges.queue.set(values.queueOldestS)
    for (const { pipeline, environment, users } of values.ending)
      for (const [i, days] of lapseDays.entries()) ending.set({ ...labelsIn(pipeline, environment), within: `${days}d` }, users[i] ?? 0)
    for (const { role, count } of values.workers) workers.set({ role }, count)
  }

  const collect = async () => {
    const timeout = Promise.withResolvers<never>()
    let isOver = false
    const timer = setTimeout(() => {
      lastRequestAtStart = undefined
      timeout.reject(new Error('the database did not answer in time'))
    }, deps.collectMs ?? defaultCollectMs).unref()
    const unlessOver = async <Result>(statement: Promise<Result>) => {
      const value = await statement
      // A late answer must change nothing, because the next collection counts the same runs.
      if (isOver) throw new Error('the collection has ended')
      return value
    }
    const db: Queryable = {
      query: (text, values) => unlessOver(deps.db.query(text, values)),
      execute: (text, values) => unlessOver(deps.db.execute(text, values)),
    }
    const work = async () => {
      await updateSharedNames(db)
      await countNewRuns(db)
      await countSettledLater(db)
      await countRequests(db)
      await setGauges(db)
    }
    try {
      await Promise.race([work(), timeout.promise])
    } finally {
      isOver = true
      clearTimeout(timer)
    }
  }
  return {
    contentType: registry.contentType,
    async text() {
      const turn = lastScrape.then(collect, collect)
      lastScrape = turn.catch(() => undefined)
      await turn
      return registry.metrics()
    },
  }
}

/** Returns the labels of a pipeline. `environment`: undefined if only one environment has a pipeline of this name. */
function labelsIn(pipeline: string, environment: Fence | undefined): Record<string, string> {
  return environment === undefined ? { pipeline } : { pipeline, service: environment.origin, credentials: environment.credentials }
}

/**
 * Ids of rows that were read. A transaction may commit after another transaction with higher ids. So the newest `rereadIds` ids are read
 * again, to find rows that were missing before. A transaction takes milliseconds. In this time, fewer than `rereadIds` rows get an id.
 */
class SeenIds {
  readonly #start: number
  readonly #recent = new Set<number>()
  #last: number

  /** `start`: id up to which no row counts. */
  constructor(start: number) {
    this.#start = start
    this.#last = start
  }

  /** Id after which rows must be read. */
  get readAfter(): number {
    return Math.max(this.#start, this.#last - rereadIds)
  }

  /** Adds an id. Ids must be added in order, beginning after `readAfter`. Returns false if the id was added before. */
  add(id: number): boolean {
    if (this.#recent.has(id)) return false
    this.#recent.add(id)
    this.#last = Math.max(this.#last, id)
    // A set keeps the order of additions, so the lowest ids come first. A late id is out of order, and is removed a little later.
    for (const old of this.#recent) {
      if (old > this.readAfter) break
      this.#recent.delete(old)
    }
    return true
  }
}

/** Number of ids that are read again. */
const rereadIds = 1_000

function isOpen({ status }: MetricRun): boolean {
  return status === 'queued' || status === 'running'
}

interface OperationCount {
  readonly kind: string
  readonly result: string
  readonly count: number
}

const kinds = [
  ['creates', 'create'],
  ['updates', 'update'],
  ['deletes', 'delete'],
  ['renewals', 'renewal'],
] as const satisfies readonly (readonly [keyof RunCounts, string])[]
const unconfirmedResults = ['refused', 'ambiguous', 'pending'] as const

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

/**
 * Returns the number of planned operations of each kind, and of each of their results. The results of a kind add up to the planned ones.
 * `unconfirmed` is null for a run that sent nothing: all its operations are pending. It is also null for a run of an earlier version, which
 * did not store the kinds of unconfirmed operations. If such a run was not fully confirmed, all its results have the kind `unknown`.
 */
function operationsOf({ counts, unconfirmed }: Pick<MetricRun, 'counts' | 'unconfirmed'>): readonly OperationCount[] {
  const planned = kinds.map(([name, kind]) => ({ kind, result: 'planned', count: counts[name] }))
  if (unconfirmed === null && counts.confirmed + counts.refused + counts.ambiguous === 0)
    return planned.flatMap((one) => [one, { ...one, result: 'pending' }])
  if (unconfirmed === null && unconfirmedResults.some((result) => counts[result] > 0))
    return [
      ...planned,
      ...(['confirmed', ...unconfirmedResults] as const).map((result) => ({ kind: 'unknown', result, count: counts[result] })),
    ]
  return planned.flatMap((one) => {
    const open = unconfirmedResults.map((result) => ({ kind: one.kind, result, count: unconfirmed?.[one.kind]?.[result] ?? 0 }))
    const confirmed = one.count - sum(open.map(({ count }) => count))
    return [one, { kind: one.kind, result: 'confirmed', count: Math.max(0, confirmed) }, ...open]
  })
}

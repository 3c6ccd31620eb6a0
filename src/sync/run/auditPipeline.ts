import { connectionOf, type Connection, type Transaction } from '../../db/database.ts'
import { UsageError } from '../../errors.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { logEvent } from '../../db/auditLog.ts'
import { markLostProducts } from '../../db/productSets.ts'
import { updateRun } from '../../db/runs/update.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import { loadFindings } from '../audit/findings.ts'
import { ListingClassifier } from '../audit/classifyListing.ts'
import { readBack } from '../audit/readBack.ts'
import { invalidateDrifted } from '../audit/invalidate.ts'
import { runUnderLease } from './runUnderLease.ts'
import { timedStage } from './timedStage.ts'
import { destinationKey } from '../destinationKey.ts'
import { interruptedError, type EngineDeps } from '../engine.ts'
import { makePlan, type Planned } from '../plan/plan.ts'
import type { AuditFindings, AuditReport } from '../audit/report.ts'
import { noCounts, type Drift } from '../../model/report.ts'
import { requestAndClaim } from './requestAndClaim.ts'
import { prepareInputWithoutRead } from './readAndPlan.ts'
import { plannedChanges } from '../reports/runSteps.ts'
import { reportedError, unclaimedError } from './run.ts'
import type { Listing } from '../../destinations/destination.ts'
import { destinationOf } from '../../destinations/index.ts'

/**
 * Reads a catalog back from the service, and reports its drift: differences from what the service confirmed. With `repair`, also stores a
 * plan that sends the drifted products again, and all others that are out of sync. Locks the destination, and changes nothing at the service.
 * The status is the first that applies:
 *
 * - `withheld`: a guard withholds deletes of the repair
 * - `partial`: a product is changed, not listed or unresolved
 * - `succeeded`
 *
 * @throws {UsageError} `CANNOT_READ_BACK` for audiences and do-not-reach lists
 * @throws {RunError} `PIPELINE_HELD`, `OTHER_CREDENTIALS`, and every error of the run, such as `CATALOG_UNREADABLE`
 */
export async function auditPipeline(
  deps: EngineDeps,
  pipeline: Pipeline,
  { repair = false }: { readonly repair?: boolean } = {},
): Promise<AuditReport> {
  const listing = listingOf(pipeline)
  const claim = await requestAndClaim(deps, pipeline, { trigger: 'plan', audit: repair ? 'repair' : 'report' })
  if ('report' in claim) throw unclaimedError(claim.report)
  const { run } = claim
  let findings: AuditFindings | undefined
  let planned: Planned | undefined
  const report = await runUnderLease(deps, run, async (leased) => {
    const client = await deps.db.connect()
    const tx = connectionOf(client)
    try {
      findings = await timedStage(deps, run, 'audit', () => auditCatalog({ deps: leased, tx, pipeline, run, listing }))
      if (leased.signal?.aborted) throw interruptedError()
      if (repair && needsRepair(findings.drift)) planned = await planRepair(leased, tx, pipeline, run)
    } finally {
      // Closes the connection, so that Postgres drops the temporary tables.
      client.release(true)
    }
    await updateRun(deps.db, run, {
      counts: {
        ...noCounts,
        ...planned?.counts,
        pending: planned === undefined ? 0 : plannedChanges(planned.counts),
        drift: findings.drift,
      },
    })
    const guards = planned?.guards ?? []
    return { status: guards.length > 0 ? 'withheld' : matchesConfirmed(findings.drift) ? 'succeeded' : 'partial', guards }
  })
  if (report.error) throw reportedError(report.error, report.runId)
  if (findings === undefined) throw new Error('an audit without an error must have findings')
  return {
    ...report,
    ...findings,
    requests: planned?.batches ?? 0,
    minutes: planned?.minutes ?? 0,
  }
}

/**
 * Returns how the content of the pipeline's destination is listed: the request of each page, and the meaning of its answer.
 *
 * @throws {UsageError} `CANNOT_READ_BACK` for audiences and do-not-reach lists, whose members no endpoint lists
 */
export function listingOf({ name, destination }: Pipeline): Listing {
  const type = destinationOf(destination.kind)
  if (type.listing !== undefined) return type.listing
  const destinationName = type.name(destination)
  throw new UsageError(
    'CANNOT_READ_BACK',
    `${destinationName} cannot be read back: the service lists no members. Nothing was read or sent.`,
    {
      where: name,
      hint: `sluice run ${name} --full   (sends all members again)`,
    },
  )
}

interface AuditInput {
  readonly deps: EngineDeps
  readonly tx: Connection
  readonly pipeline: Pipeline
  readonly run: ClaimedRun
  readonly listing: Listing
}

/** Compares the listed catalog with the confirmed content, and returns the findings. Writes the drift to the audit log. */
async function auditCatalog({ deps, tx, pipeline, run, listing }: AuditInput): Promise<AuditFindings> {
  const { accountId, targetId } = destinationKey(deps, pipeline)
  let done = 0
  let requests = 0
  const reportProgress = (waiting?: string) => deps.onProgress?.({ stage: 'audit', done, ...(waiting === undefined ? {} : { waiting }) })
  await waitForReadLag(deps, run.destinationId, reportProgress)
  reportProgress()
  const classifier = await ListingClassifier.open(tx, run.destinationId)
  const target = { accountId: accountId === '' ? null : accountId, targetId, version: deps.service.version }
  for await (const page of readBack({
    deps,
    listing,
    pipeline: pipeline.name,
    target,
    onWait: reportProgress,
    onRequest: () => requests++,
  })) {
    await classifier.classifyPage(page)
    done += page.length
    reportProgress()
  }
  await classifier.finish()
  const findings = await loadFindings(tx, run.destinationId, { requests, notReturned: classifier.notReturned })
  await logEvent(deps.db, { actor: deps.workerId, what: 'catalog.audited', runId: run.id, detail: findings.drift })
  return findings
}

/**
 * Waits until `readLagMs` after the last `batch.settled_at`. Before that, a read may return the state before the last request
 * (docs/faults.md, C1). `settled_at` is at most `horizonMs` in the future. A longer wait would come from a wrong clock, so it is shortened.
 */
async function waitForReadLag(deps: EngineDeps, destinationId: number, reportProgress: (waiting: string) => void): Promise<void> {
  const { readLagMs, horizonMs } = deps.settings
  if (readLagMs === 0) return
  const [row] = await deps.db.query<{ age_ms: string | null }>(
    `select extract(epoch from statement_timestamp() - max(settled_at)) * 1000 as age_ms from batch where destination_id = $1`,
    [destinationId],
  )
  const waitMs = row?.age_ms == null ? 0 : Math.min(readLagMs - Number(row.age_ms), readLagMs + horizonMs)
  if (waitMs <= 0) return
  reportProgress(`waiting ${Math.ceil(waitMs / 1000)} s: a read may still show the state before the last run`)
  await deps.clock.sleep(waitMs, deps.signal)
}

/** Marks the drifted products as out of sync, and plans everything that is out of sync, in one transaction. Reads no source. */
async function planRepair(deps: EngineDeps, tx: Connection, pipeline: Pipeline, run: ClaimedRun): Promise<Planned> {
  const prepare = async (within: Transaction) => {
    await invalidateDrifted(within, run, deps.workerId)
    await markLostProducts(within, run.destinationId)
  }
  return timedStage(deps, run, 'plan', async () =>
    makePlan(deps, tx, pipeline, run, { ...(await prepareInputWithoutRead(deps, tx, run)), prepare }),
  )
}

function needsRepair({ changed, notListed, hidden, waiting }: Drift): boolean {
  return changed + notListed + hidden + waiting > 0
}

/** Returns true if no product is changed, not listed or unresolved. Ignores unmanaged, hidden and waiting (out of sync) products. */
function matchesConfirmed({ changed, notListed, unresolved }: Drift): boolean {
  return changed + notListed + unresolved === 0
}

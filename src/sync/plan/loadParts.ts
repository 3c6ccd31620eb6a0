/**
 * Plans a first load of people in parts, by record key (docs/decisions/first-load-in-parts.md). Each part is committed with its records,
 * its batches and the counts so far. Its batches are sent while the next part is planned. If there are several parts, a last transaction
 * completes the snapshot.
 *
 * If the process dies between two commits, `record` lacks the remaining rows, so the next run plans them as new.
 */
import { lastSeqOf, lockEndOfPlan } from '../../db/batches/insert.ts'
import type { Transaction } from '../../db/database.ts'
import { raiseStateVersion } from '../../db/destinations.ts'
import { dropStagedDigests } from '../../db/digests.ts'
import { latestErasure } from '../../db/erasures.ts'
import { ImpliedKeyIndex } from '../../db/impliedKeyIndex.ts'
import { isApplying, startPlan } from '../../db/plans.ts'
import { crashPoint } from '../crashPoint.ts'
import { interrupted } from '../engine.ts'
import { suppressErased } from '../read/resolveStage.ts'
import { stagePartitions } from '../read/stageTable.ts'
import type { GuardedChanges } from './withholdDeletes.ts'
import type { Changes } from './applyChanges.ts'
import { insertRecordsOfRange, type FirstLoad, type KeyRange } from './firstLoad.ts'
import { freeze } from './freeze.ts'
import { freezeLoad } from './freezeLoad.ts'
import { firstMembers } from './memberOperations.ts'
import type { MembershipTerms } from './packUsers.ts'
import { stagedPeople } from './stagedPeople.ts'
import { nothingFrozen, type FreezeContext, type Frozen } from './planBatches.ts'
import type { PlanWork } from './planWork.ts'
import { endSnapshot, storePlan, type Planned } from './storePlan.ts'
import { analyzeLoaded } from './refreshStatistics.ts'

/** Next part to plan, with the state after the parts before it. */
export interface LoadPart {
  readonly work: PlanWork
  readonly changes: Changes
  readonly guarded: GuardedChanges
  readonly first: FirstLoad
  readonly terms: MembershipTerms
  readonly isFirst: boolean
  /** Record key at which this part starts; undefined for the first part. */
  readonly from: Buffer | undefined
  /** Record keys at which the later parts start. */
  readonly laterStarts: readonly Buffer[]
  /** Record keys at which the steps start, except the first. A step is a portion of a part that Postgres reads in one query. */
  readonly stepStarts: readonly Buffer[]
  /** Totals of the earlier parts. */
  readonly earlier: Frozen
  /** Number of parts of the index `implied_key` that this load has stored (`ImpliedKeyIndex`). These are not the parts of the load. */
  readonly indexParts: number
}

/** Stored part, or the completed snapshot after the last part. */
export interface PlannedPart {
  readonly planned: Planned
  /**
   * Plans the next part. The caller has begun the next transaction on the same connection. After the last part of several, completes the snapshot. Undefined if
   * nothing is left.
   */
  readonly next: (() => Promise<PlannedPart>) | undefined
  /** True if the transaction inserted records of a first load. Then `makePlan` sets Postgres's visibility marks (`markRecordsVisible`). */
  readonly hasLoadedRecords: boolean
}

/**
 * Each part is twice as large as the one before it, up to this share of all rows. Smaller parts would need more
 * transactions. With larger parts, the push would run out of requests while one is planned.
 */
const largestShare = 1 / 12
/**
 * Maximum number of people in a step, in multiples of the first part. A part is frozen in steps: Postgres reads the next step while Node
 * freezes this one. One step of 37,500 users takes 4 MB of memory.
 */
const stepSizeInFirstParts = 5
/** The last part has at least this share of the part before it; a smaller rest joins that part. */
const smallestLast = 1 / 2

/**
 * Returns the first part of a load. There is only one part in three cases:
 *
 * - `inParts` is false: nothing may be sent before the whole plan is stored.
 * - Operations have several users: a part would end inside a request.
 * - The rows are too few for two parts.
 */
export function firstPart(
  load: Omit<LoadPart, 'isFirst' | 'from' | 'laterStarts' | 'stepStarts' | 'earlier' | 'indexParts'>,
  { inParts }: { readonly inParts: boolean },
): LoadPart {
  return {
    ...load,
    isFirst: true,
    from: undefined,
    stepStarts: stepStartsOf(load.work),
    laterStarts: inParts && load.terms.usersPerOperation === 1 ? partStartsOf(load.work, load.first.creates) : [],
    earlier: nothingFrozen(),
    indexParts: 0,
  }
}

/**
 * Plans one part in the open transaction: stores its records and batches, and the totals so far.
 *
 * @throws {RunError} `RUN_INTERRUPTED` if the plan of another run has replaced this plan, or another process ended the run
 */
export async function planPart(part: LoadPart): Promise<PlannedPart> {
  const { work, changes, guarded, isFirst } = part
  const { tx, destinationId, planId, deps } = work
  if (!isFirst) await beginLaterTransaction(work)
  const [before, ...laterStarts] = part.laterStarts
  const range = { from: part.from, before }
  const index = new ImpliedKeyIndex(tx, destinationId, { firstPart: part.indexParts })
  // Later parts report no progress: the push runs meanwhile, and reports the progress of its requests.
  const onProgress = (done: number) => isFirst && deps.onProgress?.({ stage: 'plan', done })
  const frozen = await freezePart(part, range, { index, onProgress })
  const indexParts = await index.end()
  const isLast = before === undefined
  if (isFirst && isLast) await endSnapshot(work)
  const planned = await storePlan(work, changes, guarded, frozen, { isFirst, isLast })
  if (isFirst && isLast) return { planned, hasLoadedRecords: true, next: undefined }
  // The push sends the plan from its first part on.
  if (isFirst) {
    await startPlan(tx, planId)
    await raiseStateVersion(tx, destinationId)
  }
  const nextPart = { ...part, isFirst: false, from: before, laterStarts, earlier: frozen, indexParts }
  return { planned, hasLoadedRecords: true, next: isLast ? () => endLoad(work, planned) : () => planPart(nextPart) }
}

/** Inserts the records of a part, and freezes their operations. Returns the totals of the earlier parts and of this one. */
async function freezePart(
  { work, first, terms, earlier, isFirst, stepStarts }: LoadPart,
  range: KeyRange,
  { index, onProgress }: Pick<FreezeContext, 'onProgress'> & { readonly index: ImpliedKeyIndex },
): Promise<Frozen> {
  const { tx, destinationId, planId } = work
  const { hasShared, loadId } = first
  const { context: desired } = work.desired
  const openFreezeContext = async () => {
    const lastSeq = isFirst ? 0 : await lockEndAndReadLastSeq(tx, planId)
    return { tx, destination: work.type, planId, destinationId, lastSeq, onProgress }
  }
  // `freezeLoad` cannot write operations with several users, or keys that are not implied (no `loadId`).
  if (terms.usersPerOperation !== 1 || loadId === undefined) {
    await insertRecordsOfRange(desired, first, range)
    return freeze(firstMembers(work, terms, { hasShared, range, index }), { ...(await openFreezeContext()), loadId }, earlier)
  }
  const people = stagedPeople(tx, first, stepsOf(range, stepStarts))
  const totals = await freezeLoad({ ...(await openFreezeContext()), loadId, snapshotId: desired.snapshotId, terms, people, index }, earlier)
  await analyzeLoaded(tx, destinationId, totals.entries.create)
  return totals
}

/** Divides the range of a part into steps, at those of the keys `starts` that are inside the range. */
function stepsOf({ from, before }: KeyRange, starts: readonly Buffer[]): readonly KeyRange[] {
  const inside = starts.filter((key) => (from === undefined || key.compare(from) > 0) && (before === undefined || key.compare(before) < 0))
  return [from, ...inside].map((start, index) => ({ from: start, before: inside[index] ?? before }))
}

/**
 * Completes the snapshot of a load in a transaction after its last part. Storing the digests of a million records takes 1.2 s, and the
 * requests of the last part are sent meanwhile.
 *
 * @throws {RunError} `RUN_INTERRUPTED` if the plan of another run has replaced this plan
 */
async function endLoad(work: PlanWork, planned: Planned): Promise<PlannedPart> {
  await beginLaterTransaction(work)
  crashPoint('plan.before_snapshot')
  await endSnapshot(work)
  return { planned, hasLoadedRecords: false, next: undefined }
}

/**
 * Begins a later transaction of the load. Locks the destination, so other plans and the deletes of new erasures wait for the commit; answers
 * do not. If an erasure
 * was committed since the plan began, marks the staged rows of erased people as suppressed.
 *
 * @throws {RunError} `RUN_INTERRUPTED` if the plan of another run has replaced this plan
 */
async function beginLaterTransaction({ tx, destinationId, deps, planId, type, latestErasureId }: PlanWork): Promise<void> {
  await tx.query('select from destination where id = $1 for key share', [destinationId])
  if (!(await isApplying(tx, planId))) throw interrupted('otherProcess')
  const service = deps.service.origin
  if (!type.reachesPeople || (await latestErasure(tx, service)) <= latestErasureId) return
  const suppressedCount = await suppressErased(tx, { destinationId, service })
  // The staged digests must be those of valid rows only.
  if (suppressedCount > 0) await dropStagedDigests(tx)
}

/**
 * Locks the end of the plan until the part is committed, and returns the `seq` of the plan's last batch. Answers that split a batch wait
 * for this lock.
 */
async function lockEndAndReadLastSeq(tx: Transaction, planId: string): Promise<number> {
  await lockEndOfPlan(tx, planId)
  return lastSeqOf(tx, planId)
}

/**
 * Divides the rows into parts by record key. Returns the key at which each part except the first starts; none if there is only one part.
 * The maximum size of each part before the last is a whole number of requests. A part has somewhat fewer rows than its maximum:
 *
 * - It ends between two prefixes of keys (`KeyHistogram.partStarts`).
 * - Staged rows may have been suppressed, or dropped as duplicates.
 */
function partStartsOf({ input, deps, type }: PlanWork, rows: number): readonly Buffer[] {
  const { usersInFirstPart } = deps.settings
  const usersInRequest = Math.min(usersInFirstPart, type.limits.entries)
  const maxUsers = Math.max(usersInFirstPart, rows * largestShare)
  const sizes: number[] = []
  let size = usersInFirstPart
  for (let end = size; end + size * smallestLast <= rows; end += size) {
    sizes.push(size)
    size = Math.ceil(Math.min(size * 2, maxUsers) / usersInRequest) * usersInRequest
  }
  return input.keyHistogram?.partStarts(sizes) ?? []
}

/** Returns the key at which each step except the first starts. */
function stepStartsOf({ input, deps }: PlanWork): readonly Buffer[] {
  return input.keyHistogram?.stepStarts(deps.settings.usersInFirstPart * stepSizeInFirstParts, stagePartitions) ?? []
}

/**
 * Plans a first load of people in parts, by record key (docs/decisions/first-load-in-parts.md). A transaction stores a part: its records,
 * its batches (requests) and the counts so far. The part is sent while the next one is planned. After several parts, a last transaction
 * completes the snapshot (the stored result of the read).
 */
import { lastSeqOf, lockEndOfPlan } from '../../db/batches/insert.ts'
import { raiseStateVersion } from '../../db/destinations.ts'
import { latestErasure } from '../../db/erasures.ts'
import { ImpliedKeyIndex } from '../../db/impliedKeyIndex.ts'
import { isApplying, startPlan } from '../../db/plans.ts'
import { crashPoint } from '../crashPoint.ts'
import { interruptedError } from '../engine.ts'
import { stagePartitions } from '../read/stageTable.ts'
import type { GuardedChanges } from './removeOrWithhold.ts'
import { suppressRowsErasedSince, type Changes } from './applyChanges.ts'
import { insertRecordsOfRange, type FirstLoad, type KeyRange } from './firstLoad.ts'
import { freeze } from './freeze.ts'
import { freezeLoad } from './freezeLoad.ts'
import { firstMemberOperations } from './memberOperations.ts'
import type { MembershipTerms } from './packUsers.ts'
import { stagedPeople } from './stagedPeople.ts'
import { noTotals, type FreezeContext, type FrozenTotals } from './planBatches.ts'
import type { PlanWork } from './planWork.ts'
import { endSnapshot, storePlan, type Planned } from './storePlan.ts'
import { analyzeLoaded } from './refreshStatistics.ts'

export interface LoadPart {
  readonly work: PlanWork
  readonly changes: Changes
  readonly guarded: GuardedChanges
  readonly firstLoad: FirstLoad
  readonly terms: MembershipTerms
  readonly isFirst: boolean
  /** First record key of this part; undefined for the first part. */
  readonly from: Buffer | undefined
  /** First record key of each later part. */
  readonly laterStarts: readonly Buffer[]
  /** Record keys at which steps begin. A step is a portion of a part: the people that Postgres reads in one query. */
  readonly stepStarts: readonly Buffer[]
  readonly earlierTotals: FrozenTotals
  /** Number of stored parts of the search index (`ImpliedKeyIndex`). These are other parts than those of the load. */
  readonly indexParts: number
}

/** Result of a transaction: a stored part, or the completed snapshot. */
export interface PlannedPart {
  readonly planned: Planned
  /**
   * Plans the next part, or completes the snapshot after the last one. The caller must first begin a new transaction on the same
   * connection. Undefined if nothing is left.
   */
  readonly next: (() => Promise<PlannedPart>) | undefined
  /** True if the transaction inserted records of a first load. */
  readonly hasLoadedRecords: boolean
}

/**
 * Each part is twice as large as the one before it, up to this share of all rows. During the planning of a larger part, the push would run
 * out of requests.
 */
const largestShare = 1 / 12
/**
 * Maximum number of people in a step, in multiples of the first part. Postgres reads the next step while Node freezes this one. A step of
 * 37,500 users takes 4 MB of memory.
 */
const stepSizeInFirstParts = 5
/** The last part has at least this share of the part before it; a smaller rest joins that part. */
const smallestLastShare = 1 / 2

/**
 * Returns the first part of a load. It is the only part in these cases:
 *
 * - `inParts` is false: nothing may be sent before the whole plan is stored.
 * - Operations have several users: a part would end inside a request.
 * - The rows are too few for two parts.
 */
export function firstPart(
  load: Omit<LoadPart, 'isFirst' | 'from' | 'laterStarts' | 'stepStarts' | 'earlierTotals' | 'indexParts'>,
  { inParts }: { readonly inParts: boolean },
): LoadPart {
  return {
    ...load,
    isFirst: true,
    from: undefined,
    stepStarts: stepStartsOf(load.work),
    laterStarts: inParts && load.terms.usersPerOperation === 1 ? partStartsOf(load.work, load.firstLoad.creates) : [],
    earlierTotals: noTotals(),
    indexParts: 0,
  }
}

/**
 * Plans one part in the open transaction: stores its records, its batches, and the totals so far.
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
  // During later parts, the push reports the progress of its requests.
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
  const nextPart = { ...part, isFirst: false, from: before, laterStarts, earlierTotals: frozen, indexParts }
  return { planned, hasLoadedRecords: true, next: isLast ? () => endLoad(work, planned) : () => planPart(nextPart) }
}

/** Stores the records and requests of a part. Returns the totals of the parts so far. */
async function freezePart(
  { work, firstLoad, terms, earlierTotals, isFirst, stepStarts }: LoadPart,
  range: KeyRange,
  { index, onProgress }: Pick<FreezeContext, 'onProgress'> & { readonly index: ImpliedKeyIndex },
): Promise<FrozenTotals> {
  const { tx, destinationId, planId } = work
  const { hasShared, implyingRunId } = firstLoad
  const { context: desired } = work.desired
  const openFreezeContext = async () => {
    // Until the commit, no answer can add batches to the plan.
    if (!isFirst) await lockEndOfPlan(tx, planId)
    const lastSeq = isFirst ? 0 : await lastSeqOf(tx, planId)
    return { tx, destination: work.type, planId, destinationId, lastSeq, onProgress }
  }
  // `freezeLoad` is faster, but needs implied keys and one user per operation.
  if (terms.usersPerOperation !== 1 || implyingRunId === undefined) {
    await insertRecordsOfRange(desired, firstLoad, range)
    return freeze(
      firstMemberOperations(work, terms, { hasShared, range, index }),
      { ...(await openFreezeContext()), implyingRunId },
      earlierTotals,
    )
  }
  const people = stagedPeople(tx, firstLoad, stepsOf(range, stepStarts))
  const totals = await freezeLoad(
    { ...(await openFreezeContext()), loadId: implyingRunId, snapshotId: desired.snapshotId, terms, people, index },
    earlierTotals,
  )
  await analyzeLoaded(tx, destinationId, totals.countsByChange.create)
  return totals
}

/** Divides a range at the keys of `starts` that are inside it. */
function stepsOf({ from, before }: KeyRange, starts: readonly Buffer[]): readonly KeyRange[] {
  const inside = starts.filter((key) => (from === undefined || key.compare(from) > 0) && (before === undefined || key.compare(before) < 0))
  return [from, ...inside].map((start, index) => ({ from: start, before: inside[index] ?? before }))
}

/**
 * Completes the snapshot, in its own transaction: to store the digests of a million records takes 1.2 s. Meanwhile the last part is sent.
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
 * Prepares a later transaction of the load. Locks the destination: other plans and the deletes of new erasures wait for the commit, but
 * answers do not. If people were erased since the plan began, marks their staged rows as suppressed.
 *
 * @throws {RunError} `RUN_INTERRUPTED` if the plan of another run has replaced this plan
 */
async function beginLaterTransaction(work: PlanWork): Promise<void> {
  const { tx, destinationId, deps, planId, type, latestErasureId } = work
  await tx.query('select from destination where id = $1 for key share', [destinationId])
  if (!(await isApplying(tx, planId))) throw interruptedError('otherProcess')
  if (type.reachesPeople && (await latestErasure(tx, deps.service.origin)) > latestErasureId) await suppressRowsErasedSince(work)
}

/**
 * Returns the key at which each part after the first begins. The computed sizes fill whole requests. A part has somewhat fewer rows,
 * because it ends between two prefixes of keys (`KeyHistogram.partStarts`). Some rows may also be suppressed or duplicates.
 */
function partStartsOf({ input, deps, type }: PlanWork, rows: number): readonly Buffer[] {
  const { usersInFirstPart } = deps.settings
  const usersInRequest = Math.min(usersInFirstPart, type.limits.entries)
  const maxUsers = Math.max(usersInFirstPart, rows * largestShare)
  const sizes: number[] = []
  let size = usersInFirstPart
  for (let end = size; end + size * smallestLastShare <= rows; end += size) {
    sizes.push(size)
    size = Math.ceil(Math.min(size * 2, maxUsers) / usersInRequest) * usersInRequest
  }
  return input.keyHistogram?.partStarts(sizes) ?? []
}

function stepStartsOf({ input, deps }: PlanWork): readonly Buffer[] {
  return input.keyHistogram?.stepStarts(deps.settings.usersInFirstPart * stepSizeInFirstParts, stagePartitions) ?? []
}

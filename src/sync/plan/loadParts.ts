/**
 * Plans a first load of people in parts, by record key (docs/decisions/first-load-in-parts.md). Each part is committed with its
 * records, its batches and the counts so far, so that its batches are sent while the next part is planned. Every commit leaves a complete
 * state: if the process dies, the next run plans the remaining rows as new, because they are not in `record` yet. If there are several
 * parts, a last transaction completes the snapshot.
 */
import { lastSeqOf, lockEndOfPlan } from '../../db/batches/insert.ts'
import type { Transaction } from '../../db/database.ts'
import { raiseStateVersion } from '../../db/destinations.ts'
import { latestErasure } from '../../db/erasures.ts'
import { ImpliedKeyIndex } from '../../db/impliedKeySearch.ts'
import { isApplying, startPlan } from '../../db/plans.ts'
import { crashPoint } from '../crashPoint.ts'
import { suppressErased } from '../read/resolveStage.ts'
import { interrupted } from '../read/stage.ts'
import type { GuardedChanges } from './applyGuards.ts'
import type { Changes } from './changes.ts'
import { insertLoaded, type FirstLoad } from './firstLoad.ts'
import { freeze } from './freeze.ts'
import { freezeLoad } from './freezeLoad.ts'
import { firstMembers, type MembershipTerms } from './operations.ts'
import { nothingFrozen, type Frozen } from './planBatches.ts'
import type { PlanWork } from './planWork.ts'
import { endSnapshot, storePlan, type Planned } from './planRow.ts'

/** Next part to plan, and what the parts before it left. */
export interface LoadPart {
  readonly work: PlanWork
  readonly changes: Changes
  readonly guarded: GuardedChanges
  readonly first: FirstLoad
  readonly terms: MembershipTerms
  readonly isFirst: boolean
  /** Last record key of the part before; undefined for the first part. */
  readonly after: Buffer | undefined
  /** Last record keys of this part and of the later ones. The last part has none. */
  readonly ends: readonly Buffer[]
  /** Totals of the parts before. */
  readonly frozen: Frozen
  /** Number of parts of `implied_key` that this load has stored (`ImpliedKeyIndex`). */
  readonly indexParts: number
}

export interface PlannedPart {
  readonly planned: Planned
  /** Plans the next part in the open transaction; after the last part of several, completes the snapshot. Undefined if nothing is left. */
  readonly next: (() => Promise<PlannedPart>) | undefined
  /** True if the transaction inserted records of a first load, so that `makePlan` marks them visible. */
  readonly isLoad: boolean
}

/**
 * Each part is twice as large as the one before it, up to this share of all rows. Small parts need more transactions; large ones leave the
 * push without requests.
 */
const largestShare = 1 / 12
/** The last part has at least this share of the part before it; a smaller rest joins that part. */
const smallestLast = 1 / 2

/**
 * Returns the first part of a load. `inParts`: false if nothing may be sent before the whole plan is stored; then there is only one part.
 * The same applies if users share operations, because a part would end inside a request, or if there are too few rows for two.
 */
export function firstPart(of: Omit<LoadPart, 'isFirst' | 'after' | 'ends' | 'frozen' | 'indexParts'>, inParts: boolean): LoadPart {
  return {
    ...of,
    isFirst: true,
    after: undefined,
    ends: inParts && of.terms.usersPerOperation === 1 ? endsOf(of.work, of.first.creates) : [],
    frozen: nothingFrozen(),
    indexParts: 0,
  }
}

/**
 * Plans one part in the open transaction: stores its records and batches, and the totals so far.
 *
 * @throws {RunError} RUN_INTERRUPTED if the plan of another run has replaced this one
 */
export async function planPart(part: LoadPart): Promise<PlannedPart> {
  const { work, first, terms, changes, guarded, isFirst } = part
  const { tx, destinationId, planId, deps } = work
  if (!isFirst) await beginLaterPart(work)
  const [upTo, ...later] = part.ends
  const range = { after: part.after, upTo }
  await insertLoaded(work.desired.context, first, range)
  const lastSeq = isFirst ? 0 : await reserveEnd(planId, tx)
  const index = new ImpliedKeyIndex(tx, destinationId, { firstPart: part.indexParts })
  // Later parts report no progress, because the push, which runs meanwhile, reports the progress of its requests.
  const onProgress = (done: number) => isFirst && deps.onProgress?.({ stage: 'plan', done })
  const { shared, loadId } = first
  const context = { tx, destination: work.type, planId, destinationId, lastSeq, onProgress }
  const frozen =
    terms.usersPerOperation === 1 && loadId !== undefined
      ? await freezeLoad({ ...context, loadId, terms, shared, range, index }, part.frozen)
      : await freeze(firstMembers(work, terms, { shared, range, index }), { ...context, loadId }, part.frozen)
  const indexParts = await index.end()
  const isLast = upTo === undefined
  if (isFirst && isLast) await endSnapshot(work)
  const planned = await storePlan(work, changes, guarded, frozen, { isFirst, isLast })
  if (isFirst && isLast) return { planned, isLoad: true, next: undefined }
  if (isFirst) {
    await startPlan(tx, planId)
    await raiseStateVersion(tx, destinationId)
  }
  const nextPart = { ...part, isFirst: false, after: upTo, ends: later, frozen, indexParts }
  return { planned, isLoad: true, next: isLast ? () => endLoad(work, planned) : () => planPart(nextPart) }
}

/**
 * Completes the snapshot of a load in a transaction after its last part. The requests of this part are sent meanwhile, because storing the
 * digests of a million records takes 1.2 s.
 *
 * @throws {RunError} RUN_INTERRUPTED if the plan of another run has replaced this one
 */
async function endLoad(work: PlanWork, planned: Planned): Promise<PlannedPart> {
  await beginLaterPart(work)
  crashPoint('plan.before_snapshot')
  await endSnapshot(work)
  return { planned, isLoad: false, next: undefined }
}

/**
 * Begins a later part. Other plans, and the deletes of new erasures, wait for its commit; answers do not. If an erasure was committed since
 * the plan began, marks the staged rows of its people as suppressed.
 *
 * @throws {RunError} RUN_INTERRUPTED if the plan of another run has replaced this one
 */
async function beginLaterPart({ tx, destinationId, deps, planId, type, latestErasureId }: PlanWork): Promise<void> {
  await tx.query('select from destination where id = $1 for key share', [destinationId])
  if (!(await isApplying(tx, planId))) throw interrupted()
  const service = deps.service.origin
  if (type.reachesPeople && (await latestErasure(tx, service)) > latestErasureId) await suppressErased(tx, { destinationId, service })
}

/**
 * Locks the end of the plan until the part is committed, and returns the `seq` of the plan's last batch. A part takes this lock late,
 * because answers that split a batch wait for it.
 */
async function reserveEnd(planId: string, tx: Transaction): Promise<number> {
  await lockEndOfPlan(tx, planId)
  return lastSeqOf(tx, planId)
}

/**
 * Divides the rows into parts by record key, each a whole number of requests. Returns the last key of each part except the last one; none
 * if there is only one part. Rows that were suppressed or merged after the read only make a part smaller.
 */
function endsOf({ input, deps, type }: PlanWork, rows: number): readonly Buffer[] {
  const { usersInFirstPart } = deps.settings
  const inRequest = Math.min(usersInFirstPart, type.limits.entries)
  const most = Math.max(usersInFirstPart, rows * largestShare)
  const sizes: number[] = []
  let users = usersInFirstPart
  for (let end = users; end + users * smallestLast <= rows; end += users) {
    sizes.push(users)
    users = Math.ceil(Math.min(users * 2, most) / inRequest) * inRequest
  }
  return input.spread?.cut(sizes) ?? []
}

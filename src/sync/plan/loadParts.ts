/**
 * Plans a first load of people in parts, by record key (docs/decisions/first-load-in-parts.md). Each part is committed with its
 * records, its batches and the counts so far, so that its batches are sent while the next part is planned, and every commit leaves a
 * complete state: a later run finds the other rows to be missing in `record`, as if they were new.
 */
import type pg from 'pg'
import { lastSeqOf, lockEndOfPlan } from '../../db/batches/insert.ts'
import { queryable } from '../../db/database.ts'
import { raiseStateVersion } from '../../db/destinations.ts'
import { latestErasure } from '../../db/erasures.ts'
import { ImpliedKeyIndex } from '../../db/impliedKeySearch.ts'
import { startPlan } from '../../db/plans.ts'
import { suppressErased } from '../read/resolveStage.ts'
import { stagedKind } from '../read/stageTable.ts'
import type { GuardedChanges } from './applyGuards.ts'
import type { Changes } from './changes.ts'
import { insertLoaded, type FirstLoad, type KeyRange } from './firstLoad.ts'
import { freeze, nothingFrozen, type Frozen } from './freeze.ts'
import { firstMembers, type MembershipTerms } from './operations.ts'
import type { PlanWork } from './planWork.ts'
import { storePlan, type Planned } from './storePlan.ts'

/** Next part to plan, and what the parts before it left. */
export interface LoadPart {
  readonly work: PlanWork
  readonly changes: Changes
  readonly guarded: GuardedChanges
  readonly first: FirstLoad
  readonly terms: MembershipTerms
  readonly isFirst: boolean
  /** This part and the later ones. */
  readonly ranges: readonly [KeyRange, ...KeyRange[]]
  readonly frozen: Frozen
  /** Number of stored parts of the search for implied keys. */
  readonly searchParts: number
}

export interface PlannedPart {
  readonly planned: Planned
  /** Undefined after the last part. */
  readonly next: LoadPart | undefined
}

/** Each part is twice as large as the one before it, up to this share of all rows, because each reads the whole stage (0.15 s a million). */
const largestShare = 1 / 12

/**
 * Returns the first part of a load. There is only one if `inParts` is false, because nothing may be sent before the whole plan is stored,
 * and if users share operations: a part would end in the middle of a request of 5 MB.
 */
export async function firstPart(of: Omit<LoadPart, 'isFirst' | 'ranges' | 'frozen' | 'searchParts'>, inParts: boolean): Promise<LoadPart> {
  const ranges = inParts && of.terms.usersPerOperation === 1 ? await rangesOf(of) : ([{}] as const)
  return { ...of, isFirst: true, ranges, frozen: nothingFrozen(), searchParts: 0 }
}

/** Plans one part in the open transaction. */
export async function planPart(part: LoadPart): Promise<PlannedPart> {
  const { work, first, terms, ranges, changes, guarded, isFirst } = part
  const { client, destinationId, planId, deps } = work
  const [range, ...[next, ...later]] = ranges
  if (!isFirst) await followPart(work)
  await insertLoaded(work.desired, first, range)
  const index = new ImpliedKeyIndex(client, destinationId, { firstPart: part.searchParts })
  const context = { client, destinationId, full: work.full }
  const frozen = await freeze(
    client,
    work.type,
    firstMembers(context, terms, { shared: first.shared, range, index }),
    {
      planId,
      destinationId,
      loadId: first.loadId,
      lastSeq: isFirst ? 0 : await lastSeqOf(queryable(client), planId),
      // The requests show the progress of later parts.
      onProgress: (done) => isFirst && deps.onProgress?.({ stage: 'plan', done }),
    },
    part.frozen,
  )
  const searchParts = await index.end()
  const planned = await storePlan(work, changes, guarded, frozen, { isFirst, isLast: next === undefined })
  if (isFirst && next !== undefined) {
    await startPlan(queryable(client), planId)
    await raiseStateVersion(queryable(client), destinationId)
  }
  return { planned, next: next && { ...part, isFirst: false, ranges: [next, ...later], frozen, searchParts } }
}

/**
 * Begins a later part. Erasures wait until it is committed, as they wait for a plan; one that came before it takes its people out of the
 * stage. Answers do not wait.
 */
async function followPart({ client, destinationId, planId, deps, type, erasures }: PlanWork): Promise<void> {
  await client.query('select from destination where id = $1 for key share', [destinationId])
  await lockEndOfPlan(queryable(client), planId)
  const service = deps.service.origin
  if (type.reachesPeople && (await latestErasure(queryable(client), service)) > erasures)
    await suppressErased(client, { destinationId, service })
}

/** Splits the valid rows by key into parts of whole requests. */
async function rangesOf({ work, first }: Pick<LoadPart, 'work' | 'first'>): Promise<LoadPart['ranges']> {
  const { usersInFirstPart } = work.deps.settings
  const inRequest = Math.min(usersInFirstPart, work.type.limits('upsert').entries)
  const ends: number[] = []
  let users = usersInFirstPart
  // The last part is not smaller than half of the one before it.
  for (let end = users; end + users / 2 <= first.creates; end += users) {
    ends.push(end)
    users = Math.ceil(Math.min(users * 2, Math.max(usersInFirstPart, first.creates * largestShare)) / inRequest) * inRequest
  }
  const keys = ends.length === 0 ? [] : await keysAt(work.client, ends)
  const [to, ...others] = keys
  return [{ upTo: to }, ...keys.map((after, i) => ({ after, upTo: others[i] }))]
}

/** Returns the keys at these places of the valid rows in the order of their keys. */
async function keysAt(client: pg.PoolClient, places: readonly number[]): Promise<readonly Buffer[]> {
  const { rows } = await client.query<{ key: Buffer }>(
    `select key from (select key, row_number() over (order by key) as n from stage where kind = ${stagedKind.valid}) s
     where n = any($1::bigint[]) order by key`,
    [places],
  )
  return rows.map(({ key }) => key)
}

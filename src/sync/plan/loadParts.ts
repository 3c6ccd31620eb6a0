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
import { isApplying, startPlan } from '../../db/plans.ts'
import { suppressErased } from '../read/resolveStage.ts'
import { interrupted } from '../read/stage.ts'
import { stagedKind } from '../read/stageTable.ts'
import type { GuardedChanges } from './applyGuards.ts'
import type { Changes } from './changes.ts'
import { insertLoaded, type FirstLoad } from './firstLoad.ts'
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
  /** Last key of the part before it. */
  readonly after: Buffer | undefined
  /** Last key of this part and of each later one, except the last part. Undefined for the second part, which determines them. */
  readonly ends: readonly Buffer[] | undefined
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
/** The last part has at least this share of the size that is next. */
const smallestLast = 1 / 2

/**
 * Returns the first part of a load. There is only one if `inParts` is false, because nothing may be sent before the whole plan is stored,
 * and if users share operations: a part would end in the middle of a request of 5 MB.
 */
export async function firstPart(
  of: Omit<LoadPart, 'isFirst' | 'after' | 'ends' | 'frozen' | 'searchParts'>,
  inParts: boolean,
): Promise<LoadPart> {
  const { client, deps } = of.work
  const users = deps.settings.usersInFirstPart
  const isCut = inParts && of.terms.usersPerOperation === 1 && of.first.creates >= users * (1 + smallestLast)
  return {
    ...of,
    isFirst: true,
    after: undefined,
    ends: isCut ? await firstEnd(client, users) : [],
    frozen: nothingFrozen(),
    searchParts: 0,
  }
}

/** Plans one part in the open transaction. */
export async function planPart(part: LoadPart): Promise<PlannedPart> {
  const { work, first, terms, changes, guarded, isFirst } = part
  const { client, destinationId, planId, deps } = work
  if (!isFirst) await followPart(work)
  const [upTo, ...later] = part.ends ?? (await laterEnds(part))
  const range = { after: part.after, upTo }
  await insertLoaded(work.desired.context, first, range)
  const lastSeq = isFirst ? 0 : await reserveEnd(planId, client)
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
      lastSeq,
      // The requests show the progress of later parts.
      onProgress: (done) => isFirst && deps.onProgress?.({ stage: 'plan', done }),
    },
    part.frozen,
  )
  const searchParts = await index.end()
  const planned = await storePlan(work, changes, guarded, frozen, { isFirst, isLast: upTo === undefined })
  if (isFirst && upTo !== undefined) {
    await startPlan(queryable(client), planId)
    await raiseStateVersion(queryable(client), destinationId)
  }
  return { planned, next: upTo && { ...part, isFirst: false, after: upTo, ends: isFirst ? undefined : later, frozen, searchParts } }
}

/**
 * Begins a later part. Erasures wait until it is committed, as they wait for a plan; one that came before it takes its people out of the
 * stage. Answers do not wait.
 */
async function followPart({ client, destinationId, deps, type, erasures }: PlanWork): Promise<void> {
  await client.query('select from destination where id = $1 for key share', [destinationId])
  const service = deps.service.origin
  if (type.reachesPeople && (await latestErasure(queryable(client), service)) > erasures)
    await suppressErased(client, { destinationId, service })
}

/**
 * Locks the end of the plan until the part is committed, and returns the `seq` of its last batch. Late in the part, because answers that
 * split a batch wait for it. @throws {RunError} RUN_INTERRUPTED if the plan of another run has replaced this one
 */
async function reserveEnd(planId: string, client: pg.PoolClient): Promise<number> {
  await lockEndOfPlan(queryable(client), planId)
  if (!(await isApplying(queryable(client), planId))) throw interrupted()
  return lastSeqOf(queryable(client), planId)
}

const validRows = `stage where kind = ${stagedKind.valid}`

/** Returns the last key of the first part, in a list. Takes a fifth of the time of sorting all keys. */
async function firstEnd(client: pg.PoolClient, users: number): Promise<readonly Buffer[]> {
  const { rows } = await client.query<{ key: Buffer }>(`select key from ${validRows} order by key offset $1 limit 1`, [users - 1])
  return rows.map(({ key }) => key)
}

/** Splits the rows behind the first part by key, into parts of whole requests. Returns the last key of each, except of the last part. */
async function laterEnds({ work, first, after }: Pick<LoadPart, 'work' | 'first' | 'after'>): Promise<readonly Buffer[]> {
  const { usersInFirstPart } = work.deps.settings
  const inRequest = Math.min(usersInFirstPart, work.type.limits('upsert').entries)
  const most = Math.max(usersInFirstPart, first.creates * largestShare)
  const left = first.creates - usersInFirstPart
  const places: number[] = []
  let users = usersInFirstPart
  for (let end = 0; ;) {
    users = Math.ceil(Math.min(users * 2, most) / inRequest) * inRequest
    end += users
    if (end + users * smallestLast > left) break
    places.push(end)
  }
  if (places.length === 0) return []
  const { rows } = await work.client.query<{ key: Buffer }>(
    `select key from (select key, row_number() over (order by key) as n from ${validRows} and key > $1) s where n = any($2::bigint[]) order by key`,
    [after, places],
  )
  return rows.map(({ key }) => key)
}

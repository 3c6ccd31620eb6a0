/** Applies the delete guards. Allowed removals change the desired state; withheld ones are only counted. */
import type pg from 'pg'
import { applyRemovals, collectRemovals, markMissing, markOutOfStock, type DesiredContext } from './desired.ts'
import type { Missing } from '../../destinations/destination.ts'
import { queryable } from '../../db/database.ts'
import { countImpliedRecords } from '../../db/impliedKeys.ts'
import type { Row } from '../../db/row.ts'
import type { Diff } from './diff.ts'
import { enoughConfirmed, guardDeletes, type GuardFacts } from './guard.ts'
import type { GuardResult } from '../../model/report.ts'
import { fillTable } from './planTables.ts'
import type { PendingChanges } from './pendingChanges.ts'

export interface GuardContext {
  readonly desired: DesiredContext
  readonly pending: PendingChanges
  readonly diff: Diff
  readonly missingPolicy: Missing
  readonly suppressedBy: readonly number[]
  /** False for do-not-reach lists: their removals are explicit in the source, so no guard applies. */
  readonly guarded: boolean
  /** True for a plain first load: everything is created, nothing can be deleted. */
  readonly nothingToDelete: boolean
  readonly facts: Omit<GuardFacts, 'deletes' | 'cleared' | 'replaced' | 'noun' | 'confirmed' | 'erased' | 'examples'>
}

export interface GuardedChanges {
  readonly results: readonly GuardResult[]
  readonly withheld: number
  readonly deferred: number
  readonly deletesHeld: boolean
}

/**
 * Applies removals and collects pending changes. If a guard withholds the deletes, rolls back to a savepoint and applies only the
 * removals of suppressed people. Upserts are sent in both cases (docs/guarantees.md#mass-delete-guard).
 */
export async function applyGuards(context: GuardContext): Promise<GuardedChanges> {
  if (context.nothingToDelete) return guardFirstLoad(context)
  const { client } = context.desired
  await client.query('savepoint removals')
  const examples = await removedExamples(client, context)
  await collectRemovals(client, { missing: context.missingPolicy === 'delete' })
  await applyRemovals(context.desired)
  if (context.missingPolicy === 'out-of-stock') await markOutOfStock(context.desired)
  else if (context.missingPolicy === 'keep') await markMissing(context.desired)
  const firstDeferred = await context.pending.collect()
  if (!context.guarded) return { results: [], withheld: 0, deferred: firstDeferred, deletesHeld: false }

  // If half a feed is missing, setting its products out of stock is as harmful as deleting them (docs/inputs.md, case 91).
  const missing =
    context.missingPolicy === 'out-of-stock'
      ? context.diff.missing
      : context.missingPolicy === 'ignore' && context.facts.incomplete !== undefined
        ? context.diff.missing
        : 0
  const { all, cleared, replaced } = await context.pending.countGuardedDeletes(context.suppressedBy)
  const deletes = all + missing
  const fresh = Math.max(deletes - cleared - replaced, replaced)
  // The percent limit is checked only above the count limit.
  const confirmed =
    fresh > context.facts.guards.maxDeleteCount
      ? await countConfirmed(client, context.desired, enoughConfirmed(fresh, context.facts.guards.maxDeletePercent))
      : 0
  const noun = nounOf(context)
  const found = guardDeletes({ ...context.facts, deletes, cleared, replaced, noun, confirmed, erased: context.diff.suppressed, examples })
  const results: GuardResult[] = []
  for (const one of found)
    results.push(one.code === 'GUARD_IDENTIFIERS' ? { ...one, examples: await context.pending.replacedIdentifiers() } : one)
  const [result] = results
  if (result === undefined) return { results, withheld: 0, deferred: firstDeferred, deletesHeld: false }

  await client.query('rollback to savepoint removals')
  await fillTable(client, 'removal', `select key, what from change where what = 'suppressed'`)
  await applyRemovals(context.desired)
  const deferred = await context.pending.collect()
  await context.pending.countGuardedDeletes(context.suppressedBy)
  await context.pending.withholdDeletes(result.withheld < deletes)
  return { results, withheld: result.withheld, deferred, deletesHeld: true }
}

/** Applies the guards to a first load. There are no deletes to withhold, but an unproven end or too few rows are reported. */
function guardFirstLoad(context: GuardContext): GuardedChanges {
  const none = { deletes: 0, cleared: 0, replaced: 0, confirmed: 0, erased: 0, examples: [] }
  const results = context.guarded ? guardDeletes({ ...context.facts, ...none, noun: nounOf(context) }) : []
  return { results, withheld: 0, deferred: 0, deletesHeld: results.length > 0 }
}

function nounOf({ desired }: GuardContext): 'people' | 'products' {
  return desired.keys === 'products' ? 'products' : 'people'
}

/** Returns examples of products that would be deleted; never of members (docs/guarantees.md#no-raw-identifier-at-rest). */
async function removedExamples(client: pg.PoolClient, context: GuardContext): Promise<string[]> {
  if (context.desired.keys !== 'products') return []
  const { rows } = await client.query<Row<'record', 'key'>>(
    `select key from change where what in ('missing', 'opted_out') order by key limit 5`,
  )
  return rows.map(({ key }) => key.toString())
}

/**
 * Counts the confirmed records, for the percentage of deletes. Stops at `enough`: for 10,000 deletes of a million users, it reads
 * 100,000 users by an index instead of sorting all of them.
 */
async function countConfirmed(
  client: pg.PoolClient,
  { destinationId, keys, implied }: DesiredContext,
  enough: number | undefined,
): Promise<number> {
  const confirmed =
    keys === 'products'
      ? 'select from remote where destination_id = $1 and synced_hash is not null'
      : `select distinct group_key from remote
         where destination_id = $1 and synced_hash is not null and group_key is not null order by group_key`
  const count = async (query: string, limit: number | null) => {
    const { rows } = await client.query<{ n: string }>(`select count(*) as n from (${query} limit $2) c`, [destinationId, limit])
    return Number(rows[0]?.n)
  }
  // Implied keys are confirmed here, because those of open batches were stored before (planWork.ts).
  const loaded = implied ? await countImpliedRecords(queryable(client), destinationId, enough) : 0
  return loaded + (await count(confirmed, enough === undefined ? null : Math.max(0, enough - loaded)))
}

/**
 * Keeps the product sets of a pipeline in sync with its rules. Changes and deletes only sets that it created and stored in the database.
 * Stores each create and delete before its request, so that the next run can continue after a kill.
 */
import type { Target } from '../../destinations/destination.ts'
import {
  requestToCreateSet,
  requestToDeleteSet,
  requestToGetSet,
  readSetId,
  requestToUpdateSet,
  type ListedSet,
  type SetAnswer,
} from '../../destinations/productSets.ts'
import {
  confirmProductSet,
  countWithoutKey,
  deleteProductSetRow,
  loadProductSets,
  newestOf,
  shortenFalseSetWaits,
  storeLateUntil,
  startProductSet,
  startRemoval,
  type StoredContent,
  type StoredSet,
} from '../../db/productSets.ts'
import { heartbeatRun, type LeasedRun } from '../../db/runs/claim.ts'
import type { ProductSetRule } from '../../model/pipeline.ts'
import { crashPoint } from '../crashPoint.ts'
import { interruptedError, type EngineDeps } from '../engine.ts'
import type { ProductSetChange } from '../../model/report.ts'
import { actionOf, isResultOf, shownAction, withListedTexts } from './compare.ts'
import { confirmedContent, isProblem } from './setContent.ts'
import { listProductSets, sendSetRequest } from './setRequests.ts'

interface CatalogRun {
  readonly deps: EngineDeps
  readonly run: LeasedRun & { readonly destinationId: number }
  readonly target: Target
}

interface SetWork extends CatalogRun {
  /** Run (`id`) and user or worker, for the audit log. */
  readonly actor: { readonly id: number; readonly actor: string }
  /** Sets that the service lists; undefined if the listing cannot be read completely. */
  readonly listed: readonly ListedSet[] | undefined
}

/**
 * Creates, updates or replaces the set of every rule, and deletes sets without a rule. Returns one result for each name.
 *
 * @throws {RunError} `RUN_INTERRUPTED` once `deps.signal` has aborted, and if the run was cancelled, or ended by another process
 */
export async function keepProductSets(catalogRun: CatalogRun, rules: readonly ProductSetRule[]): Promise<readonly ProductSetChange[]> {
  const { deps, run, target } = catalogRun
  const storedBefore = await loadProductSets(deps.db, run.destinationId)
  const work: SetWork = {
    ...catalogRun,
    actor: { id: run.id, actor: deps.actor ?? deps.workerId },
    listed: await listProductSets(deps, target),
  }
  const ruleNames = new Set(rules.map(({ name }) => name))
  const unresolved = await resolveCreates(work, ruleNames)
  const changes = new Map<string, ProductSetChange>()
  for (const rule of rules) {
    await renewLease(work)
    const change = unresolved.get(rule.name) ?? (await unresolvedIfKeysUnknown(work, rule, await syncSet(work, rule)))
    changes.set(rule.name, { ...change, action: shownAction(storedBefore, rule.name, change.action) })
  }
  for (const set of await loadProductSets(deps.db, run.destinationId)) {
    if (ruleNames.has(set.name) && set.state !== 'removing') continue
    await renewLease(work)
    const removal = await removeSet(work, set)
    // The delete of a replaced set is part of the change `replace`. If a name has several sets, its first failure is shown.
    const change = changes.get(set.name) ?? { name: set.name, action: 'delete', outcome: 'confirmed' }
    if (change.outcome === 'confirmed') changes.set(set.name, { ...change, ...removal })
  }
  return [...changes.values()]
}

/** @throws {RunError} `RUN_INTERRUPTED` as `keepProductSets` */
async function renewLease({ deps, run }: SetWork): Promise<void> {
  if (deps.signal?.aborted) throw interruptedError()
  if (!(await heartbeatRun(deps.db, run, deps.settings.leaseMs))) throw interruptedError('otherProcess')
}

/**
 * Resolves earlier creates that got no clear answer, by the listing of the service. Returns the changes that stay unresolved, by name.
 *
 * - The set is listed: confirms it.
 * - It is not listed, but may still appear: stays unresolved. Also if the listing could not be read, now or before the create.
 * - Otherwise the create was not applied: deletes the row if the name has a rule. `removeSet` deletes the others.
 */
async function resolveCreates(work: SetWork, ruleNames: ReadonlySet<string>): Promise<ReadonlyMap<string, ProductSetChange>> {
  const { deps, run, listed, actor } = work
  await shortenFalseSetWaits(deps.db, run.destinationId, createWaitMs(deps))
  const stored = await loadProductSets(deps.db, run.destinationId)
  const owned = ownedIds(stored)
  const unresolved = new Map<string, ProductSetChange>()
  for (const set of stored.filter(({ state }) => state === 'creating')) {
    const { name } = set
    const found = listed?.find((listedSet) => isResultOf(set, listedSet, owned))
    if (found !== undefined) {
      owned.add(found.id)
      await confirmProductSet(deps.db, actor, { id: set.id, setId: found.id, content: set.content, what: 'created' })
      await startRemovals(work, name, set.id)
    } else if (listed === undefined || set.knownIds === null || set.createMayArrive) {
      unresolved.set(name, { name, action: 'create', ...unresolvedCreate(set.knownIds) })
    } else if (ruleNames.has(name)) await deleteProductSetRow(deps.db, actor, set, 'not_created')
  }
  return unresolved
}

/** Returns the milliseconds after the start of a create until a listing must show the set, if the service applied the create. */
const createWaitMs = ({ settings }: EngineDeps): number => settings.httpTimeoutMs + settings.horizonMs + settings.readLagMs

/** Creates, updates or replaces the set of one rule. Creates a set again that was deleted at the service. */
async function syncSet(work: SetWork, rule: ProductSetRule): Promise<ProductSetChange> {
  const { deps, run, listed, actor } = work
  const { name } = rule
  let stored = newestOf(await loadProductSets(deps.db, run.destinationId), name)
  const desired = await confirmedContent(deps.db, run.destinationId, rule)
  const listedSet = listed?.find(({ id }) => id === stored?.setId)
  if (stored !== undefined && listedSet === undefined && (await isDeleted(work, stored))) {
    await deleteProductSetRow(deps.db, actor, stored, 'gone')
    stored = undefined
  }
  if (isProblem(desired)) return { name, action: stored === undefined ? 'create' : 'update', outcome: 'refused', ...desired }
  if (stored === undefined || stored.setId === null) return createManagedSet(work, desired, 'create')
  const action = actionOf(desired, withListedTexts(stored.content, listedSet))
  if (action === 'replace') return createManagedSet(work, desired, 'replace')
  if (action === 'unchanged') return { name, action, outcome: 'confirmed' }
  const answer = await sendSetRequest(deps, requestToUpdateSet(work.target, stored.setId, desired))
  if (answer.kind !== 'done') return { name, action, ...failureOf(answer) }
  await confirmProductSet(deps.db, actor, { id: stored.id, setId: stored.setId, content: desired, what: 'updated' })
  return { name, action, outcome: 'confirmed' }
}

/**
 * Returns the change as unresolved if the set lacks products of the brand, because their product keys are unknown. Otherwise, or if the
 * change has another problem, returns it as it is.
 */
async function unresolvedIfKeysUnknown(
  { deps, run }: SetWork,
  { brand }: ProductSetRule,
  change: ProductSetChange,
): Promise<ProductSetChange> {
  if (brand === undefined || (change.outcome !== 'confirmed' && change.code !== 'PRODUCT_SET_EMPTY')) return change
  const withoutKeyCount = await countWithoutKey(deps.db, run.destinationId, brand)
  if (withoutKeyCount === 0) return change
  const products = withoutKeyCount === 1 ? 'one product' : `${withoutKeyCount} products`
  return {
    name: change.name,
    action: change.action === 'unchanged' ? 'update' : change.action,
    outcome: 'unresolved',
    code: 'PRODUCT_SET_KEYS_UNKNOWN',
    message: `the set lacks ${products} of brand "${brand}", because the service confirmed ${withoutKeyCount === 1 ? 'it' : 'them'} without a product_key: a run with --full puts all products again`,
  }
}

/**
 * Returns true if the service answers 404 for a set that a complete listing lacks. False if the set is so new that reads may not show it
 * yet.
 */
async function isDeleted({ deps, target, listed }: SetWork, { setId, confirmedForMs }: StoredSet): Promise<boolean> {
  if (listed === undefined || setId === null || confirmedForMs < deps.settings.readLagMs) return false
  const answer = await sendSetRequest(deps, requestToGetSet(target, setId))
  return answer.kind === 'refused' && answer.status === 404
}

/**
 * Creates a set, unless the catalog has a set of that name that Sluice did not create. Once the create is confirmed, marks earlier sets of
 * the name for removal.
 */
async function createManagedSet(work: SetWork, content: StoredContent, action: 'create' | 'replace'): Promise<ProductSetChange> {
  const { deps, run, target, listed, actor } = work
  const { name } = content
  const owned = ownedIds(await loadProductSets(deps.db, run.destinationId))
  const unmanaged = listed?.find((set) => set.name?.trim().toLowerCase() === name.toLowerCase() && !owned.has(set.id))
  if (unmanaged !== undefined)
    return {
      name,
      action,
      outcome: 'refused',
      code: 'PRODUCT_SET_NAME_TAKEN',
      message: `the catalog has a set of this name that Sluice did not create (${unmanaged.id}): choose another name, or delete that set`,
    }
  const knownIds = listed === undefined ? null : listed.map(({ id }) => id)
  const id = await startProductSet(deps.db, { destinationId: run.destinationId, content, knownIds, lateMs: createWaitMs(deps) })
  crashPoint('sets.before_create')
  const answer = await sendSetRequest(deps, requestToCreateSet(target, content))
  crashPoint('sets.created')
  const setId = answer.kind === 'done' ? readSetId(answer.body) : undefined
  // If the id was known before, it is not the id of the created set.
  if (setId !== undefined && !owned.has(setId) && knownIds?.includes(setId) !== true) {
    await confirmProductSet(deps.db, actor, { id, setId, content, what: 'created' })
    await startRemovals(work, name, id)
    return { name, action, outcome: 'confirmed' }
  }
  // The service certainly did not create the set.
  if (answer.kind === 'refused' || answer.kind === 'again') {
    await deleteProductSetRow(deps.db, actor, { id, name, setId: null }, 'not_created')
    return { name, action, ...failureOf(answer) }
  }
  await storeLateUntil(deps.db, id, deps.settings.horizonMs + deps.settings.readLagMs)
  return { name, action, ...unresolvedCreate(knownIds, answer.kind === 'ambiguous' ? answer.reason : 'no new id') }
}

/** `knownIds`: ids that were listed before the create; null if the listing could not be read. */
function unresolvedCreate(knownIds: StoredSet['knownIds'], reason?: string): Outcome {
  const problem = `the create got no clear answer${reason === undefined ? '' : ` (${reason})`}`
  return unresolvedOutcome(
    knownIds === null
      ? `${problem}, and no listing shows whether it was applied: look for the set at the service, delete it, and rename the rule`
      : `${problem}: the next run looks for the set`,
  )
}

/** Marks the earlier sets of a name for removal. `keepProductSets` deletes them at its end. */
async function startRemovals({ deps, run }: SetWork, name: string, newId: number): Promise<void> {
  for (const set of await loadProductSets(deps.db, run.destinationId))
    if (set.name === name && set.id !== newId && set.state === 'kept') await startRemoval(deps.db, set.id)
}

type Outcome = Pick<ProductSetChange, 'outcome' | 'code' | 'message'>

/** Deletes a set. A 404 counts as deleted. */
async function removeSet({ deps, target, actor, listed }: SetWork, set: StoredSet): Promise<Outcome> {
  const { setId } = set
  if (setId === null) {
    // The create got no clear answer. The set stays unresolved while the request may still arrive. It also stays if a later run may find the
    // set, by comparison with the earlier listing (`knownIds`).
    const mayBeFoundLater = listed === undefined && set.knownIds !== null
    if (set.createMayArrive || mayBeFoundLater) return unresolvedOutcome('its create got no clear answer')
    await deleteProductSetRow(deps.db, actor, set, 'not_created')
    return { outcome: 'confirmed' }
  }
  await startRemoval(deps.db, set.id)
  crashPoint('sets.before_delete')
  const answer = await sendSetRequest(deps, requestToDeleteSet(target, setId))
  const isRemoved = answer.kind === 'done' || (answer.kind === 'refused' && answer.status === 404)
  if (!isRemoved) return failureOf(answer)
  await deleteProductSetRow(deps.db, actor, set, 'deleted')
  return { outcome: 'confirmed' }
}

function failureOf(answer: Exclude<SetAnswer, { kind: 'done' }>): Outcome {
  if (answer.kind === 'refused') return { outcome: 'refused', code: answer.code, message: answer.reason }
  return unresolvedOutcome(answer.reason)
}

function unresolvedOutcome(message: string): Outcome {
  return { outcome: 'unresolved', code: 'PRODUCT_SET_UNRESOLVED', message }
}

function ownedIds(stored: readonly StoredSet[]): Set<string> {
  return new Set(stored.flatMap(({ setId }) => (setId === null ? [] : [setId])))
}

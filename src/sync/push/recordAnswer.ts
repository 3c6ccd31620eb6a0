/**
 * Records an answer. The destination classifies it (`Destination.classify`), and this module corrects the outcome. `reconcile.ts` stores it
 * in one fenced transaction.
 */
import type { EntryOutcome, Listing, RequestOutcome, SentEntry } from '../../destinations/destination.ts'
import { backoffMs, requestedWaitMs } from '../../http/retryAfter.ts'
import { headOf, type Exchange } from '../../service/client/exchange.ts'
import type { ClaimedBatch } from '../../db/batches/claim.ts'
import { entriesOf } from '../../db/entries/read.ts'
import type { DbRow } from '../../db/row.ts'
import { Allowance } from './sharedRateLimit.ts'
import { crashPoint } from '../crashPoint.ts'
import { attemptOutcome, reconcile, type Reconciled } from './reconcile.ts'
import { notInTime, type CatalogCheck, type EndedAttempt, type PushState, type PushContext } from './send.ts'

/** Number of refused requests and useless answers in a row (`PushState.refusals`) at which the destination is paused. */
const refusalsBeforePause = 64
/**
 * Minimum wait before the same bytes are sent again, except after a 401. The random backoff may be 0, and the service may still be handling
 * the first request.
 */
const minWaitMs = 10
/** Time for which the catalog counts as existing after its check was answered with 200. */
const catalogSeenForMs = 60_000

/**
 * Records the result of an ended attempt: an answer, or its absence.
 *
 * @throws {LeaseLost} the batch was recovered or claimed by another process: nothing was written, and the answer is dropped
 */
export async function recordAnswer(context: PushContext, attempt: EndedAttempt): Promise<Reconciled> {
  const outcome = await correctedOutcome(context, attempt)
  const result = await reconcile(context, attempt, outcome, retryWaitMs(context, attempt, outcome))
  crashPoint('push.reconciled')
  logAttempt(context, attempt, outcome)
  if (result.pointerWrong) context.state.trustPointers = false
  return result
}

function logAttempt({ deps, sender }: PushContext, { batch, exchange }: EndedAttempt, outcome: RequestOutcome): void {
  const stored = attemptOutcome(outcome)
  const isConfirmed = stored === 'confirmed'
  deps.log[isConfirmed ? 'debug' : 'info'](
    {
      runId: `r_${sender.runId}`,
      batch: batch.id,
      operation: batch.operation,
      attempt: batch.attempts + 1,
      ...(exchange.kind === 'not-sent' || exchange.status === undefined ? {} : { status: exchange.status }),
      outcome: stored,
      ...(outcome.kind === 'entries' ? {} : { code: outcome.code }),
      durationMs: Math.round(exchange.durationMs),
    },
    isConfirmed ? 'a request was confirmed' : 'a request was not completely confirmed',
  )
}

const everyCredential = 'SLUICE_CONSUMER_KEY, SLUICE_CONSUMER_SECRET, SLUICE_ACCESS_TOKEN or SLUICE_ACCESS_TOKEN_SECRET'

/**
 * Returns the outcome that the destination derives from the answer. Corrects it in three cases: repeated 401s, deletes of missing keys, and
 * many successive refusals. If no byte was sent (`notInTime`), returns a retry.
 */
async function correctedOutcome(context: PushContext, { batch, exchange, begunAtMs }: EndedAttempt): Promise<RequestOutcome> {
  const { destination, state } = context
  if (exchange === notInTime) return { kind: 'retry', code: 'not-in-time' }
  const outcome = destination.classify(exchange, await sentEntries(context, batch), batch.operation)
  if (outcome.kind === 'retry' && outcome.status === 401) {
    // A wrong clock, or a token that was renewed meanwhile, may cause the first 401 and the 401s to concurrent requests. A 401 to a
    // later request means wrong credentials.
    if (state.unauthorizedAtMs !== undefined && begunAtMs > state.unauthorizedAtMs) {
      state.refusedCredentials ??= context.deps.transport.refusedCredentials?.()
      const message = `the service refuses ${(await state.refusedCredentials) ?? everyCredential} (${outcome.code})`
      return { kind: 'pause', code: 'CREDENTIALS_REFUSED', message, maybeApplied: false }
    }
    state.unauthorizedAtMs ??= context.deps.clock.monotonic()
    return outcome
  }
  // The service checks content only after it has accepted the credentials.
  if (outcome.kind === 'entries' || outcome.kind === 'refused') {
    state.unauthorizedAtMs = undefined
    state.refusedCredentials = undefined
  }
  const corrected = batch.operation === 'delete' ? await correctDelete(context, batch, exchange, outcome) : outcome
  return pauseAfterRefusals(state, corrected)
}

/** Returns the outcome of a delete, corrected if the service does not have the key (docs/faults.md, C4). */
async function correctDelete(
  context: PushContext,
  batch: ClaimedBatch,
  exchange: Exchange,
  outcome: RequestOutcome,
): Promise<RequestOutcome> {
  const { destination } = context
  if (outcome.kind === 'entries' && destination.refusedDeleteProvesRemoval && batch.maybeApplied)
    return { kind: 'entries', entries: outcome.entries.map((entry) => (entry.outcome === 'refused' ? alreadyDeleted : entry)) }
  if (outcome.kind !== 'pause' || exchange.kind !== 'answer' || exchange.status !== 404) return outcome
  const catalog = await checkCatalog(context)
  if (catalog === 'missing') return outcome
  if (catalog !== 'exists') return { kind: 'retry', code: catalog }
  // The catalog exists, so the 404 is about a key. It confirms a delete of one key if an earlier attempt may have been applied. A larger
  // batch is split until the key is alone.
  if (batch.maybeApplied && batch.entryCount === 1) return { kind: 'entries', entries: [alreadyDeleted] }
  return { kind: 'refused', code: outcome.code, message: outcome.message, failing: [] }
}

/**
 * Outcome of a delete whose key no longer exists after an earlier attempt with a lost answer: that attempt was applied. The service
 * generates the keys (spec 2.2) and deletes permanently (spec 3.3), so it gives this key to no other product. If the delete counted as
 * refused, it would be retried forever.
 */
const alreadyDeleted: EntryOutcome = {
  outcome: 'confirmed',
  warnings: ['the key no longer exists: an earlier attempt of this delete, whose answer was lost, was applied'],
}

/**
 * Counts `PushState.refusals`. Returns a pause from number `refusalsBeforePause` on: the cause is not a record, so the batch must not be
 * split (docs/guarantees.md#isolation-of-a-failing-record). Otherwise returns `outcome`. Refusals of single entries do not count, because
 * they cause no split.
 */
function pauseAfterRefusals(state: PushState, outcome: RequestOutcome): RequestOutcome {
  if (outcome.kind === 'entries' && outcome.entries.some((entry) => entry.outcome === 'confirmed')) state.refusals = 0
  if (outcome.kind !== 'refused' && !(outcome.kind === 'ambiguous' && outcome.suspectsRecord)) return outcome
  state.refusals++
  if (state.refusals < refusalsBeforePause) return outcome
  const { kind, code } = outcome
  return {
    kind: 'pause',
    code,
    message: `${state.refusals} requests in a row were refused: ${kind === 'refused' ? outcome.message : code}`,
    maybeApplied: kind === 'ambiguous',
  }
}

/** Checks if the catalog exists, unless it existed within the last minute. Concurrent calls share one request. */
async function checkCatalog(context: PushContext): Promise<CatalogCheck> {
  const { deps, destination, state } = context
  const { listing } = destination
  if (listing === undefined) return 'missing'
  if (state.catalogSeenAtMs !== undefined && deps.clock.monotonic() - state.catalogSeenAtMs < catalogSeenForMs) return 'exists'
  state.catalogCheck ??= requestProduct(context, listing).finally(() => (state.catalogCheck = undefined))
  return state.catalogCheck
}

/** Requests one product of the catalog. */
async function requestProduct({ deps, target, signal, hardStop, onWait, state }: PushContext, listing: Listing): Promise<CatalogCheck> {
  const allowance = await Allowance.open(deps, listing.limitClass)
  if ((await allowance.takeGrant({ signal, onWait })) === undefined) return 'catalog-unchecked'
  const exchange = await deps.transport.exchange({
    ...listing.request(target, undefined),
    query: { count: '1' },
    timeoutMs: deps.settings.httpTimeoutMs,
    signal: hardStop,
  })
  await allowance.update(exchange, 1)
  if (exchange.kind !== 'answer') return 'catalog-unchecked'
  if (exchange.status === 404) return 'missing'
  if (exchange.status !== 200) return `catalog-unchecked http-${exchange.status}`
  state.catalogSeenAtMs = deps.clock.monotonic()
  return 'exists'
}

/** Returns the entries of the request, in its order. Reads them from the database only if entries have ids, or several users. */
async function sentEntries({ deps, destination }: PushContext, batch: ClaimedBatch): Promise<readonly SentEntry[]> {
  if (destination.evidence === 'counts' && batch.userCount === batch.entryCount)
    return Array.from({ length: batch.entryCount }, () => oneUser)
  const rows = await deps.db.query<DbRow<'entry', 'keys' | 'users' | 'byte_offset' | 'byte_length'>>(
    `select e.keys, e.users, e.byte_offset, e.byte_length from ${entriesOf('$1::bigint')} e order by e.ord`,
    [batch.id],
  )
  return rows.map((row) => ({
    id: destination.idOf(row.keys, batch.body.subarray(row.byte_offset, row.byte_offset + row.byte_length), batch.operation),
    users: row.users,
  }))
}

const oneUser: SentEntry = { id: null, users: 1 }

/** Returns the wait before the same bytes are sent again: 0 after a 401, else the backoff, or a longer requested wait. */
function retryWaitMs(context: PushContext, { batch, exchange }: EndedAttempt, outcome: RequestOutcome): number {
  const { settings, clock } = context.deps
  if (outcome.kind === 'retry' && outcome.status === 401) return 0
  const backoff = Math.max(minWaitMs, backoffMs(batch.attempts + 1, settings))
  const head = headOf(exchange)
  const requested = head === undefined ? 0 : (requestedWaitMs(head, clock.now()) ?? 0)
  return Math.max(backoff, Math.min(requested, settings.retryAfterCapMs))
}

import type { ListedProduct, Listing, ListingAnswer, Target } from '../../destinations/destination.ts'
import { RunError } from '../../errors.ts'
import { backoffMs } from '../../http/retryAfter.ts'
import type { Exchange } from '../../service/client/exchange.ts'
import { interruptedError, type EngineDeps } from '../engine.ts'
import { Allowance } from '../push/sharedRateLimit.ts'

/** Catalog to read back, and callbacks. */
export interface CatalogRead {
  readonly deps: EngineDeps
  readonly listing: Listing
  readonly pipeline: string
  readonly target: Target
  /** Called before each wait of more than a second for the rate limit, with a text for the user. */
  readonly onWait: (waiting: string) => void
  readonly onRequest: () => void
}

type Page = Extract<ListingAnswer, { kind: 'page' }>
type Refusal = Extract<ListingAnswer, { kind: 'refused' }>

/**
 * Yields every page of the listing. A cursor may expire. If the service refuses one, starts again from the first page, at most once
 * (docs/spec-notes.md#unknown). Then the caller gets the earlier pages twice.
 *
 * @throws {RunError} `CATALOG_UNREADABLE` if a page cannot be read, because its products would count as not listed; `RUN_INTERRUPTED` once
 * `deps.signal` has aborted
 */
export async function* readBack(read: CatalogRead): AsyncGenerator<readonly ListedProduct[]> {
  const allowance = await Allowance.open(read.deps, read.listing.limitClass)
  const seenCursors = new Set<string>()
  let hasRestarted = false
  let cursor: string | undefined
  for (;;) {
    const page = await fetchPage(read, allowance, cursor)
    if (page.kind === 'refused') {
      if (hasRestarted) throw unreadableError(read, `the service refused its own cursor twice (${page.code}: ${page.reason})`)
      hasRestarted = true
      seenCursors.clear()
      cursor = undefined
      continue
    }
    yield page.products
    cursor = page.cursor
    if (cursor === undefined) return
    if (seenCursors.has(cursor)) throw unreadableError(read, 'the service gave the same cursor twice')
    seenCursors.add(cursor)
  }
}

/**
 * Requests one page, and repeats the request after an unclear answer (docs/guarantees.md#bounded-retry). After the first page, returns
 * status 400 as a refusal of the cursor, because the service accepted all other parameters before.
 *
 * @throws {RunError} `CATALOG_UNREADABLE` after any other refusal, a second 401, or too many attempts
 */
async function fetchPage(read: CatalogRead, allowance: Allowance, cursor: string | undefined): Promise<Page | Refusal> {
  const { clock, settings, signal } = read.deps
  let hadStatus401 = false
  for (let attempt = 1; ; attempt++) {
    const exchange = await requestPage(read, allowance, { cursor, attempt })
    const answer = read.listing.classify(exchange)
    if (answer.kind === 'page') return answer
    if (answer.kind === 'refused') {
      if (cursor !== undefined && exchange.kind === 'answer' && exchange.status === 400) return answer
      throw unreadableError(read, `${answer.code}: ${answer.reason}`)
    }
    // A wrong clock may cause the first 401. The client corrects the time of the repeat (docs/client.md#retries).
    if (answer.status === 401 && hadStatus401)
      throw unreadableError(
        read,
        `${answer.reason}: the service refuses the credentials (SLUICE_CONSUMER_KEY, SLUICE_ACCESS_TOKEN and their secrets)`,
      )
    hadStatus401 ||= answer.status === 401
    if (attempt >= settings.maxAttempts) throw unreadableError(read, `${answer.reason}, ${settings.maxAttempts} times`)
    // If the service requests a longer wait, `allowance` delays the next request.
    await clock.sleep(backoffMs(attempt, settings), signal)
  }
}

/** Waits until the rate limit permits a request, sends it, and updates the rate limit from its answer. */
async function requestPage(
  { deps, listing, onWait, onRequest, target }: CatalogRead,
  allowance: Allowance,
  { cursor, attempt }: { readonly cursor: string | undefined; readonly attempt: number },
): Promise<Exchange> {
  const { settings, signal, transport } = deps
  const grant = await allowance.takeGrant({ signal, onWait })
  if (grant === undefined) throw interruptedError()
  onRequest()
  const exchange = await transport.exchange({
    ...listing.request(target, cursor),
    timeoutMs: settings.httpTimeoutMs,
    ...(signal === undefined ? {} : { signal }),
  })
  if (signal?.aborted === true) throw interruptedError()
  await allowance.update(exchange, attempt)
  return exchange
}

function unreadableError({ pipeline, target }: CatalogRead, reason: string): RunError {
  return new RunError('CATALOG_UNREADABLE', `catalog ${target.targetId} could not be read back (${reason}). Nothing was changed or sent.`, {
    where: pipeline,
    hint: 'sluice doctor',
  })
}

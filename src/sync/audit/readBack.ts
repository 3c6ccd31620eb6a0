/**
 * Reading a catalog back, page by page, at the pace of the budget that all processes share. A read may be repeated without
 * harm, so whatever proves nothing is asked again, a bounded number of times (I15); nothing is ever judged of half a listing.
 */
import type { Target } from '../../destinations/destination.ts'
import { judgeListing, listingLimit, listingRequest, type ListedProduct, type ListingAnswer } from '../../destinations/productListing.ts'
import { RunError } from '../../errors.ts'
import type { Exchange } from '../../service/client/exchange.ts'
import type { EngineDeps } from '../engine.ts'
import { Allowance } from '../push/allowance.ts'
import { backoffMs } from '../push/pace.ts'
import { adviceMs } from '../push/waitAdvice.ts'
import { interrupted } from '../read/stage.ts'

export interface Reading {
  readonly deps: EngineDeps
  readonly pipeline: string
  readonly target: Target
  /** Told of each wait that is worth telling. */
  readonly onWait: (waiting: string) => void
  /** Told before each request. */
  readonly onRequest: () => void
}

type Page = Extract<ListingAnswer, { kind: 'page' }>

/**
 * Every page of the listing, in the service's order. Memory of one page, and of the cursors seen. A cursor that is refused has
 * expired: the listing begins anew, once (spec/gaps.md 12), and then gives out products a second time.
 *
 * @throws {RunError} `CATALOG_UNREADABLE`, or that the run was stopped
 */
export async function* readBack(reading: Reading): AsyncGenerator<readonly ListedProduct[]> {
  const allowance = await Allowance.open(reading.deps.db, reading.deps.clock, reading.deps.service.origin, listingLimit)
  const seen = new Set<string>()
  let restarted = false
  let cursor: string | undefined
  for (;;) {
    const page = await fetchPage(reading, allowance, cursor)
    if (page === 'expired') {
      if (restarted) throw unreadable(reading, 'the service refused its own cursor twice')
      restarted = true
      seen.clear()
      cursor = undefined
      continue
    }
    yield page.products
    cursor = page.cursor
    if (cursor === undefined) return
    if (seen.has(cursor)) throw unreadable(reading, 'the service gave the same cursor twice')
    seen.add(cursor)
  }
}

async function fetchPage(reading: Reading, allowance: Allowance, cursor: string | undefined): Promise<Page | 'expired'> {
  const { clock, settings, signal } = reading.deps
  let unauthorized = false
  for (let attempt = 1; ; attempt++) {
    const exchange = await ask(reading, allowance, cursor)
    const answer = judgeListing(exchange)
    if (answer.kind === 'page') return answer
    if (answer.kind === 'refused') {
      if (cursor !== undefined && exchange.kind === 'answer' && exchange.status === 400) return 'expired'
      throw unreadable(reading, `${answer.code}: ${answer.reason}`)
    }
    // The first may be our clock; the second is the credentials (I24).
    if (answer.status === 401 && unauthorized)
      throw unreadable(
        reading,
        `${answer.reason}: the service refuses the credentials (SLUICE_CONSUMER_KEY, SLUICE_ACCESS_TOKEN and their secrets)`,
      )
    unauthorized ||= answer.status === 401
    if (attempt >= settings.maxAttempts) throw unreadable(reading, `${answer.reason}, ${settings.maxAttempts} times`)
    await clock.sleep(await waitFor(reading, allowance, exchange, attempt), signal)
  }
}

/** One request under a fresh grant. */
async function ask({ deps, onWait, onRequest, target }: Reading, allowance: Allowance, cursor: string | undefined): Promise<Exchange> {
  const { clock, settings, signal, transport } = deps
  const told = (ms: number) => onWait(`waiting for the rate limit until ${new Date(clock.now() + ms).toISOString().slice(0, 19)}Z`)
  const grant = await allowance.take({ signal, onWait: told })
  if (grant === undefined) throw interrupted()
  onRequest()
  const exchange = await transport.exchange({
    ...listingRequest(target, cursor),
    timeoutMs: settings.httpTimeoutMs,
    ...(signal === undefined ? {} : { signal }),
  })
  // What broke off because of the signal is no fault of the service.
  if (signal?.aborted === true) throw interrupted()
  if (exchange.kind === 'answer') await allowance.learn(exchange.headers, settings.retryAfterCapMs)
  return exchange
}

/** Backoff, or what the service asks for; a 429 holds up everybody who reads products. */
async function waitFor({ deps }: Reading, allowance: Allowance, exchange: Exchange, attempt: number): Promise<number> {
  const { clock, settings } = deps
  const advice = exchange.kind === 'answer' ? (adviceMs(exchange.headers, clock.now()) ?? 0) : 0
  const asked =
    exchange.kind === 'answer' && (exchange.status === 429 || exchange.status === 503) ? Math.min(advice, settings.retryAfterCapMs) : 0
  if (exchange.kind === 'answer' && exchange.status === 429) await allowance.block(asked)
  return Math.max(asked, backoffMs(attempt, settings))
}

function unreadable({ pipeline, target }: Reading, reason: string): RunError {
  return new RunError('CATALOG_UNREADABLE', `catalog ${target.targetId} could not be read back (${reason}). Nothing was changed or sent.`, {
    where: pipeline,
    mend: 'sluice doctor',
  })
}

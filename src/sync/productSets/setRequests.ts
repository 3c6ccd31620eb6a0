import type { Target } from '../../destinations/destination.ts'
import {
  classifySetAnswer,
  requestToListSets,
  readSetPage,
  type ListedSet,
  type SetAnswer,
  type SetRequest,
} from '../../destinations/productSets.ts'
import { backoffMs } from '../../http/retryAfter.ts'
import { interruptedError, type EngineDeps } from '../engine.ts'
import { Allowance } from '../push/sharedRateLimit.ts'

/** Maximum number of attempts of one request. Small, because the next run tries again. */
const maxSetAttempts = 3
const maxPages = 50

/**
 * Sends a request within the rate limit, and returns its answer. Makes up to `maxSetAttempts` attempts. Sends it again only if the service
 * certainly did not apply it, or if it is `repeatable` and got no clear answer.
 *
 * @throws {RunError} `RUN_INTERRUPTED` if the signal aborts before an attempt
 */
export async function sendSetRequest(deps: EngineDeps, { request, limitClass, repeatable }: SetRequest): Promise<SetAnswer> {
  const { clock, settings, signal, transport } = deps
  const allowance = await Allowance.open(deps, limitClass)
  for (let attempt = 1; ; attempt++) {
    const grant = await allowance.takeGrant({ signal })
    if (grant === undefined) throw interruptedError()
    const exchange = await transport.exchange({
      ...request,
      timeoutMs: settings.httpTimeoutMs,
      ...(signal === undefined ? {} : { signal }),
    })
    await allowance.update(exchange, attempt)
    const answer = classifySetAnswer(exchange)
    const maySendAgain = answer.kind === 'again' || (answer.kind === 'ambiguous' && repeatable)
    if (!maySendAgain || attempt === maxSetAttempts) return answer
    if (signal?.aborted === true) throw interruptedError()
    await clock.sleep(backoffMs(attempt, settings), signal)
  }
}

/**
 * Lists all sets of a catalog. Returns undefined if the listing cannot be read completely. A service may lack this endpoint, because the
 * specification does not describe it (docs/spec-notes.md#endpoints).
 *
 * @throws {RunError} `RUN_INTERRUPTED` as `sendSetRequest`
 */
export async function listProductSets(deps: EngineDeps, target: Target): Promise<readonly ListedSet[] | undefined> {
  const sets: ListedSet[] = []
  const seenCursors = new Set<string>()
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const answer = await sendSetRequest(deps, requestToListSets(target, cursor))
    const read = answer.kind === 'done' ? readSetPage(answer.body) : undefined
    if (read === undefined) return undefined
    sets.push(...read.sets)
    cursor = read.cursor
    if (cursor === undefined) return sets
    if (seenCursors.has(cursor)) return undefined
    seenCursors.add(cursor)
  }
  return undefined
}

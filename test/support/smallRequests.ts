/**
 * Sets the service's limit of users per request to a tenth. A tenth of the people then fills as many requests, and as many parts of a
 * first load. Applies here, and in a command that preloads this file by `withSmallRequests`.
 */
import { batchLimits } from '../../src/service/contract/limits.ts'

/** Most users in a request. */
const users = 250

/** Environment of a command with small requests. */
export const withSmallRequests = { NODE_OPTIONS: `--import=${import.meta.url}`, SMALL_REQUESTS: 'true' }

if (process.env['SMALL_REQUESTS'] === 'true') makeRequestsSmall()

/** Makes requests, and the parts of engines that are opened meanwhile, small until the result is disposed of. */
export function makeRequestsSmall(): Disposable {
  const limits: { entries: number } = batchLimits.userOperations
  const { entries } = limits
  limits.entries = users
  return { [Symbol.dispose]: () => void (limits.entries = entries) }
}

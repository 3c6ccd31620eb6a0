import type { FaultContext } from '../faults/faultContext.ts'
import type { RequestContent } from '../ledger/requestContent.ts'
import type { Pair } from '../verify/signature.ts'
import type { Route } from './router.ts'

/** State of one request, from the end of its headers to the end of its answer. */
export interface RequestContext extends FaultContext {
  /** `core.instance` when the request began. A reset, or a restore to before a reset, changes that id. Earlier requests are then dropped. */
  readonly instance: string
  /** Machine time at which the headers were complete, milliseconds since 1970. */
  readonly startedAt: number
  readonly route: Route
  /** Path as sent: not decoded. Without scheme, host and query. */
  readonly rawPath: string
  readonly rawQuery: string
  /** Decoded pairs of `rawQuery`. */
  readonly query: readonly Pair[]
  /** Empty until the body is read. */
  body: Buffer
  /** Parsed JSON body, with neutral keys (`names.ts`). Undefined until the body is read, and without a JSON body. */
  json: unknown
  /** True if the body should be JSON and is not. */
  isInvalidJson: boolean
  /** Products or users in the body. Empty until the body is parsed. */
  content: RequestContent
  /** As `Caller.id`; `anonymous` before authentication. */
  caller: string
  /** True once the answer is sent or the connection has ended. */
  finished: boolean
  readonly isFirstOfConnection: boolean
}

import type { FaultContext } from '../faults/faultContext.ts'
import type { RequestContent } from '../ledger/requestContent.ts'
import type { Pair } from '../verify/signature.ts'
import type { Route } from './router.ts'

/** State of one request, from the end of its headers to the end of its answer. */
export interface RequestContext extends FaultContext {
  /** Id of the state to which the request was sent (`core.instance`). If the state has another id later, the request is dropped. */
  readonly instance: string
  /** Machine time at which the headers were complete, milliseconds since 1970. */
  readonly startedAt: number
  readonly route: Route
  /** As sent, not decoded, without scheme, host and query. */
  readonly rawPath: string
  readonly rawQuery: string
  /** Decoded. */
  readonly query: readonly Pair[]
  /** Empty until the body is read. */
  body: Buffer
  /** Parsed body with neutral keys (`names.ts`). Undefined until the body is read, and for an endpoint or body without JSON. */
  json: unknown
  /** True if the body should be JSON and is not. */
  jsonError: boolean
  /** Empty until the body is parsed. */
  content: RequestContent
  /** User id, `app` or `browser`; `anonymous` before authentication. */
  caller: string
  /** True once the answer was sent, or the connection ended. */
  finished: boolean
  readonly isFirstOfConnection: boolean
}

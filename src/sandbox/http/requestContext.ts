/** State of one request, from the end of its headers to the end of its answer. Each stage sets its part. */
import type { FaultContext } from '../faults/faultContext.ts'
import type { RequestContent } from '../ledger/requestContent.ts'
import type { Pair } from '../verify/signature.ts'
import type { Route } from './router.ts'

export interface RequestContext extends FaultContext {
  /** Id of the state to which the request was sent (`core.instance`). After a reset the request is dropped. */
  readonly instance: string
  /** Machine time at which the headers were complete, milliseconds. */
  readonly startedAt: number
  readonly route: Route
  readonly rawPath: string
  readonly rawQuery: string
  readonly query: readonly Pair[]
  body: Buffer
  json: unknown
  /** True if the body should be JSON and is not. */
  jsonError: boolean
  content: RequestContent
  /** Id of the user, `app` or `browser`; `anonymous` before authentication. */
  caller: string
  /** True once the answer was sent, or the connection ended. */
  finished: boolean
  readonly firstOfConnection: boolean
}

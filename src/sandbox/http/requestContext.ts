/** One request from its first byte to the last of its answer: what each layer has found out so far. */
import type { FaultContext } from '../faults/faultContext.ts'
import type { Carried } from '../ledger/carried.ts'
import type { Pair } from '../verify/signature.ts'
import type { Route } from './router.ts'

export interface RequestContext extends FaultContext {
  /** Machine time of the first byte, milliseconds. */
  readonly startedAt: number
  readonly route: Route
  readonly rawPath: string
  readonly rawQuery: string
  readonly query: readonly Pair[]
  body: Buffer
  json: unknown
  jsonError: boolean
  carried: Carried
  /** Id of the user or `app`, set by authentication. */
  caller: string
  finished: boolean
  readonly firstOfConnection: boolean
}

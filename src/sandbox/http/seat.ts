/** One request from its first byte to the last of its answer: what each layer has found out so far. */
import type { FaultSeat } from '../faults/faultSeat.ts'
import type { Carried } from '../ledger/carried.ts'
import type { Pair } from '../verify/signature.ts'
import type { Route } from './router.ts'

export interface Seat extends FaultSeat {
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
  /** Id of the user or `app`, once authenticated; `nobody` before. */
  caller: string
  finished: boolean
  readonly firstOfConnection: boolean
}

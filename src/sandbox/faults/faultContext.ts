/** Parts of a request that a fault reads or corrupts: its connection, its answer, its line in the ledger. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Endpoint } from '../../service/contract/endpoint.ts'
import type { LedgerEntry } from '../ledger/ledger.ts'

export interface FaultContext {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly entry: LedgerEntry
  /** Undefined where no route was found. */
  readonly endpoint: Endpoint | undefined
  /** The whole answer went out past the response object. */
  answered: boolean
}

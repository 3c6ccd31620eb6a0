import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Endpoint } from '../../service/contract/endpoint.ts'
import type { LedgerEntry } from '../ledger/ledger.ts'

/** Part of a request that faults read or change: connection, answer and ledger entry. */
export interface FaultContext {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly entry: LedgerEntry
  /** Undefined for an unknown path or method. */
  readonly endpoint: Endpoint | undefined
  /** Parsed body with neutral keys (`names.ts`). Undefined until the body is read, and for an endpoint or body without JSON. */
  readonly json: unknown
  /** Records status, time and size of the answer in the ledger. Called by every sender, before it writes. */
  readonly recordAnswer: (status: number, bytes: number) => void
  /** True if a fault wrote the answer directly to the socket, so `response` never finishes. */
  isAnsweredOnSocket: boolean
}

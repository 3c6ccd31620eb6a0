import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Endpoint } from '../../service/contract/endpoint.ts'
import type { LedgerEntry } from '../ledger/ledger.ts'

/** Part of `RequestContext` that faults read or change: connection, answer and ledger entry. */
export interface FaultContext {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly entry: LedgerEntry
  /** Undefined for an unknown path or method. */
  readonly endpoint: Endpoint | undefined
  /** Parsed JSON body, with neutral keys (`names.ts`). Undefined until the body is read, and without a JSON body. */
  readonly json: unknown
  /** Records status, time and size of the answer in the ledger. Every function that sends an answer calls it first. */
  readonly recordAnswer: (status: number, bytes: number) => void
  /** True if a fault wrote the answer directly to the socket, so `response` never finishes. */
  isAnsweredOnSocket: boolean
}

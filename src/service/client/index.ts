/** Public API of the client. */
import '../../nodeVersion.ts'

export type { ClientConfig, ServiceConfig } from './config.ts'
export { createTransport, type TransportOptions } from './transport.ts'
export { authorizationHeader, sign, signatureOf, type OAuthKeys, type OAuthParameters, type SignedRequest } from './signing.ts'
export type { Answer, Exchange, ExchangeRequest, Lost, NotSent, Transport } from './exchange.ts'
export { createClient, type Client, type ClientOptions } from './client.ts'
export type { CallResult } from './caller.ts'
export type {
  ActivityEvent,
  ActivityFilter,
  AppDestination,
  BatchOperation,
  ButtonLabel,
  CardComponent,
  DoNotReachOperation,
  Price,
  ProductInput,
  ProductSetFilter,
  TargetingCriterion,
  UserIdentifiers,
  UserOperation,
  WebsiteDestination,
} from './bodies.ts'
export type { CallOptions, ParamsOf, RecordOf, V2Answer, V2Includes } from './typed.ts'
export { List, type Page } from './list.ts'
export type { ServiceIssue } from './issues.ts'
export { isRetryable, toServiceError } from './toServiceError.ts'
export { describeParameter, describeParameters } from './describeParameter.ts'
export { parseExact, stringifyExact } from './decode.ts'
export * from './serviceErrors.ts'

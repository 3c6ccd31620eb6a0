/** The client of the service: what the other rooms may use of it. */
export type { ServiceConfig } from './config.ts'
export { createTransport, type TransportOptions } from './transport.ts'
export { authorizationHeader, sign, signatureOf, type OAuthKeys, type OAuthParameters, type SignedRequest } from './signing.ts'
export type { Answer, Exchange, ExchangeRequest, Lost, NotSent, Transport } from './exchange.ts'

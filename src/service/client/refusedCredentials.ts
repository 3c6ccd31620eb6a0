/** Finds out which credential the service refuses, because a 401 does not name it. */
import type { ServiceConfig } from './config.ts'
import { credentialVariables } from './hints.ts'
import { userProof, type Sender } from './sender.ts'

const timeoutMs = 15_000

/**
 * Returns the names of the variables whose values may be wrong: as few as the answers prove, and all four if an answer is missing. Returns
 * undefined if a signed read is answered with any status but 401. Sends up to four requests: the signed read, the same read after a
 * correction of the clock, a read on the core host (which has a code for unknown access tokens), and a request for a request token (which
 * is signed without an access token).
 */
export async function refusedCredentials(sender: Sender, config: ServiceConfig): Promise<string | undefined> {
  const proof = userProof(config)
  const accounts = { method: 'GET', host: 'ads', path: `/${config.adsVersion}/accounts`, timeoutMs, proof } as const
  let answer = await sender.send(accounts)
  if (answer.kind === 'answer' && answer.status === 401 && sender.clockWasCorrected()) answer = await sender.send(accounts)
  if (answer.kind !== 'answer') return credentialVariables
  if (answer.status !== 401) return undefined
  const lookup = await sender.send({ method: 'GET', host: 'core', path: '/2/tweets', query: { ids: '1' }, timeoutMs, proof })
  if (lookup.kind === 'answer' && /"code"\s*:\s*89\b/.test(lookup.body.toString('utf8'))) return 'SLUICE_ACCESS_TOKEN'
  const oauth = { kind: 'oauth', extra: { oauth_callback: 'oob' } } as const
  const consumer = await sender.send({ method: 'POST', host: 'core', path: '/oauth/request_token', timeoutMs, proof: oauth })
  if (consumer.kind !== 'answer') return credentialVariables
  if (consumer.status === 401) return 'SLUICE_CONSUMER_KEY or SLUICE_CONSUMER_SECRET'
  return consumer.status < 300 ? 'SLUICE_ACCESS_TOKEN_SECRET' : credentialVariables
}

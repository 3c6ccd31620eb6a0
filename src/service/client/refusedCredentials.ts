/** Tests which credential the service refuses, because a 401 does not name it. */
import type { ServiceConfig } from './config.ts'
import { credentialVariables } from './hints.ts'
import { userCredentials, type Sender } from './sender.ts'

const timeoutMs = 15_000

/**
 * Returns the names of the variables whose values may be wrong. Undefined if request 1 or 2 is answered with another status than 401.
 *
 * Sends up to four requests:
 * 1. the signed read
 * 2. the same read, after a correction of the clock
 * 3. a read on the core host, which has a code for unknown access tokens
 * 4. a request for a request token, which is signed without an access token
 *
 * Returns all four names if request 1, 2 or 4 has no answer, or if request 4 fails with another status than 401.
 */
export async function refusedCredentials(sender: Sender, config: ServiceConfig): Promise<string | undefined> {
  const credentials = userCredentials(config)
  const accounts = { method: 'GET', host: 'ads', path: `/${config.adsVersion}/accounts`, timeoutMs, credentials } as const
  const corrections = sender.clockCorrections()
  let answer = await sender.send(accounts)
  if (answer.kind === 'answer' && answer.status === 401 && sender.clockCorrections() > corrections) answer = await sender.send(accounts)
  if (answer.kind !== 'answer') return credentialVariables
  if (answer.status !== 401) return undefined
  const lookup = await sender.send({ method: 'GET', host: 'core', path: '/2/tweets', query: { ids: '1' }, timeoutMs, credentials })
  if (lookup.kind === 'answer' && /"code"\s*:\s*89\b/.test(lookup.body.toString('utf8'))) return 'SLUICE_ACCESS_TOKEN'
  const oauth = { kind: 'oauth', extra: { oauth_callback: 'oob' } } as const
  const consumer = await sender.send({ method: 'POST', host: 'core', path: '/oauth/request_token', timeoutMs, credentials: oauth })
  if (consumer.kind !== 'answer') return credentialVariables
  if (consumer.status === 401) return 'SLUICE_CONSUMER_KEY or SLUICE_CONSUMER_SECRET'
  if (consumer.status >= 300) return credentialVariables
  // Only an answer to the lookup proves that the service knows the access token.
  return lookup.kind === 'answer' ? 'SLUICE_ACCESS_TOKEN_SECRET' : 'SLUICE_ACCESS_TOKEN or SLUICE_ACCESS_TOKEN_SECRET'
}

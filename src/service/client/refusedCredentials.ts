/** Finds the refused one of the four credentials: a 401 alone names none. */
import type { ServiceConfig } from './config.ts'
import { allKeys } from './hints.ts'
import { userProof, type Sender } from './sender.ts'

const timeoutMs = 15_000

/**
 * Repeats a read signed by all four credentials; refused again, it lets the core host, which reports an unknown token by a
 * code of its own, and a request for a token signed by the consumer alone distinguish them. Undefined where the service
 * accepts them after all.
 */
export async function refusedCredentials(sender: Sender, config: ServiceConfig): Promise<string | undefined> {
  const proof = userProof(config)
  const accounts = { method: 'GET', host: 'ads', path: `/${config.adsVersion}/accounts`, timeoutMs, proof } as const
  let answer = await sender.send(accounts)
  if (answer.kind === 'answer' && answer.status === 401 && sender.clockWasCorrected()) answer = await sender.send(accounts)
  if (answer.kind !== 'answer') return allKeys
  if (answer.status !== 401) return undefined
  const lookup = await sender.send({ method: 'GET', host: 'core', path: '/2/tweets', query: { ids: '1' }, timeoutMs, proof })
  if (lookup.kind === 'answer' && /"code"\s*:\s*89\b/.test(lookup.body.toString('utf8'))) return 'SLUICE_ACCESS_TOKEN'
  const oauth = { kind: 'oauth', extra: { oauth_callback: 'oob' } } as const
  const consumer = await sender.send({ method: 'POST', host: 'core', path: '/oauth/request_token', timeoutMs, proof: oauth })
  if (consumer.kind !== 'answer') return allKeys
  if (consumer.status === 401) return 'SLUICE_CONSUMER_KEY or SLUICE_CONSUMER_SECRET'
  return consumer.status < 300 ? 'SLUICE_ACCESS_TOKEN_SECRET' : allKeys
}

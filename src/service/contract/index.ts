/** The whole interface of the service as data: every endpoint by name. Each area has its own file and one line here. */
import { audienceEndpoints } from './audiences.ts'
import { authEndpoints } from './auth.ts'
import { campaignEndpoints } from './campaigns.ts'
import { catalogEndpoints } from './catalogs.ts'
import { creativeEndpoints } from './creatives.ts'
import type { Endpoint } from './endpoint.ts'
import { postEndpoints } from './posts.ts'
import { webhookEndpoints } from './webhooks.ts'

/** In the order of the specification; types are literal, so that the client is typed by them. */
export const contract = [
  ...authEndpoints,
  ...catalogEndpoints,
  ...audienceEndpoints,
  ...creativeEndpoints,
  ...campaignEndpoints,
  ...postEndpoints,
  ...webhookEndpoints,
] as const

/** The same, for code that treats all endpoints alike. */
export const endpoints: readonly Endpoint[] = contract

export type EndpointName = (typeof contract)[number]['name']

const byName: ReadonlyMap<string, Endpoint> = new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]))

/** Undefined for a name that the contract does not hold. */
export function findEndpoint(name: string): Endpoint | undefined {
  return byName.get(name)
}

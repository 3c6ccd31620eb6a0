/** Lists the endpoints of the service. Each group of endpoints has a file, and a line in `contract`. */
import { accountEndpoints } from './accounts.ts'
import { advertiserPostEndpoints } from './advertiserPosts.ts'
import { audienceEndpoints } from './audiences.ts'
import { authEndpoints } from './auth.ts'
import { batchEndpoints } from './batches.ts'
import { campaignEndpoints } from './campaigns.ts'
import { cardEndpoints } from './cards.ts'
import { catalogEndpoints } from './catalogs.ts'
import { categoryEndpoints } from './categories.ts'
import type { Endpoint } from './endpoint.ts'
import { lineItemEndpoints } from './lineItems.ts'
import { mediaEndpoints } from './media.ts'
import { settingsEndpoints } from './settings.ts'
import { statisticsEndpoints } from './statistics.ts'
import { targetingLookupEndpoints } from './targetingLookups.ts'
import { trackingTagEndpoints } from './trackingTags.ts'
import { userEndpoints } from './users.ts'
import { postEndpoints } from './posts.ts'
import { promotionEndpoints } from './promotion.ts'
import { specialCardEndpoints } from './specialCards.ts'
import { webhookEndpoints } from './webhooks.ts'

/** All endpoints. The types of the client are derived from these literal types. */
export const contract = [
  ...authEndpoints,
  ...catalogEndpoints,
  ...audienceEndpoints,
  // Creatives (spec 4.4).
  ...mediaEndpoints,
  ...cardEndpoints,
  ...specialCardEndpoints,
  ...advertiserPostEndpoints,
  // Campaigns (spec 4.5, 4.6, 4.8).
  ...accountEndpoints,
  ...categoryEndpoints,
  ...lineItemEndpoints,
  ...campaignEndpoints,
  ...promotionEndpoints,
  ...batchEndpoints,
  ...postEndpoints,
  ...webhookEndpoints,
  // Outside the specification: official SDKs or common clients call them.
  ...targetingLookupEndpoints,
  ...trackingTagEndpoints,
  ...settingsEndpoints,
  ...statisticsEndpoints,
  ...userEndpoints,
] as const

/** All endpoints, for code that does not need their literal types. */
export const endpoints: readonly Endpoint[] = contract

/** Name of an endpoint, such as `catalogs.list`. */
export type EndpointName = (typeof contract)[number]['name']

const byName: ReadonlyMap<string, Endpoint> = new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]))

export function findEndpoint(name: string): Endpoint | undefined {
  return byName.get(name)
}

/** Returns the endpoint with the name. The type check guarantees that it exists. */
export function endpointOf(name: EndpointName): Endpoint {
  const endpoint = byName.get(name)
  if (endpoint === undefined) throw new Error(`no endpoint ${name}`)
  return endpoint
}

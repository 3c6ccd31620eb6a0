/** The whole interface of the service as data: every endpoint by name. Each group of endpoints has its own file and one line here. */
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

/** In the order of the specification; types are literal, so that the client is typed by them. */
export const contract = [
  ...authEndpoints,
  ...catalogEndpoints,
  ...audienceEndpoints,
  // Creatives (spec 4.4).
  ...mediaEndpoints,
  ...cardEndpoints,
  ...specialCardEndpoints,
  ...advertiserPostEndpoints,
  // Campaign management (spec 4.5, 4.6, and what stands behind 4.8).
  ...accountEndpoints,
  ...categoryEndpoints,
  ...lineItemEndpoints,
  ...campaignEndpoints,
  ...promotionEndpoints,
  ...batchEndpoints,
  ...postEndpoints,
  ...webhookEndpoints,
  // Beyond the specification.
  ...targetingLookupEndpoints,
  ...trackingTagEndpoints,
  ...settingsEndpoints,
  ...statisticsEndpoints,
  ...userEndpoints,
] as const

/** The same, for code that treats all endpoints alike. */
export const endpoints: readonly Endpoint[] = contract

export type EndpointName = (typeof contract)[number]['name']

const byName: ReadonlyMap<string, Endpoint> = new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]))

/** Undefined for a name that the contract does not hold. */
export function findEndpoint(name: string): Endpoint | undefined {
  return byName.get(name)
}

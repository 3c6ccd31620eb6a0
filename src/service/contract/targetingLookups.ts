/** Endpoints of targeting values, content categories and promotable users. Outside the specification: official SDKs call them. */
import { readRequest, type Endpoint } from './endpoint.ts'
import { locationTypes } from './campaignResources.ts'
import { count200, cursor, query, recordList, sentBySdks, withDeleted, withTotalCount } from './parameter.ts'
import { recordsOfAccount } from './recordEndpoints.ts'

const source = 'outside the specification: official SDKs read it'
const q = query('q', 'string', { maxLength: 255, ...sentBySdks })

/** Creates the endpoint of a list of targeting values. `segment`: last segment of its path. `own`: parameters that other lists lack. */
const lookup = <const Name extends string, const Segment extends string, const Own extends Endpoint['parameters']>(
  name: Name,
  segment: Segment,
  own: Own,
) =>
  ({
    name: `targetingLookups.${name}`,
    ...readRequest,
    path: `/12/targeting_criteria/${segment}`,
    parameters: [...own, q, count200, cursor, withTotalCount],
    answer: { resource: 'targetingOption', many: true },
    limit: 'global_reads',
    outsideSpec: true,
    source,
  }) as const

const promotableUsers = recordsOfAccount('promotableUsers', 'promotable_users', 'promotable_user_id', 'promotableUser')

export const targetingLookupEndpoints = [
  lookup('appStoreCategories', 'app_store_categories', [query('os_type', 'enum', { values: ['ANDROID', 'IOS'], ...sentBySdks })]),
  lookup('conversations', 'conversations', [query('conversation_type', 'string', sentBySdks)]),
  lookup('devices', 'devices', []),
  lookup('events', 'events', [
    query('country_codes', 'csv', sentBySdks),
    query('event_types', 'csv', sentBySdks),
    query('ids', 'csv', { maxItems: 200, ...sentBySdks }),
  ]),
  lookup('interests', 'interests', []),
  lookup('languages', 'languages', []),
  lookup('locations', 'locations', [
    query('country_code', 'string', { minLength: 2, maxLength: 2, ...sentBySdks }),
    query('location_type', 'enum', { values: locationTypes, ...sentBySdks }),
  ]),
  lookup('networkOperators', 'network_operators', [query('country_code', 'string', { minLength: 2, maxLength: 2, ...sentBySdks })]),
  lookup('platforms', 'platforms', []),
  lookup('platformVersions', 'platform_versions', []),
  lookup('tvMarkets', 'tv_markets', []),
  lookup('tvShows', 'tv_shows', [query('tv_market_locale', 'string', sentBySdks)]),
  {
    name: 'contentCategories.list',
    ...readRequest,
    path: '/12/content_categories',
    parameters: [],
    answer: { resource: 'contentCategory', many: true },
    limit: 'global_reads',
    outsideSpec: true,
    source,
  },
  {
    ...promotableUsers.list([query('promotable_user_ids', 'csv', { maxItems: 200, ...sentBySdks }), ...recordList]),
    outsideSpec: true,
    source,
  },
  { ...promotableUsers.get([withDeleted]), outsideSpec: true, source },
] as const satisfies readonly Endpoint[]

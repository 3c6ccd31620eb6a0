/** Resources and values outside the specification, in the shapes that official SDKs read. */
import { locationTypes } from './campaignResources.ts'
import { field, nullableTexts, optionalTexts, recordFields, texts, type Resource } from './resource.ts'

export const metricGroups = [
  'BILLING',
  'ENGAGEMENT',
  'LIFE_TIME_VALUE_MOBILE_CONVERSION',
  'MEDIA',
  'MOBILE_CONVERSION',
  'VIDEO',
  'WEB_CONVERSION',
] as const
/** Lengths of the intervals of statistics. */
export const granularities = ['DAY', 'HOUR', 'TOTAL'] as const
export const statisticsEntities = [
  'ACCOUNT',
  'CAMPAIGN',
  'FUNDING_INSTRUMENT',
  'LINE_ITEM',
  'MEDIA_CREATIVE',
  'ORGANIC_TWEET',
  'PROMOTED_ACCOUNT',
  'PROMOTED_TWEET',
] as const
export const statisticsPlacements = ['ALL_ON_SERVICE', 'PUBLISHER_NETWORK', 'SPOTLIGHT', 'TREND'] as const

/** Text fields of the settings of a user. */
export const userSettingsNames = ['notification_email', 'contact_phone', 'contact_phone_extension'] as const
/** Fields of the tax settings of an account. All are texts. */
export const taxSettingsNames = [
  'address_city',
  'address_country',
  'address_email',
  'address_first_name',
  'address_last_name',
  'address_name',
  'address_postal_code',
  'address_region',
  'address_street1',
  'address_street2',
  'bill_to',
  'business_relationship',
  'client_address_city',
  'client_address_country',
  'client_address_email',
  'client_address_first_name',
  'client_address_last_name',
  'client_address_name',
  'client_address_postal_code',
  'client_address_region',
  'client_address_street1',
  'client_address_street2',
  'invoice_jurisdiction',
  'tax_category',
  'tax_exemption_id',
  'tax_id',
] as const

const source = 'outside the specification: shapes that official SDKs read'

export const outsideResources = {
  targetingOption: {
    fields: [
      field('name', 'string'),
      ...optionalTexts('id', 'targeting_type', 'targeting_value', 'country_code'),
      field('location_type', 'enum', { values: locationTypes, optional: true }),
      ...optionalTexts('conversation_type', 'event_type', 'genre', 'locale', 'manufacturer', 'number', 'os_type', 'platform', 'start_time'),
      ...optionalTexts('end_time'),
      field('is_global', 'boolean', { optional: true }),
      field('estimated_users', 'integer', { optional: true }),
    ],
    source,
  },
  contentCategory: { fields: [field('id', 'string'), field('name', 'string'), field('iab_categories', 'strings')], source },
  promotableUser: {
    fields: [
      ...texts('id', 'account_id', 'user_id'),
      field('promotable_user_type', 'enum', { values: ['FULL', 'RETWEETS_ONLY'] }),
      ...recordFields,
    ],
    source,
  },
  trackingTag: {
    fields: [...texts('id', 'line_item_id', 'tracking_tag_type', 'tracking_tag_url'), ...recordFields],
    source,
  },
  userSettings: {
    fields: [field('user_id', 'string'), ...nullableTexts(...userSettingsNames), field('subscribed_email_types', 'strings')],
    source,
  },
  taxSettings: { fields: nullableTexts(...taxSettingsNames), source },
  userAccess: { fields: [field('user_id', 'string'), field('permissions', 'strings')], source },
  statistics: { fields: [field('id', 'string'), field('id_data', 'objects')], source },
  activeEntity: {
    fields: [
      field('entity_id', 'string'),
      field('activity_start_time', 'timestamp'),
      field('activity_end_time', 'timestamp'),
      field('placements', 'strings'),
    ],
    source,
  },
  statisticsJob: {
    fields: [
      field('id', 'long'),
      ...texts('id_str', 'account_id'),
      field('status', 'enum', { values: ['PROCESSING', 'SUCCESS', 'FAILED', 'CANCELLED'] }),
      field('url', 'string', { nullable: true }),
      field('entity', 'string'),
      field('entity_ids', 'strings'),
      field('start_time', 'timestamp'),
      field('end_time', 'timestamp'),
      ...texts('granularity', 'placement'),
      field('metric_groups', 'strings'),
      ...nullableTexts('country', 'platform', 'segmentation_type'),
      field('created_at', 'timestamp'),
      field('updated_at', 'timestamp'),
      field('expires_at', 'timestamp', { nullable: true }),
    ],
    source,
  },
  coreUser: {
    fields: [
      field('id', 'long'),
      ...texts('id_str', 'name', 'screen_name'),
      ...nullableTexts('location', 'description', 'url'),
      field('protected', 'boolean'),
      field('verified', 'boolean'),
      field('followers_count', 'integer'),
      field('friends_count', 'integer'),
      field('listed_count', 'integer'),
      field('statuses_count', 'integer'),
      field('created_at', 'string'),
      field('profile_image_url_https', 'string', { nullable: true }),
      field('email', 'string', { nullable: true, optional: true }),
    ],
    source,
  },
  deletedPost: { fields: [field('deleted', 'boolean')], source },
} as const satisfies Readonly<Record<string, Resource>>

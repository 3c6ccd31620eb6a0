/** Resources and values outside the specification, in the shapes that official SDKs read. */
import { locationTypes } from './campaignResources.ts'
import { field, recordFields, type Resource } from './resource.ts'

/** Groups of metrics of statistics. */
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
/** Types of entities that have statistics. */
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
/** Creates a text that may be null or missing. */
const optionalText = <const Name extends string>(name: Name) => field(name, 'string', { nullable: true, optional: true })

export const outsideResources = {
  targetingOption: {
    fields: [
      field('name', 'string'),
      optionalText('id'),
      optionalText('targeting_type'),
      optionalText('targeting_value'),
      optionalText('country_code'),
      field('location_type', 'enum', { values: locationTypes, optional: true }),
      optionalText('conversation_type'),
      optionalText('event_type'),
      optionalText('genre'),
      optionalText('locale'),
      optionalText('manufacturer'),
      optionalText('number'),
      optionalText('os_type'),
      optionalText('platform'),
      optionalText('start_time'),
      optionalText('end_time'),
      field('is_global', 'boolean', { optional: true }),
      field('estimated_users', 'integer', { optional: true }),
    ],
    source,
  },
  contentCategory: { fields: [field('id', 'string'), field('name', 'string'), field('iab_categories', 'strings')], source },
  promotableUser: {
    fields: [
      field('id', 'string'),
      field('account_id', 'string'),
      field('user_id', 'string'),
      field('promotable_user_type', 'enum', { values: ['FULL', 'RETWEETS_ONLY'] }),
      ...recordFields,
    ],
    source,
  },
  trackingTag: {
    fields: [
      field('id', 'string'),
      field('line_item_id', 'string'),
      field('tracking_tag_type', 'string'),
      field('tracking_tag_url', 'string'),
      ...recordFields,
    ],
    source,
  },
  userSettings: {
    fields: [
      field('user_id', 'string'),
      ...userSettingsNames.map((name) => field(name, 'string', { nullable: true })),
      field('subscribed_email_types', 'strings'),
    ],
    source,
  },
  taxSettings: { fields: taxSettingsNames.map((name) => field(name, 'string', { nullable: true })), source },
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
      field('id_str', 'string'),
      field('account_id', 'string'),
      field('status', 'enum', { values: ['PROCESSING', 'SUCCESS', 'FAILED', 'CANCELLED'] }),
      field('url', 'string', { nullable: true }),
      field('entity', 'string'),
      field('entity_ids', 'strings'),
      field('start_time', 'timestamp'),
      field('end_time', 'timestamp'),
      field('granularity', 'string'),
      field('placement', 'string'),
      field('metric_groups', 'strings'),
      field('country', 'string', { nullable: true }),
      field('platform', 'string', { nullable: true }),
      field('segmentation_type', 'string', { nullable: true }),
      field('created_at', 'timestamp'),
      field('updated_at', 'timestamp'),
      field('expires_at', 'timestamp', { nullable: true }),
    ],
    source,
  },
  coreUser: {
    fields: [
      field('id', 'long'),
      field('id_str', 'string'),
      field('name', 'string'),
      field('screen_name', 'string'),
      field('location', 'string', { nullable: true }),
      field('description', 'string', { nullable: true }),
      field('url', 'string', { nullable: true }),
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

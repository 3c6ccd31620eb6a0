/** Resources and values of campaigns (spec 2.5, 4.6, 4.8). */
import { field, nullableTexts, recordFields, texts, type Resource } from './resource.ts'

/** Industries of an account (spec 2.5). */
export const industryTypes = [
  'AGENCY',
  'BUSINESS_TO_BUSINESS',
  'ONLINE_SERVICES',
  'EDUCATION',
  'FINANCIAL',
  'HEALTH',
  'GOVERNMENT',
  'MEDIA',
  'MOBILE',
  'RESTAURANT',
  'RETAIL',
  'TECHNOLOGY',
  'TRAVEL',
  'OTHER',
] as const

/** Objectives of line items that the rules of spec 2.5 and 4.6 name. */
export const objectives = [
  'APP_ENGAGEMENTS',
  'APP_INSTALLS',
  'REACH',
  'FOLLOWERS',
  'ENGAGEMENTS',
  'VIDEO_VIEWS',
  'PREROLL_VIEWS',
  'WEBSITE_CLICKS',
] as const

/** Goals of line items (spec 4.6). */
export const goals = [
  'APP_CLICKS',
  'APP_INSTALLS',
  'APP_PURCHASES',
  'ENGAGEMENT',
  'FOLLOWERS',
  'LINK_CLICKS',
  'MAX_REACH',
  'PREROLL',
  'PREROLL_STARTS',
  'REACH_WITH_ENGAGEMENT',
  'VIDEO_VIEW',
  'VIEW_3S_100PCT',
  'VIEW_6S',
  'VIEW_15S',
  'WEBSITE_CONVERSIONS',
] as const

// Values of further fields of line items, campaigns, funding instruments and targeting criteria.
export const bidStrategies = ['AUTO', 'MAX', 'TARGET'] as const
export const payBys = ['APP_CLICK', 'IMPRESSION', 'LINK_CLICK'] as const
export const productTypes = ['MEDIA', 'PROMOTED_ACCOUNT', 'PROMOTED_TWEETS'] as const
export const budgetOptimizations = ['CAMPAIGN', 'LINE_ITEM'] as const
export const fundingTypes = ['CREDIT_CARD', 'CREDIT_LINE', 'INSERTION_ORDER', 'PARTNER_MANAGED'] as const
export const targetingOperators = ['EQ', 'NE', 'GTE', 'LT'] as const
/** Types of places in targeting criteria and lookups, as official SDKs send them. */
export const locationTypes = ['COUNTRIES', 'REGIONS', 'METROS', 'CITIES', 'POSTAL_CODES'] as const
/** Types of targeting criteria. The service's documentation has them, the specification does not. */
export const targetingTypes = [
  'AGE',
  'APP_STORE_CATEGORY',
  'APP_STORE_CATEGORY_LOOKALIKE',
  'BEHAVIOR',
  'BEHAVIOR_EXPANDED',
  'BROAD_KEYWORD',
  'CAMPAIGN_ENGAGEMENT',
  'CONVERSATION',
  'CUSTOM_AUDIENCE',
  'CUSTOM_AUDIENCE_EXPANDED',
  'DEVICE',
  'ENGAGEMENT_TYPE',
  'EVENT',
  'EXACT_KEYWORD',
  'FLEXIBLE_AUDIENCE',
  'FLEXIBLE_AUDIENCE_EXPANDED',
  'FOLLOWERS_OF_USER',
  'GENDER',
  'INSTALLED_STORE_CATEGORY',
  'INTEREST',
  'LANGUAGE',
  'LIVE_TV_EVENT',
  'LOCATION',
  'NETWORK_ACTIVATION_DURATION',
  'NETWORK_OPERATOR',
  'PHRASE_KEYWORD',
  'PLATFORM',
  'PLATFORM_VERSION',
  'SIMILAR_TO_FOLLOWERS_OF_USER',
  'TAILORED_AUDIENCE',
  'TAILORED_AUDIENCE_EXPANDED',
  'TV_CHANNEL',
  'TV_GENRE',
  'TV_SHOW',
  'UNORDERED_KEYWORD',
  'USER_ENGAGEMENT',
  'WIFI_ONLY',
] as const

/** Targeting types whose value is the id of a custom audience. */
export const audienceTargetingTypes: readonly string[] = [
  'CUSTOM_AUDIENCE',
  'CUSTOM_AUDIENCE_EXPANDED',
  'TAILORED_AUDIENCE',
  'TAILORED_AUDIENCE_EXPANDED',
]
/** Types of entities that have a history (spec 4.5). */
export const historyEntities = ['CAMPAIGN', 'LINE_ITEM', 'PROMOTED_TWEET', 'TARGETING_CRITERIA', 'PROMOTED_ACCOUNT'] as const

/** Features that the filter `feature_keys` of a list accepts (spec 4.5). */
export const listedFeatures = ['REACH_AND_FREQUENCY_ANALYTICS', 'REACH_FREQUENCY_CAP', 'WEBSITE_CLICKS_CPM_BILLING'] as const

/** Features that the service's own sandbox can add to an account (spec 4.5). */
export const accountFeatures = [
  'AGE_TARGETING',
  'ALLOW_SKIPPABLE_VIDEOS_FOR_PREROLL_VIEWS_OBJECTIVE',
  'AWARENESS_OBJECTIVE',
  'BRAND_TPN',
  'CHARGE_FOR_GOOD_CLICK',
  'CONVERSATION_CARD',
  'CONVERSATION_CARD_FOUR_OPTIONS',
  'CONVERSATION_CARD_UNLOCK',
  'CPI_CHARGING',
  'DIRECT_MESSAGE_CARD',
  'DR_TAP',
  'ENGAGER_RETARGETING',
  'EVENT_TARGETING',
  'INSTALLED_APP_CATEGORY_TARGETING',
  'MOBILE_CONVERSION_TRANSACTION_VALUE',
  'OPTIMIZED_ACTION_BIDDING',
  'REACH_AND_FREQUENCY_ANALYTICS',
  'REACH_FREQUENCY_CAP',
  'VALIDATED_AGE_TARGETING',
  'VIDEO_VIEWS_MIDROLL_OBJECTIVE',
  'PREROLL_VIEWS_OBJECTIVE',
  'VIDEO_APP_DOWNLOAD_CARD',
] as const

const nullable = { nullable: true } as const
const nullableAmount = <const Name extends string>(name: Name) => field(name, 'long', nullable)
const notes = 'docs/spec-notes.md#campaigns-and-line-items'
const promotionNotes = 'docs/spec-notes.md#promotion-and-targeting'

export const campaignResources = {
  account: {
    fields: [
      ...texts('id', 'name'),
      ...nullableTexts('business_name', 'business_id'),
      field('timezone', 'string'),
      field('timezone_switch_at', 'timestamp'),
      field('approval_status', 'string'),
      field('industry_type', 'enum', { values: industryTypes }),
      ...recordFields,
    ],
    source: 'spec 2.5',
  },
  accountApp: {
    fields: [
      ...texts('id', 'app_store_identifier'),
      field('conversion_tracking_enabled', 'boolean'),
      ...nullableTexts('deep_link_pattern'),
      field('os_type', 'string'),
      ...recordFields,
    ],
    source: 'spec 2.5',
  },
  accountHistoryEntry: {
    fields: [
      field('change_by', 'object'),
      field('changes', 'object'),
      field('change_time', 'timestamp'),
      field('entity_id', 'string'),
      field('entity', 'enum', { values: historyEntities }),
      field('entity_data', 'object'),
      field('change_type', 'string'),
    ],
    source: 'spec 2.5',
  },
  businessCategory: { fields: [field('id', 'string'), field('name', 'string'), field('iab_categories', 'strings')], source: 'spec 2.5' },
  curatedCategory: {
    fields: [
      ...texts('id', 'name', 'description'),
      field('country_codes', 'strings'),
      field('publisher_user_ids', 'strings'),
      field('videos_monetized_in_last_thirty_days', 'integer'),
      field('created_at', 'timestamp'),
      field('updated_at', 'timestamp'),
    ],
    source: 'spec 2.5',
  },
  /** Has no fields, because a feature is a plain string. */
  feature: { fields: [], source: 'spec 2.5 account feature' },
  lineItem: {
    fields: [
      field('id', 'string'),
      ...nullableTexts('name'),
      field('campaign_id', 'string'),
      field('objective', 'enum', { values: objectives }),
      field('goal', 'enum', { values: goals }),
      field('product_type', 'enum', { values: productTypes }),
      field('placements', 'strings'),
      field('entity_status', 'enum', { values: ['ACTIVE', 'PAUSED'] }),
      ...nullableTexts('start_time', 'end_time'),
      field('bid_strategy', 'enum', { values: bidStrategies }),
      nullableAmount('bid_amount_local_micro'),
      nullableAmount('total_budget_amount_local_micro'),
      nullableAmount('daily_budget_amount_local_micro'),
      nullableAmount('target_cpa_local_micro'),
      field('pay_by', 'enum', { values: payBys }),
      field('currency', 'string'),
      field('frequency_cap', 'integer', nullable),
      field('duration_in_days', 'integer', nullable),
      field('categories', 'strings'),
      ...nullableTexts('advertiser_user_id', 'advertiser_domain', 'android_app_store_identifier', 'ios_app_store_identifier'),
      ...nullableTexts('audience_expansion', 'primary_web_event_tag'),
      field('standard_delivery', 'boolean', nullable),
      field('automatic_tweet_promotion', 'boolean', nullable),
      field('creative_source', 'string'),
      ...recordFields,
    ],
    source: 'spec 2.5; spec 4.6',
  },
  lineItemCuratedCategory: {
    fields: [field('id', 'string'), field('line_item_id', 'string'), field('curated_category_id', 'string'), ...recordFields],
    source: 'spec 2.5',
  },
  lineItemPlacement: {
    fields: [field('product_type', 'string'), field('placements', 'any')],
    source: 'docs/spec-notes.md#categories-and-placements',
  },
  campaign: {
    fields: [
      ...texts('id', 'name', 'funding_instrument_id'),
      field('entity_status', 'enum', { values: ['ACTIVE', 'PAUSED'] }),
      field('effective_status', 'string'),
      field('servable', 'boolean'),
      field('reasons_not_servable', 'strings'),
      field('budget_optimization', 'enum', { values: budgetOptimizations }),
      nullableAmount('daily_budget_amount_local_micro'),
      nullableAmount('total_budget_amount_local_micro'),
      field('currency', 'string'),
      field('standard_delivery', 'boolean', nullable),
      field('frequency_cap', 'integer', nullable),
      field('duration_in_days', 'integer', nullable),
      ...recordFields,
    ],
    source: notes,
  },
  fundingInstrument: {
    fields: [
      ...texts('id', 'type', 'currency'),
      field('able_to_fund', 'boolean'),
      field('reasons_not_able_to_fund', 'strings'),
      nullableAmount('funded_amount_local_micro'),
      nullableAmount('credit_limit_local_micro'),
      ...nullableTexts('start_time', 'end_time'),
      ...recordFields,
    ],
    source: notes,
  },
  promotedTweet: {
    fields: [
      ...texts('id', 'line_item_id', 'tweet_id'),
      field('entity_status', 'enum', { values: ['ACTIVE', 'PAUSED'] }),
      field('approval_status', 'string'),
      ...recordFields,
    ],
    source: promotionNotes,
  },
  targetingCriterion: {
    fields: [
      ...texts('id', 'line_item_id'),
      ...nullableTexts('name'),
      ...texts('targeting_type', 'targeting_value'),
      field('operator_type', 'enum', { values: targetingOperators }),
      field('location_type', 'string', { optional: true }),
      field('custom_audience_expansion', 'boolean', { optional: true }),
      field('tailored_audience_expansion', 'boolean', { optional: true }),
      field('tailored_audience_type', 'string', { optional: true }),
      ...recordFields,
    ],
    source: promotionNotes,
  },
} as const satisfies Readonly<Record<string, Resource>>

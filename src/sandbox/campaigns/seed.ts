import { addRecords, recordsOfAccount } from '../accountRecords.ts'
import { FIRST_DAY, FIXED_ACCOUNT, FIXED_AUDIENCE, FIXED_USER, SECOND_ACCOUNT } from '../firstIds.ts'
import {
  lineItemDefaults,
  type Campaign,
  type CampaignsState,
  type FundingInstrument,
  type HistoryEntry,
  type LineItem,
  type StatisticsQuery,
} from './state.ts'
import { fileContent } from './statistics.ts'

const created = { created_at: FIRST_DAY, updated_at: FIRST_DAY, deleted: false }

/** Creates the first state of the campaigns area, with records that reads can return (docs/sandbox.md#initial-data). */
export function createCampaignsState(): CampaignsState {
  const state: CampaignsState = {
    apps: new Map(),
    funding: new Map(),
    campaigns: new Map(),
    lineItems: new Map(),
    promotedTweets: new Map(),
    targeting: new Map(),
    lineItemCategories: new Map(),
    features: new Map([
      // No endpoint adds SHARE_AUDIENCE_OUTSIDE_BUSINESS and PROMOTED_MEDIA_POLLS, which some calls need (spec 5 rule 7).
      [
        FIXED_ACCOUNT,
        [
          'REACH_AND_FREQUENCY_ANALYTICS',
          'REACH_FREQUENCY_CAP',
          'PREROLL_VIEWS_OBJECTIVE',
          'VALIDATED_AGE_TARGETING',
          'SHARE_AUDIENCE_OUTSIDE_BUSINESS',
        ],
      ],
      [SECOND_ACCOUNT, ['PROMOTED_MEDIA_POLLS', 'WEBSITE_CLICKS_CPM_BILLING']],
    ]),
    history: new Map(),
    trackingTags: new Map(),
    settings: new Map(),
    jobs: new Map(),
  }
  addRecords(state.funding, FIXED_ACCOUNT, [fundingInstrument('lygyi')])
  addRecords(state.funding, SECOND_ACCOUNT, [fundingInstrument('lygyj')])
  addApps(state)
  addRecords(state.campaigns, FIXED_ACCOUNT, initialCampaigns())
  addRecords(state.lineItems, FIXED_ACCOUNT, initialLineItems())
  addLineItemChildren(state)
  addFinishedJob(state)
  addHistory(state)
  return state
}

function fundingInstrument(id: string): FundingInstrument {
  return {
    id,
    type: 'CREDIT_LINE',
    currency: 'USD',
    able_to_fund: true,
    reasons_not_able_to_fund: [],
    funded_amount_local_micro: 50_000_000_000n,
    credit_limit_local_micro: null,
    start_time: FIRST_DAY,
    end_time: null,
    ...created,
  }
}

function addApps(state: CampaignsState): void {
  addRecords(state.apps, FIXED_ACCOUNT, [
    {
      id: 'app1a',
      app_store_identifier: 'com.example.mugs',
      conversion_tracking_enabled: true,
      deep_link_pattern: null,
      os_type: 'Android',
      ...created,
    },
    {
      id: 'app1b',
      app_store_identifier: '333903271',
      conversion_tracking_enabled: false,
      deep_link_pattern: 'mugs://',
      os_type: 'iOS',
      ...created,
    },
  ])
}

function initialCampaigns(): Campaign[] {
  const shared = {
    funding_instrument_id: 'lygyi',
    entity_status: 'ACTIVE',
    currency: 'USD',
    standard_delivery: null,
    frequency_cap: null,
    duration_in_days: null,
    ...created,
  }
  return [
    {
      id: '8wku2',
      name: 'Spring mugs',
      budget_optimization: 'LINE_ITEM',
      daily_budget_amount_local_micro: null,
      total_budget_amount_local_micro: null,
      ...shared,
    },
    {
      id: '8wku3',
      name: 'Brand',
      budget_optimization: 'CAMPAIGN',
      daily_budget_amount_local_micro: 20_000_000n,
      total_budget_amount_local_micro: 900_000_000n,
      ...shared,
    },
  ]
}

/** Returns line items of every objective. Tests may delete `9cqi1` and `9cqi2` (docs/sandbox.md#initial-data). */
function initialLineItems(): LineItem[] {
  const shared: Omit<LineItem, 'id' | 'name' | 'objective' | 'goal'> = {
    campaign_id: '8wku2',
    product_type: 'PROMOTED_TWEETS',
    placements: ['ALL_ON_SERVICE'],
    entity_status: 'ACTIVE',
    start_time: FIRST_DAY,
    end_time: '2036-01-01T00:00:00Z',
    bid_strategy: 'AUTO',
    bid_amount_local_micro: null,
    total_budget_amount_local_micro: 500_000_000n,
    daily_budget_amount_local_micro: 5_000_000n,
    target_cpa_local_micro: null,
    pay_by: 'IMPRESSION',
    currency: 'USD',
    ...lineItemDefaults,
    ...created,
  }
  return [
    { ...shared, id: '9cqi0', name: 'Mugs, website clicks', objective: 'WEBSITE_CLICKS', goal: 'LINK_CLICKS' },
    { ...shared, id: '9cqi1', name: 'Mugs, engagements', objective: 'ENGAGEMENTS', goal: 'ENGAGEMENT' },
    { ...shared, id: '9cqi2', name: 'Mugs, paused', objective: 'ENGAGEMENTS', goal: 'ENGAGEMENT', entity_status: 'PAUSED' },
    {
      ...shared,
      id: '9cqi3',
      name: 'Film, pre-roll',
      objective: 'PREROLL_VIEWS',
      goal: 'PREROLL',
      product_type: 'MEDIA',
      categories: ['IAB8'],
    },
    {
      ...shared,
      id: '9cqi4',
      name: 'App installs',
      objective: 'APP_INSTALLS',
      goal: 'APP_INSTALLS',
      pay_by: 'APP_CLICK',
      android_app_store_identifier: 'com.example.mugs',
    },
    {
      ...shared,
      id: '9cqi5',
      name: 'App engagements',
      objective: 'APP_ENGAGEMENTS',
      goal: 'APP_CLICKS',
      pay_by: 'APP_CLICK',
      ios_app_store_identifier: '333903271',
    },
    { ...shared, id: '9cqi6', name: 'Reach', objective: 'REACH', goal: 'MAX_REACH', frequency_cap: 5, duration_in_days: 7 },
    { ...shared, id: '9cqi7', name: 'Followers', objective: 'FOLLOWERS', goal: 'FOLLOWERS', product_type: 'PROMOTED_ACCOUNT' },
    { ...shared, id: '9cqi8', name: 'Video views', objective: 'VIDEO_VIEWS', goal: 'VIEW_6S' },
    {
      ...shared,
      id: '9cqi9',
      name: 'Publisher network',
      objective: 'WEBSITE_CLICKS',
      goal: 'LINK_CLICKS',
      placements: ['PUBLISHER_NETWORK'],
      advertiser_domain: 'shop.example',
      categories: ['IAB10'],
    },
    {
      ...shared,
      id: '9cqia',
      name: 'Brand reach',
      objective: 'REACH',
      goal: 'MAX_REACH',
      campaign_id: '8wku3',
      daily_budget_amount_local_micro: null,
      total_budget_amount_local_micro: null,
    },
  ]
}

/** Adds records that belong to line items: promoted tweets, targeting criteria, a curated category and a tracking tag. */
function addLineItemChildren(state: CampaignsState): void {
  const promoted = { entity_status: 'ACTIVE', approval_status: 'ACCEPTED', ...created }
  addRecords(state.promotedTweets, FIXED_ACCOUNT, [
    { id: '1efwlo', line_item_id: '9cqi0', tweet_id: '1166476031668015104', ...promoted },
    { id: '1efwlp', line_item_id: '9cqi1', tweet_id: '1166476031668015105', ...promoted },
  ])
  const audience = {
    name: null,
    targeting_type: 'CUSTOM_AUDIENCE',
    targeting_value: FIXED_AUDIENCE,
    operator_type: 'EQ',
    ...created,
  }
  addRecords(state.targeting, FIXED_ACCOUNT, [
    {
      id: '2kzxf',
      line_item_id: '9cqi0',
      name: 'United States',
      targeting_type: 'LOCATION',
      targeting_value: '96683cc9126741d1',
      operator_type: 'EQ',
      ...created,
    },
    { id: '2kzxg', line_item_id: '9cqi0', ...audience },
    { id: '2kzxh', line_item_id: '9cqi2', ...audience },
  ])
  addRecords(state.lineItemCategories, FIXED_ACCOUNT, [{ id: 'yav', line_item_id: '9cqi3', curated_category_id: 'b0xt', ...created }])
  addRecords(state.trackingTags, FIXED_ACCOUNT, [
    {
      id: '7035',
      line_item_id: '9cqi0',
      tracking_tag_type: 'IMPRESSION_TAG',
      tracking_tag_url: 'https://tags.example.com/impression?campaign=mugs',
      ...created,
    },
  ])
}

/** Adds a finished statistics job created one day after `FIRST_DAY`. A file expires after two days, so this one has expired. */
function addFinishedJob(state: CampaignsState): void {
  const start = Date.parse(FIRST_DAY)
  const end = start + 86_400_000
  const query: StatisticsQuery = {
    entity: 'LINE_ITEM',
    entity_ids: ['9cqi0'],
    start,
    end,
    granularity: 'DAY',
    metric_groups: ['ENGAGEMENT'],
    placement: 'ALL_ON_SERVICE',
  }
  state.jobs.set('7001', {
    id: '7001',
    account_id: FIXED_ACCOUNT,
    ...query,
    country: null,
    platform: null,
    segmentation_type: null,
    file: '6d7567732d7765627369746520636c69',
    createdAt: end,
    content: fileContent(state, FIXED_ACCOUNT, query, end),
    cancelled: false,
  })
}

function addHistory(state: CampaignsState): void {
  const by = { user_id: FIXED_USER, platform: 'Ads API' }
  const tables = {
    CAMPAIGN: state.campaigns,
    LINE_ITEM: state.lineItems,
    PROMOTED_TWEET: state.promotedTweets,
    TARGETING_CRITERIA: state.targeting,
  }
  const entries = Object.entries(tables).flatMap(([entity, table]) =>
    Array.from(recordsOfAccount<{ readonly id: string }>(table, FIXED_ACCOUNT).values(), (one): HistoryEntry => ({
      change_by: by,
      changes: {},
      change_time: FIRST_DAY,
      entity_id: one.id,
      entity,
      entity_data: { ...one },
      change_type: 'CREATE',
    })),
  )
  state.history.set(FIXED_ACCOUNT, entries)
}

/** Creates the first state of the campaigns area, with records that reads can return, and adds the second account. */
import { recordsOfAccount } from '../accountRecords.ts'
import type { World } from '../area.ts'
import { FIRST_DAY, FIXED_ACCOUNT, FIXED_AUDIENCE, FIXED_USER } from '../firstIds.ts'
import { unsetFields, type CampaignsState, type LineItem } from './state.ts'

/** Second account of the first user. It has the feature of media polls, which no endpoint grants (spec 5 rule 7). */
export const SECOND_ACCOUNT = '18ce55media'

/** Creates the first state of the area. Adds the second account to `world`. */
export function createCampaigns(world: World): CampaignsState {
  const state: CampaignsState = {
    apps: new Map(),
    funding: new Map(),
    campaigns: new Map(),
    lineItems: new Map(),
    promotedTweets: new Map(),
    targeting: new Map(),
    lineItemCategories: new Map(),
    features: new Map(),
    history: new Map(),
    trackingTags: new Map(),
    settings: new Map(),
    jobs: new Map(),
  }
  const at = FIRST_DAY
  const stamps = { created_at: at, updated_at: at, deleted: false }
  addSecondAccount(world, at)
  for (const [account, funding] of [
    [FIXED_ACCOUNT, 'lygyi'],
    [SECOND_ACCOUNT, 'lygyj'],
  ] as const) {
    recordsOfAccount(state.funding, account).set(funding, {
      id: funding,
      type: 'CREDIT_LINE',
      currency: 'USD',
      able_to_fund: true,
      reasons_not_able_to_fund: [],
      funded_amount_local_micro: 50_000_000_000n,
      credit_limit_local_micro: null,
      start_time: at,
      end_time: null,
      ...stamps,
    })
  }
  state.features.set(FIXED_ACCOUNT, [
    'REACH_AND_FREQUENCY_ANALYTICS',
    'REACH_FREQUENCY_CAP',
    'PREROLL_VIEWS_OBJECTIVE',
    'VALIDATED_AGE_TARGETING',
  ])
  state.features.set(SECOND_ACCOUNT, ['PROMOTED_MEDIA_POLLS', 'WEBSITE_CLICKS_CPM_BILLING'])
  const apps = recordsOfAccount(state.apps, FIXED_ACCOUNT)
  apps.set('app1a', {
    id: 'app1a',
    app_store_identifier: 'com.example.mugs',
    conversion_tracking_enabled: true,
    deep_link_pattern: null,
    os_type: 'Android',
    ...stamps,
  })
  apps.set('app1b', {
    id: 'app1b',
    app_store_identifier: '333903271',
    conversion_tracking_enabled: false,
    deep_link_pattern: 'mugs://',
    os_type: 'iOS',
    ...stamps,
  })

  const campaigns = recordsOfAccount(state.campaigns, FIXED_ACCOUNT)
  const campaign = {
    funding_instrument_id: 'lygyi',
    entity_status: 'ACTIVE',
    currency: 'USD',
    standard_delivery: null,
    frequency_cap: null,
    duration_in_days: null,
    ...stamps,
  }
  campaigns.set('8wku2', {
    id: '8wku2',
    name: 'Spring mugs',
    budget_optimization: 'LINE_ITEM',
    daily_budget_amount_local_micro: null,
    total_budget_amount_local_micro: null,
    ...campaign,
  })
  campaigns.set('8wku3', {
    id: '8wku3',
    name: 'Brand',
    budget_optimization: 'CAMPAIGN',
    daily_budget_amount_local_micro: 20_000_000n,
    total_budget_amount_local_micro: 900_000_000n,
    ...campaign,
  })

  const items = recordsOfAccount(state.lineItems, FIXED_ACCOUNT)
  for (const item of lineItems(stamps)) items.set(item.id, item)

  const promoted = recordsOfAccount(state.promotedTweets, FIXED_ACCOUNT)
  promoted.set('1efwlo', {
    id: '1efwlo',
    line_item_id: '9cqi0',
    tweet_id: '1166476031668015104',
    entity_status: 'ACTIVE',
    approval_status: 'ACCEPTED',
    ...stamps,
  })
  promoted.set('1efwlp', {
    id: '1efwlp',
    line_item_id: '9cqi1',
    tweet_id: '1166476031668015105',
    entity_status: 'ACTIVE',
    approval_status: 'ACCEPTED',
    ...stamps,
  })

  const targeting = recordsOfAccount(state.targeting, FIXED_ACCOUNT)
  targeting.set('2kzxf', {
    id: '2kzxf',
    line_item_id: '9cqi0',
    name: 'United States',
    targeting_type: 'LOCATION',
    targeting_value: '96683cc9126741d1',
    operator_type: 'EQ',
    ...stamps,
  })
  targeting.set('2kzxg', {
    id: '2kzxg',
    line_item_id: '9cqi0',
    name: null,
    targeting_type: 'CUSTOM_AUDIENCE',
    targeting_value: FIXED_AUDIENCE,
    operator_type: 'EQ',
    ...stamps,
  })
  targeting.set('2kzxh', {
    id: '2kzxh',
    line_item_id: '9cqi2',
    name: null,
    targeting_type: 'CUSTOM_AUDIENCE',
    targeting_value: FIXED_AUDIENCE,
    operator_type: 'EQ',
    ...stamps,
  })

  recordsOfAccount(state.lineItemCategories, FIXED_ACCOUNT).set('yav', {
    id: 'yav',
    line_item_id: '9cqi3',
    curated_category_id: 'b0xt',
    ...stamps,
  })

  recordsOfAccount(state.trackingTags, FIXED_ACCOUNT).set('7035', {
    id: '7035',
    line_item_id: '9cqi0',
    tracking_tag_type: 'IMPRESSION_TAG',
    tracking_tag_url: 'https://tags.example.com/impression?campaign=mugs',
    ...stamps,
  })

  // A finished job. Its file has expired.
  const start = Date.parse(FIRST_DAY)
  state.jobs.set('7001', {
    id: '7001',
    account_id: FIXED_ACCOUNT,
    entity: 'LINE_ITEM',
    entity_ids: ['9cqi0'],
    start,
    end: start + 86_400_000,
    granularity: 'DAY',
    metric_groups: ['ENGAGEMENT'],
    placement: 'ALL_ON_SERVICE',
    country: null,
    platform: null,
    segmentation_type: null,
    file: '6d7567732d7765627369746520636c69',
    createdAt: start + 86_400_000,
    cancelled: false,
  })

  const by = { user_id: FIXED_USER, platform: 'Ads API' }
  const created = { change_by: by, changes: {}, change_time: at, change_type: 'CREATE' }
  state.history.set(FIXED_ACCOUNT, [
    ...[...campaigns.values()].map((one) => ({ ...created, entity: 'CAMPAIGN', entity_id: one.id, entity_data: { ...one } })),
    ...[...items.values()].map((one) => ({ ...created, entity: 'LINE_ITEM', entity_id: one.id, entity_data: { ...one } })),
    ...[...promoted.values()].map((one) => ({ ...created, entity: 'PROMOTED_TWEET', entity_id: one.id, entity_data: { ...one } })),
    ...[...targeting.values()].map((one) => ({ ...created, entity: 'TARGETING_CRITERIA', entity_id: one.id, entity_data: { ...one } })),
  ])
  return state
}

function addSecondAccount(world: World, at: string): void {
  const first = world.accounts.get(FIXED_ACCOUNT)
  if (first === undefined || world.accounts.has(SECOND_ACCOUNT)) return
  world.accounts.set(SECOND_ACCOUNT, {
    ...first,
    id: SECOND_ACCOUNT,
    name: 'Sandbox media account',
    created_at: at,
    updated_at: at,
    deleted: false,
    userIds: [...first.userIds],
    roles: {},
  })
}

/** Returns line items of each objective. Tests may delete `9cqi1` and `9cqi2` (docs/sandbox.md#initial-data). */
function lineItems(stamps: Pick<LineItem, 'created_at' | 'updated_at' | 'deleted'>): LineItem[] {
  const base: Omit<LineItem, 'id' | 'name' | 'objective' | 'goal'> = {
    campaign_id: '8wku2',
    product_type: 'PROMOTED_TWEETS',
    placements: ['ALL_ON_SERVICE'],
    entity_status: 'ACTIVE',
    start_time: stamps.created_at,
    end_time: '2036-01-01T00:00:00Z',
    bid_strategy: 'AUTO',
    bid_amount_local_micro: null,
    total_budget_amount_local_micro: 500_000_000n,
    daily_budget_amount_local_micro: 5_000_000n,
    target_cpa_local_micro: null,
    pay_by: 'IMPRESSION',
    currency: 'USD',
    ...unsetFields,
    ...stamps,
  }
  return [
    { ...base, id: '9cqi0', name: 'Mugs, website clicks', objective: 'WEBSITE_CLICKS', goal: 'LINK_CLICKS' },
    { ...base, id: '9cqi1', name: 'Mugs, engagements', objective: 'ENGAGEMENTS', goal: 'ENGAGEMENT' },
    { ...base, id: '9cqi2', name: 'Mugs, paused', objective: 'ENGAGEMENTS', goal: 'ENGAGEMENT', entity_status: 'PAUSED' },
    {
      ...base,
      id: '9cqi3',
      name: 'Film, pre-roll',
      objective: 'PREROLL_VIEWS',
      goal: 'PREROLL',
      product_type: 'MEDIA',
      categories: ['IAB8'],
    },
    {
      ...base,
      id: '9cqi4',
      name: 'App installs',
      objective: 'APP_INSTALLS',
      goal: 'APP_INSTALLS',
      pay_by: 'APP_CLICK',
      android_app_store_identifier: 'com.example.mugs',
    },
    {
      ...base,
      id: '9cqi5',
      name: 'App engagements',
      objective: 'APP_ENGAGEMENTS',
      goal: 'APP_CLICKS',
      pay_by: 'APP_CLICK',
      ios_app_store_identifier: '333903271',
    },
    { ...base, id: '9cqi6', name: 'Reach', objective: 'REACH', goal: 'MAX_REACH', frequency_cap: 5, duration_in_days: 7 },
    { ...base, id: '9cqi7', name: 'Followers', objective: 'FOLLOWERS', goal: 'FOLLOWERS', product_type: 'PROMOTED_ACCOUNT' },
    { ...base, id: '9cqi8', name: 'Video views', objective: 'VIDEO_VIEWS', goal: 'VIEW_6S' },
    {
      ...base,
      id: '9cqi9',
      name: 'Publisher network',
      objective: 'WEBSITE_CLICKS',
      goal: 'LINK_CLICKS',
      placements: ['PUBLISHER_NETWORK'],
      advertiser_domain: 'shop.example',
      categories: ['IAB10'],
    },
    {
      ...base,
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

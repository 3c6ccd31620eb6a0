/**
 * State of the campaigns area. Except for statistics jobs, records have the fields of their wire form. Campaigns have further fields in
 * answers. Amounts of money are bigint, in micro units.
 */
import type { AccountRecord, Table } from '../accountRecords.ts'

/** App of an account (spec 2.5). */
export interface AccountApp extends AccountRecord {
  app_store_identifier: string
  conversion_tracking_enabled: boolean
  deep_link_pattern: string | null
  os_type: string
}

/** Funding instrument of campaigns (docs/spec-notes.md#campaigns-and-line-items). */
export interface FundingInstrument extends AccountRecord {
  type: string
  currency: string
  able_to_fund: boolean
  reasons_not_able_to_fund: readonly string[]
  funded_amount_local_micro: bigint | null
  credit_limit_local_micro: bigint | null
  start_time: string | null
  end_time: string | null
}

/** Campaign (docs/spec-notes.md#campaigns-and-line-items). */
export interface Campaign extends AccountRecord {
  name: string
  funding_instrument_id: string
  entity_status: string
  budget_optimization: string
  daily_budget_amount_local_micro: bigint | null
  total_budget_amount_local_micro: bigint | null
  currency: string
  standard_delivery: boolean | null
  frequency_cap: number | null
  duration_in_days: number | null
}

/** Line item of a campaign (spec 2.5, 4.6). */
export interface LineItem extends AccountRecord {
  name: string | null
  campaign_id: string
  objective: string
  goal: string
  product_type: string
  placements: readonly string[]
  entity_status: string
  start_time: string | null
  end_time: string | null
  bid_strategy: string
  bid_amount_local_micro: bigint | null
  total_budget_amount_local_micro: bigint | null
  daily_budget_amount_local_micro: bigint | null
  target_cpa_local_micro: bigint | null
  pay_by: string
  currency: string
  frequency_cap: number | null
  duration_in_days: number | null
  categories: readonly string[]
  advertiser_user_id: string | null
  advertiser_domain: string | null
  android_app_store_identifier: string | null
  ios_app_store_identifier: string | null
  audience_expansion: string | null
  primary_web_event_tag: string | null
  standard_delivery: boolean | null
  automatic_tweet_promotion: boolean | null
  creative_source: string
}

/** Optional fields of a line item with their defaults. */
export const lineItemDefaults = {
  frequency_cap: null,
  duration_in_days: null,
  categories: [],
  advertiser_user_id: null,
  advertiser_domain: null,
  android_app_store_identifier: null,
  ios_app_store_identifier: null,
  audience_expansion: null,
  primary_web_event_tag: null,
  standard_delivery: null,
  automatic_tweet_promotion: null,
  creative_source: 'MANUAL',
} as const satisfies Partial<LineItem>

/** Post that a line item promotes. */
export interface PromotedTweet extends AccountRecord {
  line_item_id: string
  tweet_id: string
  entity_status: string
  approval_status: string
}

export interface TargetingCriterion extends AccountRecord {
  line_item_id: string
  name: string | null
  targeting_type: string
  targeting_value: string
  operator_type: string
  location_type?: string
  custom_audience_expansion?: boolean
  tailored_audience_expansion?: boolean
  tailored_audience_type?: string
}

/** Curated category of a line item (spec 2.5). */
export interface LineItemCategory extends AccountRecord {
  line_item_id: string
  curated_category_id: string
}

export interface TrackingTag extends AccountRecord {
  readonly line_item_id: string
  readonly tracking_tag_type: string
  tracking_tag_url: string
}

/** Parameters that select statistics. */
export interface StatisticsQuery {
  readonly entity: string
  readonly entity_ids: readonly string[]
  /** Period of the statistics, in milliseconds since 1970. */
  readonly start: number
  readonly end: number
  readonly granularity: string
  readonly metric_groups: readonly string[]
  readonly placement: string
}

/** Job that computes statistics into a file. */
export interface StatisticsJob extends StatisticsQuery {
  readonly id: string
  readonly account_id: string
  readonly country: string | null
  readonly platform: string | null
  readonly segmentation_type: string | null
  /** Name of the job's file, without `.json.gz`. */
  readonly file: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Content of the file: JSON, compressed with gzip, as base64. Absent in a state file of an earlier version. */
  readonly content?: string
  cancelled: boolean
  /** Time of the cancellation, milliseconds since 1970. Absent for a job that was not cancelled. */
  cancelledAt?: number
}

/** Entry of the account history (spec 2.5). */
export interface HistoryEntry {
  readonly change_by: { readonly user_id: string; readonly platform: string }
  readonly changes: Readonly<Record<string, unknown>>
  readonly change_time: string
  readonly entity_id: string
  readonly entity: string
  readonly entity_data: unknown
  readonly change_type: string
}

export interface CampaignsState {
  readonly apps: Table<AccountApp>
  readonly funding: Table<FundingInstrument>
  readonly campaigns: Table<Campaign>
  readonly lineItems: Table<LineItem>
  readonly promotedTweets: Table<PromotedTweet>
  readonly targeting: Table<TargetingCriterion>
  readonly lineItemCategories: Table<LineItemCategory>
  /** Granted feature keys by account. */
  readonly features: Map<string, string[]>
  /** Entries by account, oldest first. */
  readonly history: Map<string, HistoryEntry[]>
  readonly trackingTags: Table<TrackingTag>
  /** Changed settings of accounts and users. Key: `ACCOUNT tax` or `ACCOUNT user ID`. */
  readonly settings: Map<string, Record<string, unknown>>
  /** Statistics jobs of all accounts, by id. */
  readonly jobs: Map<string, StatisticsJob>
}

/** Event of the journal: the new features of an account. */
export interface FeaturesChanged {
  readonly kind: 'features'
  readonly account: string
  readonly features: readonly string[]
}

/** Returns the reasons why the campaign cannot serve; an empty list if it can. */
export function reasonsNotServable(state: CampaignsState, accountId: string, campaign: Campaign): string[] {
  const funding = state.funding.get(accountId)?.get(campaign.funding_instrument_id)
  return [
    ...(campaign.deleted ? ['DELETED'] : []),
    ...(campaign.entity_status === 'PAUSED' ? ['PAUSED_BY_ADVERTISER'] : []),
    ...(funding === undefined || funding.deleted || !funding.able_to_fund ? ['FUNDING_PROBLEM'] : []),
  ]
}

/** Returns true if the line item is active, not deleted, and in a campaign that can serve. Ignores its start and end. */
export function isServing(state: CampaignsState, accountId: string, item: LineItem): boolean {
  const campaign = state.campaigns.get(accountId)?.get(item.campaign_id)
  const canServe = campaign !== undefined && reasonsNotServable(state, accountId, campaign).length === 0
  return canServe && !item.deleted && item.entity_status === 'ACTIVE'
}

/** Returns true if `now`, in milliseconds since 1970, is between the start and the end of the line item (spec 4.6). */
export function isWithinFlight({ start_time: start, end_time: end }: LineItem, now: number): boolean {
  return (start === null || Date.parse(start) <= now) && (end === null || now < Date.parse(end))
}

export function countActive(records: ReadonlyMap<string, { readonly deleted: boolean; readonly entity_status: string }>): number {
  return records
    .values()
    .filter((one) => !one.deleted && one.entity_status === 'ACTIVE')
    .toArray().length
}

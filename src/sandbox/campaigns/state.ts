/**
 * State of the campaigns area. Except for statistics jobs, records have the fields of their wire form. Campaigns have further fields in
 * answers. Amounts of money are bigint, in micro units.
 */
import type { Table } from '../accountRecords.ts'
import type { StoredRecord } from '../storedRecord.ts'

export type AccountApp = StoredRecord<'accountApp'>
export type FundingInstrument = StoredRecord<'fundingInstrument'>
/** Campaign without the fields that an answer derives (`campaignWire`). */
export type Campaign = Omit<StoredRecord<'campaign'>, 'effective_status' | 'servable' | 'reasons_not_servable'>
export type LineItem = StoredRecord<'lineItem'>
export type PromotedTweet = StoredRecord<'promotedTweet'>
export type TargetingCriterion = StoredRecord<'targetingCriterion'>
export type LineItemCategory = StoredRecord<'lineItemCuratedCategory'>
export type TrackingTag = StoredRecord<'trackingTag'>

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
  /** Content of the file: JSON, compressed with gzip, as base64. */
  readonly content: string
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

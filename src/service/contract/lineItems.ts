/** Endpoints of line items (spec 4.5, 4.6). */
import type { Endpoint, Rule } from './endpoint.ts'
import { bidStrategies, goals, objectives, payBys, productTypes } from './campaignResources.ts'
import { idFilter, query, sentBySdks, withDeleted, searchableList } from './parameter.ts'
import { recordsOfAccount } from './recordEndpoints.ts'

const notes = 'docs/spec-notes.md#campaigns-and-line-items'
const source = 'spec 4.6'

/** Parameters of creation and update. Amounts are in millionths of a unit of the funding instrument's currency. */
export const lineItemFields = [
  query('advertiser_domain', 'string', { unsettable: true, source: 'spec 4.6: a domain without protocol' }),
  query('advertiser_user_id', 'string', { unsettable: true, source }),
  query('android_app_store_identifier', 'string', { unsettable: true, source }),
  query('ios_app_store_identifier', 'string', { unsettable: true, source: 'spec 4.6: the numeric part' }),
  query('audience_expansion', 'enum', { values: ['BROAD', 'DEFINED', 'EXPANDED'], unsettable: true, source }),
  query('bid_amount_local_micro', 'long', { min: 1, unsettable: true, source: 'spec 4.6: greater than zero' }),
  query('bid_strategy', 'enum', { values: bidStrategies, source }),
  query('categories', 'csv', { unsettable: true, source: 'spec 4.6; spec 2.5 advertiser business category' }),
  query('duration_in_days', 'integer', { values: ['1', '7', '30'], unsettable: true, source: 'spec 4.6: 1, 7 or 30' }),
  query('frequency_cap', 'integer', { min: 1, unsettable: true, source }),
  query('entity_status', 'enum', { values: ['ACTIVE', 'PAUSED'], source }),
  query('goal', 'enum', { values: goals, source }),
  query('name', 'string', { unsettable: true, source }),
  query('pay_by', 'enum', { values: payBys, source }),
  query('total_budget_amount_local_micro', 'long', { min: 1, unsettable: true, source }),
  query('daily_budget_amount_local_micro', 'long', { min: 1, unsettable: true, source }),
  query('primary_web_event_tag', 'string', { unsettable: true, ...sentBySdks }),
  query('standard_delivery', 'boolean', { unsettable: true, ...sentBySdks }),
  query('automatic_tweet_promotion', 'boolean', { unsettable: true, ...sentBySdks }),
  query('target_cpa_local_micro', 'long', { min: 1, unsettable: true, ...sentBySdks }),
] as const

/**
 * Rules of a line item. A rule of kind `other` applies to the line item as it would be after the change. Exception: the rule of `pay_by`
 * compares the change with the stored line item.
 */
const lineItemRules = [
  { kind: 'required-if', names: ['bid_amount_local_micro'], when: { name: 'bid_strategy', is: ['MAX', 'TARGET'] }, source },
  { kind: 'other', text: '`advertiser_domain` and `categories` are required when the placement is PUBLISHER_NETWORK', source },
  { kind: 'other', text: '`advertiser_domain` is a domain without protocol', source },
  { kind: 'other', text: '`advertiser_user_id` only with `objective` PREROLL_VIEWS, by certain client applications', source },
  { kind: 'other', text: 'objectives APP_INSTALLS and APP_ENGAGEMENTS need at least one app store identifier', source },
  { kind: 'other', text: '`bid_strategy` MAX not with objectives REACH and FOLLOWERS; TARGET only with REACH and WEBSITE_CLICKS', source },
  { kind: 'other', text: '`frequency_cap` only with objectives REACH, ENGAGEMENTS, VIDEO_VIEWS, PREROLL_VIEWS', source },
  { kind: 'other', text: '`categories`: one or two business categories with `objective` PREROLL_VIEWS', source: 'spec 2.5' },
  {
    kind: 'other',
    text: '`pay_by` changes only with `objective` APP_INSTALLS; IMPRESSION not with TARGET for the `goal` LINK_CLICKS',
    source,
  },
  {
    kind: 'other',
    text: '`daily_budget_amount_local_micro` at most the total budget, and only where the campaign has budget_optimization LINE_ITEM',
    source,
  },
  { kind: 'other', text: '`end_time` is later than `start_time`', source },
] as const satisfies readonly Rule[]

const lineItems = recordsOfAccount('lineItems', 'line_items', 'line_item_id', 'lineItem')

export const lineItemEndpoints = [
  {
    ...lineItems.list([idFilter('campaign_ids'), idFilter('funding_instrument_ids'), idFilter('line_item_ids'), ...searchableList(notes)]),
    limit: 'core_reads',
    source: notes,
  },
  { ...lineItems.get([withDeleted]), limit: 'core_reads', source: notes },
  {
    ...lineItems.create([
      query('campaign_id', 'string', { required: true, source: notes }),
      query('objective', 'enum', { required: true, values: objectives, source: notes }),
      query('placements', 'csv', { required: true, source: notes }),
      query('product_type', 'enum', { required: true, values: productTypes, source: notes }),
      query('start_time', 'timestamp', { required: true, source: notes }),
      query('end_time', 'timestamp', { required: true, source: notes }),
      ...lineItemFields,
    ]),
    rules: [
      ...lineItemRules,
      {
        kind: 'other',
        text: 'at most 100 line items in a campaign, and 256 active ones in an account',
        source: notes,
      },
    ],
    source: notes,
  },
  {
    ...lineItems.update([
      query('start_time', 'timestamp', { unsettable: true, source }),
      query('end_time', 'timestamp', { unsettable: true, source }),
      ...lineItemFields,
    ]),
    rules: lineItemRules,
    source: 'spec 4.5; spec 4.6',
  },
  {
    ...lineItems.delete,
    rules: [
      {
        kind: 'other',
        text: 'not reversible; a second DELETE is answered with 404; its promoted tweets are not deleted',
        source: 'spec 3.3; spec 7',
      },
    ],
    source: 'spec 4.5; spec 3.3',
  },
] as const satisfies readonly Endpoint[]

/** Defaults and rules of line items (spec 2.5, 4.6). The rules check a line item as the call would store it. */
import { invalidParameter, missingParameter, type AdsError } from '../refusal.ts'
import { businessCategories } from './categoryLists.ts'
import type { Campaign, LineItem } from './state.ts'

/** Objectives that may have a frequency cap. */
const CAPPED_OBJECTIVES = ['REACH', 'ENGAGEMENTS', 'VIDEO_VIEWS', 'PREROLL_VIEWS']

const DEFAULT_GOAL: Readonly<Record<string, string>> = {
  REACH: 'MAX_REACH',
  FOLLOWERS: 'FOLLOWERS',
  ENGAGEMENTS: 'ENGAGEMENT',
  VIDEO_VIEWS: 'VIDEO_VIEW',
  PREROLL_VIEWS: 'PREROLL',
  APP_INSTALLS: 'APP_INSTALLS',
  APP_ENGAGEMENTS: 'APP_CLICKS',
  WEBSITE_CLICKS: 'LINK_CLICKS',
}

/** Returns the default of `goal` for the objective (spec 4.6; the values are assumed). */
export function defaultGoal(objective: string): string {
  return DEFAULT_GOAL[objective] ?? 'ENGAGEMENT'
}

/** Returns the default of `pay_by` for the objective, goal and bid strategy (spec 4.6; the values are assumed). */
export function defaultPayBy(item: { readonly objective: string; readonly goal: string; readonly bid_strategy: string }): string {
  if (item.objective === 'APP_INSTALLS' || item.objective === 'APP_ENGAGEMENTS') return 'APP_CLICK'
  return item.goal === 'LINK_CLICKS' && item.bid_strategy === 'TARGET' ? 'LINK_CLICK' : 'IMPRESSION'
}

/**
 * Returns an error for each rule that the line item `next` breaks. `campaign`: its campaign. `changedFields`: names of the fields that the
 * call sets to another value. Some fields, such as `pay_by`, must not change in some line items.
 */
export function checkLineItem(next: LineItem, campaign: Campaign | undefined, changedFields: ReadonlySet<string>): AdsError[] {
  const errors: AdsError[] = []
  const addInvalid = (name: keyof LineItem, expected: string) => errors.push(invalidParameter(name, expected, next[name]))
  const objective = next.objective
  if (next.placements.includes('PUBLISHER_NETWORK')) {
    if (next.advertiser_domain === null) errors.push(missingParameter('advertiser_domain'))
    if (next.categories.length === 0) errors.push(missingParameter('categories'))
  }
  if (next.advertiser_domain !== null && !/^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]+$/i.test(next.advertiser_domain))
    addInvalid('advertiser_domain', 'a domain without protocol')
  if (next.advertiser_user_id !== null && objective !== 'PREROLL_VIEWS')
    addInvalid('advertiser_user_id', 'no value unless the objective is PREROLL_VIEWS')
  if (next.ios_app_store_identifier !== null && !/^\d+$/.test(next.ios_app_store_identifier))
    addInvalid('ios_app_store_identifier', 'the numeric part of the store identifier')
  if (
    (objective === 'APP_INSTALLS' || objective === 'APP_ENGAGEMENTS') &&
    next.android_app_store_identifier === null &&
    next.ios_app_store_identifier === null
  )
    errors.push({
      ...missingParameter('android_app_store_identifier'),
      message: 'one of "android_app_store_identifier", "ios_app_store_identifier" is required',
    })
  checkBid(next, changedFields, errors)
  if (next.frequency_cap !== null && !CAPPED_OBJECTIVES.includes(objective))
    addInvalid('frequency_cap', `no value unless the objective is one of ${CAPPED_OBJECTIVES.join(', ')}`)
  checkBudget(next, campaign, changedFields, errors)
  if (next.start_time !== null && next.end_time !== null && Date.parse(next.end_time) <= Date.parse(next.start_time))
    errors.push({ ...invalidParameter('end_time', 'a time later than start_time', next.end_time), code: 'INVALID_TIME_WINDOW' })
  if (next.placements.length === 0 || !next.placements.every((placement) => /^[A-Z][A-Z0-9_]*$/.test(placement)))
    errors.push({ ...invalidParameter('placements', 'placements', next.placements.join(',')), code: 'INVALID_PLACEMENT_TYPE' })
  checkCategories(next, errors)
  return errors
}

function checkBid(next: LineItem, changedFields: ReadonlySet<string>, errors: AdsError[]): void {
  const { objective, bid_strategy: strategy } = next
  const addInvalid = (name: 'bid_strategy' | 'pay_by', expected: string) => errors.push(invalidParameter(name, expected, next[name]))
  if (strategy !== 'AUTO' && next.bid_amount_local_micro === null) errors.push(missingParameter('bid_amount_local_micro'))
  if (strategy === 'MAX' && (objective === 'REACH' || objective === 'FOLLOWERS'))
    addInvalid('bid_strategy', `AUTO${objective === 'REACH' ? ' or TARGET' : ''} with objective ${objective}`)
  if (strategy === 'TARGET' && objective !== 'REACH' && objective !== 'WEBSITE_CLICKS')
    addInvalid('bid_strategy', 'TARGET only with objective REACH or WEBSITE_CLICKS')
  if (next.pay_by === 'IMPRESSION' && strategy === 'TARGET' && next.goal === 'LINK_CLICKS')
    addInvalid('pay_by', 'another unit than IMPRESSION with bid strategy TARGET for the LINK_CLICKS goal')
  else if (changedFields.has('pay_by') && objective !== 'APP_INSTALLS')
    addInvalid('pay_by', 'the default: it changes only with objective APP_INSTALLS')
}

function checkBudget(next: LineItem, campaign: Campaign | undefined, changedFields: ReadonlySet<string>, errors: AdsError[]): void {
  const daily = next.daily_budget_amount_local_micro
  const total = next.total_budget_amount_local_micro
  if (daily === null) return
  if (total !== null && daily > total)
    errors.push(invalidParameter('daily_budget_amount_local_micro', 'at most total_budget_amount_local_micro', daily))
  if (changedFields.has('daily_budget_amount_local_micro') && campaign !== undefined && campaign.budget_optimization !== 'LINE_ITEM')
    errors.push(
      invalidParameter('daily_budget_amount_local_micro', 'no value unless the campaign has budget_optimization LINE_ITEM', daily),
    )
}

/** Checks that the IAB codes are known. With PREROLL_VIEWS, they must belong to one or two business categories (spec 2.5). */
function checkCategories(next: LineItem, errors: AdsError[]): void {
  const owners = new Set<string>()
  for (const code of next.categories) {
    const owner = businessCategories.find((category) => category.iab_categories.includes(code))
    if (owner === undefined)
      errors.push({ ...invalidParameter('categories', 'a code of advertiser_business_categories', code), code: 'INVALID_IAB_CATEGORY' })
    else owners.add(owner.id)
  }
  if (next.objective !== 'PREROLL_VIEWS') return
  if (next.categories.length === 0) errors.push(missingParameter('categories'))
  else if (owners.size > 2) errors.push(invalidParameter('categories', 'one or two business categories', next.categories.join(',')))
}

/** Handles lookups of targeting values, content categories and promotable users. Official SDKs call them; the specification has none. */
import { accountOf, type Call, type Handler } from '../area.ts'
import { listReply, matchesPrefix } from '../lists.ts'
import { listParam, passesFilter } from '../params.ts'
import { notFound, ok, okWholeList } from '../refusal.ts'
import { businessCategories } from './categoryLists.ts'
import type { CampaignsState } from './state.ts'
import { targetingLists, type TargetingOption } from './targetingLists.ts'

/** Parameters with one value that select options, each with the field that it compares. */
const FIELD_OF_PARAMETER: Readonly<Record<string, string>> = {
  country_code: 'country_code',
  conversation_type: 'conversation_type',
  location_type: 'location_type',
  os_type: 'os_type',
  tv_market_locale: 'locale',
}

export const lookupHandlers: Readonly<Record<string, Handler<CampaignsState>>> = {
  ...Object.fromEntries(
    Object.entries(targetingLists).map(([name, options]): [string, Handler<CampaignsState>] => [
      `targetingLookups.${name}`,
      (call) =>
        listReply(
          call,
          options.filter((option) => isSelected(call, option)),
          { idOf: (option) => String(option['targeting_value'] ?? option['id'] ?? option['locale']) },
        ),
    ]),
  ),
  'contentCategories.list': () => okWholeList(businessCategories),
  'promotableUsers.list': (call) => {
    const ids = listParam(call, 'promotable_user_ids')
    return listReply(
      call,
      promotableUsers(call).filter(({ id }) => passesFilter(ids, id)),
    )
  },
  'promotableUsers.get': (call) => {
    const id = String(call.params['promotable_user_id'])
    const user = promotableUsers(call).find((one) => one.id === id)
    if (user === undefined) throw notFound('PROMOTABLE_USER_NOT_FOUND', 'promotable_user_id', id)
    return ok(user)
  },
}

function isSelected(call: Call<unknown>, option: TargetingOption): boolean {
  const passesFields = Object.entries(FIELD_OF_PARAMETER).every(
    ([parameter, field]) =>
      call.params[parameter] === undefined || String(option[field] ?? '').toUpperCase() === String(call.params[parameter]).toUpperCase(),
  )
  return (
    passesFields &&
    matchesPrefix(option.name, call.params['q']) &&
    passesFilter(listParam(call, 'ids'), String(option['id'])) &&
    passesFilter(listParam(call, 'event_types'), String(option['event_type'])) &&
    passesFilter(listParam(call, 'country_codes'), String(option['country_code']))
  )
}

/** Returns the promotable users of the account: all users with access to it. */
function promotableUsers(call: Call<unknown>): readonly { readonly id: string; readonly [field: string]: unknown }[] {
  const account = accountOf(call)
  return account.userIds.map((userId) => ({
    id: BigInt(userId).toString(36),
    account_id: account.id,
    user_id: userId,
    promotable_user_type: 'FULL',
    created_at: account.created_at,
    updated_at: account.created_at,
    deleted: false,
  }))
}

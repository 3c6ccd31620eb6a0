/** Accounts, their apps, history and features, and the categories (spec 4.5). */
import { deleteRecord, recordsOf, stamp } from '../accountRecords.ts'
import type { Call, Handler, SandboxAccount } from '../area.ts'
import { listReply, matchesPrefix } from '../lists.ts'
import { listParam, passes } from '../params.ts'
import { adsRefusal, adsRefusals, invalidParameter, notFound, ok } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import { businessCategories, curatedCategories, placements } from './categories.ts'
import { findChild, isReachable, liveLineItem } from './parents.ts'
import type { CampaignsState, LineItemCategory } from './state.ts'

export const accountHandlers: Readonly<Record<string, Handler<CampaignsState>>> = {
  'accounts.list': (call) => {
    const ids = listParam(call, 'account_ids')
    const mine = [...call.world.accounts.values()].filter(
      (account) =>
        account.userIds.includes(call.user?.id ?? '') && passes(ids, account.id) && matchesPrefix(account.name, call.params['q']),
    )
    return listReply(call, mine, { render: toWire })
  },
  'accounts.get': (call) => ok(toWire(liveAccount(call))),
  'accounts.create': (call) => {
    const id = call.world.newShortId()
    const { created_at, updated_at, deleted } = stamp(call)
    const account: SandboxAccount = {
      id,
      name: `Sandbox account ${id}`,
      business_name: null,
      business_id: null,
      timezone: 'UTC',
      timezone_switch_at: created_at,
      approval_status: 'ACCEPTED',
      industry_type: 'OTHER',
      created_at,
      updated_at,
      deleted,
      userIds: [call.user?.id ?? ''],
      currency: 'USD',
    }
    call.world.accounts.set(id, account)
    return { kind: 'ads', data: [toWire(account)], nextCursor: null }
  },
  'accounts.update': (call) => {
    const account = liveAccount(call)
    const { name, industry_type: industry } = call.params
    if (typeof name === 'string') account.name = name
    if (typeof industry === 'string') account.industry_type = industry
    account.updated_at = isoSeconds(call.now)
    return ok(toWire(account))
  },
  'accounts.delete': (call) => {
    const account = liveAccount(call)
    account.deleted = true
    account.updated_at = isoSeconds(call.now)
    return ok(toWire(account))
  },
  'accountApps.list': (call) => listReply(call, recordsOf(call, call.state.apps).values()),
  'accountHistory.list': (call) => {
    const [start, end] = [String(call.params['start_time']), String(call.params['end_time'])]
    if (end <= start)
      throw adsRefusals([{ ...invalidParameter('end_time', 'a time later than start_time', end), code: 'INVALID_TIME_WINDOW' }])
    const user = call.params['user_id']
    const entries = (call.state.history.get(call.account!.id) ?? []).filter(
      (entry) =>
        entry.entity === call.params['entity_type'] &&
        entry.entity_id === call.params['entity_id'] &&
        entry.change_time >= start &&
        entry.change_time < end &&
        (user === undefined || entry.change_by.user_id === String(user)),
    )
    const places = new Map(entries.map((entry, index) => [entry, String(index)]))
    return listReply(call, entries, { idOf: (entry) => places.get(entry) ?? '' })
  },
  'businessCategories.list': () => ok(businessCategories),
  'curatedCategories.list': (call) => {
    const countries = (listParam(call, 'country_codes') ?? []).map((code) => code.toUpperCase())
    const bad = countries.find((code) => !/^[A-Z]{2}$/.test(code))
    if (bad !== undefined) throw adsRefusals([invalidParameter('country_codes', 'ISO 3166-1 alpha-2 codes', bad)])
    return listReply(
      call,
      curatedCategories.filter((category) => category.country_codes.some((code) => countries.includes(code))),
    )
  },
  'curatedCategories.get': (call) => {
    const id = String(call.params['curated_category_id'])
    const category = curatedCategories.find((one) => one.id === id)
    if (category === undefined) throw notFound('NOT_FOUND', 'curated_category_id', id)
    return ok(category)
  },
  'features.list': (call) => ok(featuresOf(call).filter((feature) => passes(listParam(call, 'feature_keys'), feature))),
  'features.add': (call) => {
    const features = [...new Set([...featuresOf(call), ...(listParam(call, 'feature_keys') ?? [])])]
    call.state.features.set(call.account!.id, features)
    return ok(features)
  },
  'features.remove': (call) => {
    const features = featuresOf(call).filter((feature) => !(listParam(call, 'feature_keys') ?? []).includes(feature))
    call.state.features.set(call.account!.id, features)
    return ok(features)
  },
  'lineItemPlacements.list': (call) =>
    ok(placements.filter((one) => call.params['product_type'] === undefined || one.product_type === call.params['product_type'])),

  'lineItemCuratedCategories.list': (call) =>
    listReply(
      call,
      [...recordsOf(call, call.state.lineItemCategories).values()].filter((one) => isReachable(call, one)),
    ),
  'lineItemCuratedCategories.get': (call) =>
    ok(findChild(call, call.state.lineItemCategories, 'line_item_curated_category_id', 'NOT_FOUND')),
  'lineItemCuratedCategories.create': (call) => {
    const record: LineItemCategory = { id: '', line_item_id: '', curated_category_id: '', ...stamp(call) }
    setCategory(call, record)
    const made = { ...record, id: call.world.newShortId() }
    recordsOf(call, call.state.lineItemCategories).set(made.id, made)
    return ok(made)
  },
  'lineItemCuratedCategories.update': (call) => {
    const record = findChild(call, call.state.lineItemCategories, 'line_item_curated_category_id', 'NOT_FOUND')
    setCategory(call, record)
    record.updated_at = isoSeconds(call.now)
    return ok(record)
  },
  'lineItemCuratedCategories.delete': (call) => {
    findChild(call, call.state.lineItemCategories, 'line_item_curated_category_id', 'NOT_FOUND')
    return ok(deleteRecord(call, call.state.lineItemCategories, 'line_item_curated_category_id', 'NOT_FOUND'))
  },
}

/** Without what only the sandbox knows. */
function toWire({ userIds: _users, currency: _currency, ...wire }: SandboxAccount): Omit<SandboxAccount, 'userIds' | 'currency'> {
  return wire
}

function liveAccount(call: Call<CampaignsState>): SandboxAccount {
  const account = call.account
  if (account === undefined || (account.deleted && call.params['with_deleted'] !== true)) {
    const id = String(call.params['account_id'])
    throw adsRefusal('ACCOUNT_NOT_FOUND', `Account ${id} was not found`, { parameter: 'account_id', status: 404 })
  }
  return account
}

function featuresOf(call: Call<CampaignsState>): readonly string[] {
  return call.state.features.get(call.account!.id) ?? []
}

function setCategory(call: Call<CampaignsState>, record: LineItemCategory): void {
  const { line_item_id: itemId = record.line_item_id, curated_category_id: categoryId = record.curated_category_id } = call.params
  liveLineItem(call, String(itemId))
  if (!curatedCategories.some((category) => category.id === categoryId))
    throw notFound('NOT_FOUND', 'curated_category_id', String(categoryId))
  record.line_item_id = String(itemId)
  record.curated_category_id = String(categoryId)
}

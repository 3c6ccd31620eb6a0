/** Handles the settings of an account and its users, and the role of the caller. These endpoints are outside the specification. */
import { taxSettingsNames, userSettingsNames } from '../../service/contract/outsideResources.ts'
import { accountOf, type Call, type Handler } from '../area.ts'
import { notFound, ok } from '../refusal.ts'
import type { CampaignsState } from './state.ts'

type Settings = Record<string, unknown>

export const settingsHandlers: Readonly<Record<string, Handler<CampaignsState>>> = {
  'userSettings.get': (call) => ok(userSettings(call)),
  'userSettings.update': (call) => ok(changeSettings(call, userKey(call), userSettings(call))),
  'taxSettings.get': (call) => ok(taxSettings(call)),
  'taxSettings.update': (call) => ok(changeSettings(call, taxKey, taxSettings(call))),
  'authenticatedUserAccess.get': (call) => {
    const role = call.account?.roles[call.user?.id ?? ''] ?? 'ACCOUNT_ADMIN'
    return ok({ user_id: call.user?.id ?? '', permissions: [role] })
  },
}

/** Names of stored settings: those for taxes, and those of the user in the path. */
const taxKey = 'tax'
const userKey = (call: Call<CampaignsState>) => `user ${String(call.params['user_id'])}`

function userSettings(call: Call<CampaignsState>): Settings {
  const id = String(call.params['user_id'])
  if (call.account?.userIds.includes(id) !== true) throw notFound('NOT_FOUND', 'user_id', id)
  return settingsOf(call, userKey(call), () => ({ user_id: id, ...unset(userSettingsNames), subscribed_email_types: [] }))
}

function taxSettings(call: Call<CampaignsState>): Settings {
  return settingsOf(call, taxKey, () => unset(taxSettingsNames))
}

/** Returns stored settings of the account; the result of `first` if they were never changed. `name`: result of `userKey`, or `taxKey`. */
function settingsOf(call: Call<CampaignsState>, name: string, first: () => Settings): Settings {
  const key = `${accountOf(call).id} ${name}`
  return call.state.settings.get(key) ?? first()
}

/** Stores `settings` with the given parameters, and returns the result. `name`: as for `settingsOf`. */
function changeSettings(call: Call<CampaignsState>, name: string, settings: Settings): Settings {
  const names = Object.keys(settings).filter((name) => name !== 'user_id' && call.given.has(name))
  const next = {
    ...settings,
    ...Object.fromEntries(names.map((name) => [name, call.params[name] ?? (name === 'subscribed_email_types' ? [] : null)])),
  }
  call.state.settings.set(`${accountOf(call).id} ${name}`, next)
  return next
}

function unset(names: readonly string[]): Settings {
  return Object.fromEntries(names.map((name) => [name, null]))
}

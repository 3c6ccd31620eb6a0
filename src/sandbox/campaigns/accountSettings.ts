/** Handles tax settings of an account, settings of its users, and the caller's role. The specification has none of these endpoints. */
import { taxSettingsNames, userSettingsNames } from '../../service/contract/outsideResources.ts'
import { accountOf, type Call, type Handler } from '../area.ts'
import { givenFields } from '../params.ts'
import { notFound, ok } from '../refusal.ts'
import type { CampaignsState } from './state.ts'

type Settings = Record<string, unknown>

export const accountSettingsHandlers: Readonly<Record<string, Handler<CampaignsState>>> = {
  'userSettings.get': (call) => ok(userSettings(call)),
  'userSettings.update': (call) => {
    const settings = { ...userSettings(call), ...givenFields(call) }
    // An unset list is empty, every other unset field null.
    settings['subscribed_email_types'] ??= []
    call.state.settings.set(userKey(call), settings)
    return ok(settings)
  },
  'taxSettings.get': (call) => ok(taxSettings(call)),
  'taxSettings.update': (call) => {
    const settings = { ...taxSettings(call), ...givenFields(call) }
    call.state.settings.set(taxKey(call), settings)
    return ok(settings)
  },
  'authenticatedUserAccess.get': (call) => {
    const userId = call.user?.id ?? ''
    return ok({ user_id: userId, permissions: [accountOf(call).roles[userId] ?? 'ACCOUNT_ADMIN'] })
  },
}

// Keys of `CampaignsState.settings`.
const taxKey = (call: Call<CampaignsState>) => `${accountOf(call).id} tax`
const userKey = (call: Call<CampaignsState>) => `${accountOf(call).id} user ${String(call.params['user_id'])}`

/** Returns the settings of the user that the path names. @throws {Refusal} 404 for a user without access to the account */
function userSettings(call: Call<CampaignsState>): Settings {
  const id = String(call.params['user_id'])
  if (!accountOf(call).userIds.includes(id)) throw notFound('NOT_FOUND', 'user_id', id)
  return call.state.settings.get(userKey(call)) ?? { user_id: id, ...nullFields(userSettingsNames), subscribed_email_types: [] }
}

function taxSettings(call: Call<CampaignsState>): Settings {
  return call.state.settings.get(taxKey(call)) ?? nullFields(taxSettingsNames)
}

function nullFields(names: readonly string[]): Settings {
  return Object.fromEntries(names.map((name) => [name, null]))
}

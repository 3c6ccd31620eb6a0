/** Writes the account history (spec 2.5): changes of campaigns, line items, promoted tweets and targeting criteria. */
import { accountOf, type Call } from '../area.ts'
import { isoSeconds } from '../timestamps.ts'
import type { CampaignsState } from './state.ts'
import { isSameValue } from '../verify/sentBackFields.ts'
import { recordOf } from '../../unknownValue.ts'

/** Adds an entry to the history of the call's account. `before`: the entity before an update; ignored for a deletion. */
export function addToHistory(
  call: Call<CampaignsState>,
  change: {
    readonly entity: string
    readonly type: 'CREATE' | 'UPDATE' | 'DELETE'
    readonly after: { readonly id: string }
    readonly before?: object
  },
): void {
  const recordBefore = change.type === 'DELETE' ? { ...change.after, deleted: false } : change.before
  const account = accountOf(call).id
  const entries = call.state.history.get(account) ?? []
  call.state.history.set(account, entries)
  entries.push({
    change_by: { user_id: call.user?.id ?? '', platform: 'Ads API' },
    changes: changedFields(recordBefore, change.after),
    change_time: isoSeconds(call.now),
    entity_id: change.after.id,
    entity: change.entity,
    entity_data: { ...change.after },
    change_type: change.type,
  })
}

/** Returns each changed field with both values; none for a creation. Omits `updated_at`. Ignores the order of lists of texts. */
function changedFields(before: object | undefined, after: object): Record<string, unknown> {
  if (before === undefined) return {}
  const old = recordOf(before)
  return Object.fromEntries(
    Object.entries(recordOf(after)).flatMap(([name, value]) =>
      isSameValue(value, old[name]) || name === 'updated_at' ? [] : [[name, { before: old[name] ?? null, after: value }]],
    ),
  )
}

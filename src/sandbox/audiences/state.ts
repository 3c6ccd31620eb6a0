/** State of the audiences area: custom audiences, do-not-reach lists and permissions. */
import type { StoredRecord } from '../storedRecord.ts'
import { accountOf, type Call } from '../area.ts'
import { FIRST_DAY, FIXED_ACCOUNT, FIXED_AUDIENCE, FIXED_LIST } from '../firstIds.ts'
import { isoSeconds } from '../timestamps.ts'
import { Memberships, type SavedMemberships } from './memberships.ts'

/** Custom audience or do-not-reach list. */
export interface Audience {
  readonly id: string
  readonly accountId: string
  name: string
  description: string | null
  readonly created_at: string
  updated_at: string
  deleted: boolean
  memberships: Memberships
  /**
   * Newest upload whose processing was started, even if it has ended; null if there is none. `since`: its time, milliseconds since 1970.
   * `members`: number of members before it.
   */
  processing: { readonly since: number; readonly members: number } | null
}

/** Permission of another account on an audience. The path of custom audiences renames `tailored_audience_id` in answers. */
export type Permission = Omit<StoredRecord<'audiencePermission'>, 'custom_audience_id'>

/** State of the area. Each map has ids as keys. */
export interface AudienceState {
  readonly audiences: Map<string, Audience>
  /** Do-not-reach lists. */
  readonly lists: Map<string, Audience>
  readonly permissions: Map<string, Permission>
}

/** Creates the first state: an empty audience, a permission on it for an account outside the sandbox, and an empty do-not-reach list. */
export function createAudienceState(): AudienceState {
  const fixed = (id: string, name: string): Audience => emptyAudience({ id, accountId: FIXED_ACCOUNT, name, at: FIRST_DAY })
  return {
    audiences: new Map([[FIXED_AUDIENCE, fixed(FIXED_AUDIENCE, 'Sandbox audience')]]),
    lists: new Map([[FIXED_LIST, fixed(FIXED_LIST, 'Do Not Reach List')]]),
    permissions: new Map([
      [
        '1perm',
        {
          id: '1perm',
          tailored_audience_id: FIXED_AUDIENCE,
          granted_account_id: '18ce54aymz3',
          permission_level: 'READ_ONLY',
          created_at: FIRST_DAY,
          updated_at: FIRST_DAY,
          deleted: false,
        },
      ],
    ]),
  }
}

/** Returns a new, empty audience or do-not-reach list of the call's account. Does not store it. */
export function newAudience(call: Call<AudienceState>, name: string): Audience {
  return emptyAudience({ id: call.world.newShortId(), accountId: accountOf(call).id, name, at: isoSeconds(call.now) })
}

function emptyAudience({ at, ...given }: { id: string; accountId: string; name: string; at: string }): Audience {
  return { ...given, description: null, created_at: at, updated_at: at, deleted: false, memberships: new Memberships(), processing: null }
}

/** Copies the state. structuredClone cannot copy `Memberships`. */
export function cloneAudienceState(state: AudienceState): AudienceState {
  const cloneAll = (map: Map<string, Audience>): Map<string, Audience> =>
    new Map([...map].map(([id, one]) => [id, { ...one, memberships: one.memberships.clone() }]))
  return { audiences: cloneAll(state.audiences), lists: cloneAll(state.lists), permissions: structuredClone(state.permissions) }
}

interface SavedAudience extends Omit<Audience, 'memberships'> {
  /** The rest of the memberships, which `saveAudienceState` does not return in `bytes`. */
  readonly saved: SavedMemberships
  /** Number of buffers in these `bytes` that belong to this audience. */
  readonly chunks: number
}

interface SavedState {
  readonly audiences: readonly SavedAudience[]
  readonly lists: readonly SavedAudience[]
  readonly permissions: Map<string, Permission>
}

/** Splits the state into a value that v8.serialize accepts, and the records of all audiences and lists as bytes. */
export function saveAudienceState(state: AudienceState): { readonly plain: SavedState; readonly bytes: readonly Uint8Array[] } {
  const bytes: Uint8Array[] = []
  const saveAll = (map: ReadonlyMap<string, Audience>): SavedAudience[] =>
    [...map.values()].map(({ memberships, ...rest }) => {
      const saved = memberships.save()
      bytes.push(...saved.bytes)
      return { ...rest, saved: saved.plain, chunks: saved.bytes.length }
    })
  const [audiences, lists] = [saveAll(state.audiences), saveAll(state.lists)]
  return { plain: { audiences, lists, permissions: state.permissions }, bytes }
}

/** Restores the state from the result of `saveAudienceState`. */
export function loadAudienceState({ audiences, lists, permissions }: SavedState, bytes: readonly Uint8Array[]): AudienceState {
  let at = 0
  const loadAll = (saved: readonly SavedAudience[]): Map<string, Audience> =>
    new Map(
      saved.map(({ saved: members, chunks, ...rest }) => {
        at += chunks
        return [rest.id, { ...rest, memberships: Memberships.fromSaved(members, bytes.slice(at - chunks, at)) }]
      }),
    )
  return { audiences: loadAll(audiences), lists: loadAll(lists), permissions }
}

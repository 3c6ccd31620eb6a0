/** Handles lookups of users on `/1.1` and `/2`: by id, by handle, or of the caller. Outside the specification. */
import type { Call, Handler, Reply } from '../area.ts'
import { recordOf } from '../../unknownValue.ts'
import { listParam } from '../params.ts'
import { coreRefusal } from '../refusal.ts'
import { profileWire } from './adsView.ts'
import type { PostsState } from './state.ts'
import { idOfHandle, v2UserOf } from './userLookup.ts'
import { checkIds, notFoundError, type PartialError } from './v2Errors.ts'
import { postWire, selectionOf, userWire } from './v2View.ts'

type UserCall = Call<PostsState>

export const userHandlers: Readonly<Record<string, Handler<PostsState>>> = {
  'users.verifyCredentials': (call) => ({ kind: 'json', body: coreUser(call, call.user?.id ?? '') }),
  'users.show': (call) => {
    const id = call.givenNames.has('user_id')
      ? String(call.params['user_id'])
      : idOfHandle(call.world, call.state, String(call.params['screen_name']))
    const user = id === undefined ? undefined : coreUser(call, id)
    if (user === undefined) throw coreRefusal(404, 50, 'User not found.')
    return { kind: 'json', body: user }
  },
  'users.lookup': (call) => {
    const ids = [
      ...(listParam(call, 'user_id') ?? []),
      ...(listParam(call, 'screen_name') ?? []).map((name) => idOfHandle(call.world, call.state, name) ?? ''),
    ]
    const users = ids.map((id) => coreUser(call, id)).filter((user) => user !== undefined)
    if (users.length === 0) throw coreRefusal(404, 17, 'No user matches for specified terms.')
    return { kind: 'json', body: users }
  },
  'users.me': (call) => answerUsers(call, 'id', [call.user?.id ?? '']),
  'users.get': (call) => answerUsers(call, 'id', [String(call.params['id'])]),
  'users.list': (call) => answerUsers(call, 'ids', listParam(call, 'ids') ?? []),
  'users.byUsername': (call) => answerUsers(call, 'username', [String(call.params['username'])]),
  'users.byUsernames': (call) => answerUsers(call, 'usernames', listParam(call, 'usernames') ?? []),
}

/**
 * Returns the answer with the users that have the ids or handles `values`. The answer has one user for `id` and `username`, else a list.
 * Adds an error for each unknown value.
 */
function answerUsers(call: UserCall, parameter: 'id' | 'ids' | 'username' | 'usernames', values: readonly string[]): Reply {
  if (parameter === 'id' || parameter === 'ids') checkIds(parameter, values)
  const selection = selectionOf(call, 'tweet')
  const users: Record<string, unknown>[] = []
  const pinned: Record<string, unknown>[] = []
  const errors: PartialError[] = []
  for (const value of new Set(values)) {
    const id = parameter.startsWith('id') ? value : idOfHandle(call.world, call.state, value)
    const user = id === undefined ? undefined : userWire(call.world, call.state, id, selection)
    if (user === undefined) {
      errors.push(notFoundError('user', parameter, value))
      continue
    }
    users.push(user)
    const post = call.state.posts.get(String(call.state.users.get(id ?? '')?.['pinned_tweet_id']))
    if (selection.expansions.has('pinned_tweet_id') && post !== undefined) pinned.push(postWire(call.world, call.state, post, selection))
  }
  return {
    kind: 'json',
    body: {
      ...(users.length === 0 ? {} : { data: parameter.endsWith('s') ? users : users[0] }),
      ...(pinned.length === 0 ? {} : { includes: { tweets: pinned } }),
      ...(errors.length === 0 ? {} : { errors }),
    },
  }
}

/** Renders a user in the form of `/1.1`; undefined for an unknown id. */
function coreUser(call: UserCall, id: string): Record<string, unknown> | undefined {
  const { world, state } = call
  const user = v2UserOf(world, state, id)
  if (user === undefined) return undefined
  const metrics = recordOf(user['public_metrics'])
  return {
    ...profileWire(user),
    followers_count: metrics['followers_count'] ?? 0,
    friends_count: metrics['following_count'] ?? 0,
    listed_count: metrics['listed_count'] ?? 0,
    statuses_count: metrics['tweet_count'] ?? 0,
    created_at: coreTime(String(user['created_at'])),
    profile_image_url_https: user['profile_image_url'] ?? null,
    ...(call.params['include_email'] === true && call.user?.id === id ? { email: user['confirmed_email'] ?? null } : {}),
  }
}

/** Formats a time as `/1.1` does: `Thu Jan 15 12:00:00 +0000 2026`. */
function coreTime(iso: string): string {
  const [day = '', date = '', month = '', year = '', time = ''] = new Date(iso).toUTCString().split(/[ ,]+/)
  return `${day} ${month} ${date} ${time} +0000 ${year}`
}

/** Handles lookups of users on `/1.1` and `/2`: by id, by handle, or of the caller. Outside the specification. */
import type { Call, Handler, Reply } from '../area.ts'
import { recordOf } from '../../unknownValue.ts'
import { listParam } from '../params.ts'
import { v2ParameterRefusal, coreRefusal, PROBLEMS } from '../refusal.ts'
import { idOfHandle, userOf, type PostsState } from './state.ts'
import { postWire, selectionOf, userWire, type PartialError } from './v2View.ts'

type UserCall = Call<PostsState>

export const userHandlers: Readonly<Record<string, Handler<PostsState>>> = {
  'users.verifyCredentials': (call) => ({ kind: 'json', body: coreUser(call, call.user?.id ?? '') }),
  'users.show': (call) => {
    const id = call.given.has('user_id')
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
  'users.me': (call) => answerUsers(call, [call.user?.id ?? ''], { one: true, parameter: 'id' }),
  'users.get': (call) => answerUsers(call, [wholeNumber('id', String(call.params['id']))], { one: true, parameter: 'id' }),
  'users.list': (call) =>
    answerUsers(
      call,
      (listParam(call, 'ids') ?? []).map((id) => wholeNumber('ids', id)),
      { one: false, parameter: 'ids' },
    ),
  'users.byUsername': (call) => answerUsers(call, [String(call.params['username'])], { one: true, parameter: 'username' }),
  'users.byUsernames': (call) => answerUsers(call, listParam(call, 'usernames') ?? [], { one: false, parameter: 'usernames' }),
}

interface Lookup {
  readonly one: boolean
  /** Parameter that the values come from: ids or handles. */
  readonly parameter: 'id' | 'ids' | 'username' | 'usernames'
}

/** Answers the found users, with an error for each unknown value. */
function answerUsers(call: UserCall, values: readonly string[], { one, parameter }: Lookup): Reply {
  const selection = selectionOf(call, 'tweet')
  const users: Record<string, unknown>[] = []
  const pinned: Record<string, unknown>[] = []
  const errors: PartialError[] = []
  for (const value of new Set(values)) {
    const id = parameter.startsWith('id') ? value : idOfHandle(call.world, call.state, value)
    const user = id === undefined ? undefined : userWire(call.world, call.state, id, selection)
    if (user === undefined) {
      errors.push(missing(parameter, value))
      continue
    }
    users.push(user)
    const post = call.state.posts.get(String(call.state.users.get(id ?? '')?.['pinned_tweet_id']))
    if (selection.expansions.has('pinned_tweet_id') && post !== undefined) pinned.push(postWire(call.world, call.state, post, selection))
  }
  return {
    kind: 'json',
    body: {
      ...(users.length === 0 ? {} : { data: one ? users[0] : users }),
      ...(pinned.length === 0 ? {} : { includes: { tweets: pinned } }),
      ...(errors.length === 0 ? {} : { errors }),
    },
  }
}

/** Renders a user in the form of `/1.1`; undefined for an unknown id. */
function coreUser(call: UserCall, id: string): Record<string, unknown> | undefined {
  const { world, state } = call
  const known = userOf(world, state, id)
  if (known === undefined) return undefined
  const metrics = recordOf(known['public_metrics'])
  return {
    id: BigInt(id),
    id_str: id,
    name: known['name'],
    screen_name: known['username'],
    location: known['location'] ?? null,
    description: known['description'] ?? null,
    url: known['url'] ?? null,
    protected: known['protected'] ?? false,
    verified: known['verified'] ?? false,
    followers_count: metrics['followers_count'] ?? 0,
    friends_count: metrics['following_count'] ?? 0,
    listed_count: metrics['listed_count'] ?? 0,
    statuses_count: metrics['tweet_count'] ?? 0,
    created_at: coreTime(String(known['created_at'] ?? new Date(world.now()).toISOString())),
    profile_image_url_https: known['profile_image_url'] ?? null,
    ...(call.params['include_email'] === true && call.user?.id === id ? { email: known['confirmed_email'] ?? null } : {}),
  }
}

/** Formats a time as `/1.1` does: `Thu Jan 15 12:00:00 +0000 2026`. */
function coreTime(iso: string): string {
  const [day = '', date = '', month = '', year = '', time = ''] = new Date(iso).toUTCString().split(/[ ,]+/)
  return `${day} ${month} ${date} ${time} +0000 ${year}`
}

function wholeNumber(name: string, value: string): string {
  if (!/^\d{1,19}$/.test(value)) throw v2ParameterRefusal(name, value, `The \`${name}\` query parameter value [${value}] is not valid`)
  return value
}

function missing(parameter: string, value: string): PartialError {
  return {
    resource_id: value,
    resource_type: 'user',
    parameter,
    value,
    title: 'Not Found Error',
    detail: `Could not find user with ${parameter}: [${value}].`,
    type: `${PROBLEMS}/resource-not-found`,
  }
}

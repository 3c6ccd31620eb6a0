/** Finds users by id or handle. */
import type { World } from '../area.ts'
import { FIRST_DAY } from '../firstIds.ts'
import type { PostsState } from './state.ts'

/** Returns the v2 user with the id: a user of the first state, or one that the control API added. Undefined for an unknown id. */
export function v2UserOf(world: World, state: PostsState, id: string): Readonly<Record<string, unknown>> | undefined {
  const user = state.users.get(id)
  const added = world.users.get(id)
  if (user !== undefined || added === undefined) return user
  return {
    id,
    name: added.name,
    username: added.screenName,
    created_at: added.createdAt ?? FIRST_DAY,
    protected: false,
    verified: added.premium,
    subscription_type: added.premium ? 'Premium' : 'None',
    public_metrics: { followers_count: 0, following_count: 0, tweet_count: 0, listed_count: 0 },
  }
}

export function hasPremium(world: World, state: PostsState, id: string): boolean {
  const subscription = v2UserOf(world, state, id)?.['subscription_type']
  return typeof subscription === 'string' && subscription.startsWith('Premium')
}

/** Returns the id of the user with the handle, with or without `@`, ignoring case. Undefined for an unknown handle. */
export function idOfHandle(world: World, state: PostsState, handle: string): string | undefined {
  const name = handle.replace(/^@/, '').toLowerCase()
  for (const user of world.users.values()) if (user.screenName.toLowerCase() === name) return user.id
  for (const [id, user] of state.users) if (String(user['username']).toLowerCase() === name) return id
  return undefined
}

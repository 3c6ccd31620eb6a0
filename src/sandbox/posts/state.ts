/** State of the posts area: published, scheduled and draft posts, users, media, places and polls (spec 2.4, 2.6). */
import type { World } from '../area.ts'
import { FIRST_DAY } from '../firstIds.ts'

/** Published post, with the fields that any endpoint shows. */
export interface Post {
  readonly id: string
  text: string
  readonly author_id: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  name: string | null
  readonly nullcast: boolean
  /** Account on whose behalf the post was made; null for other posts. */
  readonly account_id: string | null
  readonly conversation_settings: string
  readonly media_keys: readonly string[]
  readonly card_uri: string | null
  readonly conversation_id: string
  readonly referenced: readonly { readonly type: string; readonly id: string }[]
  readonly in_reply_to_user_id: string | null
  readonly community_id: string | null
  readonly paid_partnership: boolean
  readonly poll_id: string | null
  readonly place_id: string | null
  readonly reply_settings: string
  /** Ids of all versions of the post, oldest first. Each version has the same list. */
  edit_history: readonly string[]
  readonly scheduled_at: string | null
  readonly metrics: {
    readonly retweet_count: number
    readonly reply_count: number
    readonly like_count: number
    readonly quote_count: number
  }
}

/** Scheduled or draft post. */
export interface WaitingPost {
  readonly id: string
  readonly account_id: string
  readonly user_id: string
  text: string | null
  name: string | null
  nullcast: boolean
  card_uri: string | null
  media_keys: readonly string[]
  /** ISO 8601; null for a draft. */
  scheduled_at: string | null
  scheduled_status: 'SCHEDULED' | 'SUCCEEDED'
  /** Time of publication, and id of the published post. Null before. */
  completed_at: string | null
  tweet_id: string | null
  readonly created_at: string
  updated_at: string
}

/** State of the posts area. Keys are ids; for `media`, media keys. */
export interface PostsState {
  readonly posts: Map<string, Post>
  readonly scheduled: Map<string, WaitingPost>
  readonly drafts: Map<string, WaitingPost>
  /** Complete v2 users by id. */
  readonly users: Map<string, Readonly<Record<string, unknown>>>
  readonly media: Map<string, Readonly<Record<string, unknown>>>
  readonly places: Map<string, Readonly<Record<string, unknown>>>
  readonly polls: Map<string, Readonly<Record<string, unknown>>>
}

/** Event of the journal: a scheduled post was published. */
export interface PostPublished {
  readonly kind: 'published'
  readonly scheduledId: string
}

/** Returns the v2 user with the id: a user of the first state, or one that the control API added. Undefined for an unknown id. */
export function userOf(world: World, state: PostsState, id: string): Readonly<Record<string, unknown>> | undefined {
  const known = state.users.get(id)
  const added = world.users.get(id)
  if (known !== undefined || added === undefined) return known
  return {
    id,
    name: added.name,
    username: added.screenName,
    // Users in a state file of an earlier version have no time.
    created_at: added.createdAt ?? FIRST_DAY,
    protected: false,
    verified: added.premium,
    subscription_type: added.premium ? 'Premium' : 'None',
    public_metrics: { followers_count: 0, following_count: 0, tweet_count: 0, listed_count: 0 },
  }
}

/** Returns true if the user has a premium subscription. */
export function hasPremium(world: World, state: PostsState, id: string): boolean {
  const subscription = userOf(world, state, id)?.['subscription_type']
  return typeof subscription === 'string' && subscription.startsWith('Premium')
}

/** Returns the id of the user with the handle, with or without `@`, ignoring case. Undefined for an unknown handle. */
export function idOfHandle(world: World, state: PostsState, handle: string): string | undefined {
  const name = handle.replace(/^@/, '').toLowerCase()
  for (const user of world.users.values()) if (user.screenName.toLowerCase() === name) return user.id
  for (const [id, user] of state.users) if (String(user['username']).toLowerCase() === name) return id
  return undefined
}

/** Returns a post with defaults for the fields that are not given. */
export function newPost(post: Pick<Post, 'id' | 'text' | 'author_id' | 'createdAt'> & Partial<Post>): Post {
  return {
    name: null,
    nullcast: false,
    account_id: null,
    conversation_settings: 'EVERYONE',
    media_keys: [],
    card_uri: null,
    conversation_id: post.id,
    referenced: [],
    in_reply_to_user_id: null,
    community_id: null,
    paid_partnership: false,
    poll_id: null,
    place_id: null,
    reply_settings: 'everyone',
    edit_history: [post.id],
    scheduled_at: null,
    metrics: { retweet_count: 0, reply_count: 0, like_count: 0, quote_count: 0 },
    ...post,
  }
}

/** Returns a draft or scheduled post in the form of a published one, with the given id and time. */
export function postOf(waiting: WaitingPost, id: string, createdAt: number): Post {
  const { text, user_id, account_id, name, nullcast, card_uri, media_keys, scheduled_at } = waiting
  return newPost({ id, text: text ?? '', author_id: user_id, createdAt, account_id, name, nullcast, card_uri, media_keys, scheduled_at })
}

/** Time after the first version of a post in which it can be edited (spec 4.7). */
export const EDITABLE_MS = 3_600_000

/** Time in which an author may not repeat a post. Assumed, because the service documents only the code `DUPLICATE_TWEET`. */
const DUPLICATE_MS = 86_400_000

/**
 * Returns true if the author published an equal post (text, media, card, `nullcast`, references) within a day. Ignores earlier versions of
 * the same post. Always false with the switch `duplicate_posts: accept`.
 */
export function isDuplicate(world: World, state: PostsState, post: Post): boolean {
  if (world.switch('duplicate_posts') === 'accept') return false
  const contentOf = (one: Post): string => JSON.stringify([one.text, one.media_keys, one.card_uri, one.nullcast, one.referenced])
  return [...state.posts.values()].some(
    (one) =>
      one.author_id === post.author_id &&
      post.createdAt - one.createdAt < DUPLICATE_MS &&
      !post.edit_history.includes(one.id) &&
      contentOf(one) === contentOf(post),
  )
}

/** State of the posts area: published, scheduled and draft posts, users, media, places and polls (spec 2.4, 2.6). */

export interface Post {
  readonly id: string
  text: string
  readonly author_id: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  name: string | null
  /** False for an organic post. The search of v2 finds only organic posts. */
  readonly nullcast: boolean
  /** Account of the advertiser; null for a post that was not made through the ads API. */
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
  /** Creation time of the first version, milliseconds since 1970. */
  readonly firstCreatedAt: number
  readonly scheduled_at: string | null
  readonly metrics: {
    readonly retweet_count: number
    readonly reply_count: number
    readonly like_count: number
    readonly quote_count: number
  }
}

/** Scheduled or draft post. A scheduled post stays stored after its publication. */
export interface DraftOrScheduledPost {
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
  /** `SUCCEEDED` once the post is published. Not shown for drafts. */
  scheduled_status: 'SCHEDULED' | 'SUCCEEDED'
  /** Time of publication, and id of the published post. Both are null until then. */
  completed_at: string | null
  tweet_id: string | null
  readonly created_at: string
  updated_at: string
}

/** State of the posts area. Keys are ids; for `media`, media keys. */
export interface PostsState {
  readonly posts: Map<string, Post>
  readonly scheduled: Map<string, DraftOrScheduledPost>
  readonly drafts: Map<string, DraftOrScheduledPost>
  /** Users of the first state, with most fields of v2. `World.users` has the users that can sign in, with fewer fields. */
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
    firstCreatedAt: post.createdAt,
    scheduled_at: null,
    metrics: { retweet_count: 0, reply_count: 0, like_count: 0, quote_count: 0 },
    ...post,
  }
}

/** Returns a draft or scheduled post in the form of a published one, with the given id and time. */
export function asPublishedPost(post: DraftOrScheduledPost, id: string, createdAt: number): Post {
  const { text, user_id, account_id, name, nullcast, card_uri, media_keys, scheduled_at } = post
  return newPost({ id, text: text ?? '', author_id: user_id, createdAt, account_id, name, nullcast, card_uri, media_keys, scheduled_at })
}

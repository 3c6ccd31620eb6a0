/**
 * Renders posts in the form of the ads API (spec 2.4 created post). Each `id` is an exact integer, and `id_str` beside it is the same id as
 * text (docs/spec-notes.md#echoes-and-cursors).
 */
import type { World } from '../area.ts'
import { countCodePoints } from '../text.ts'
import { isoSeconds } from '../timestamps.ts'
import { entitiesOf } from './entities.ts'
import { asPublishedPost, type Post, type PostsState, type DraftOrScheduledPost } from './state.ts'
import { idOfHandle, v2UserOf } from './userLookup.ts'

/** Options of a request that determine which fields of a post are shown. */
export interface ViewOptions {
  /** Shows only `id` and `id_str` of the author. */
  readonly trimUser: boolean
  /** Adds `full_text` and `display_text_range` (`tweet_mode=extended`). Reads always return both. */
  readonly extended: boolean
}

type ReadOptions = Pick<ViewOptions, 'trimUser'>

/** Renders a post as the answer to its creation. */
export function createdPostWire(world: World, state: PostsState, post: Post, options: ViewOptions): Record<string, unknown> {
  const replied = post.referenced.find((one) => one.type === 'replied_to')?.id ?? null
  return {
    id: BigInt(post.id),
    id_str: post.id,
    text: post.text,
    name: post.name,
    created_at: isoSeconds(post.createdAt),
    truncated: false,
    ...(options.extended ? { full_text: post.text, display_text_range: [0, countCodePoints(post.text)] } : {}),
    entities: adsEntities(world, state, post.text),
    user: authorWire(world, state, post.author_id, options.trimUser),
    retweet_count: post.metrics.retweet_count,
    favorite_count: post.metrics.like_count,
    lang: 'en',
    source: '<a href="https://shop.example" rel="nofollow">sandbox</a>',
    scopes: { followers: false },
    geo: null,
    coordinates: null,
    place: null,
    contributors: null,
    in_reply_to_status_id: replied === null ? null : BigInt(replied),
    in_reply_to_status_id_str: replied,
    in_reply_to_user_id: post.in_reply_to_user_id === null ? null : BigInt(post.in_reply_to_user_id),
    in_reply_to_user_id_str: post.in_reply_to_user_id,
    in_reply_to_screen_name: null,
  }
}

/** Renders a post as reads return it: with more fields than the answer to its creation (spec 2.4). */
export function fetchedPostWire(world: World, state: PostsState, post: Post, options: ReadOptions): Record<string, unknown> {
  return {
    ...createdPostWire(world, state, post, { ...options, extended: true }),
    tweet_type: 'PUBLISHED',
    nullcast: post.nullcast,
    conversation_settings: post.conversation_settings,
    scheduled_at: post.scheduled_at,
    scheduled_status: null,
    tweet_id: post.id,
    card_uri: post.card_uri,
    media_keys: post.media_keys,
  }
}

/** Renders a draft or an unpublished scheduled post as the list of all posts of an account returns it (`advertiserPosts.list`). */
export function listedUnpublishedWire(
  world: World,
  state: PostsState,
  post: DraftOrScheduledPost,
  options: ReadOptions,
): Record<string, unknown> {
  const isDraft = post.scheduled_at === null
  return {
    ...fetchedPostWire(world, state, asPublishedPost(post, post.id, Date.parse(post.created_at)), options),
    source: '',
    tweet_type: isDraft ? 'DRAFT' : 'SCHEDULED',
    scheduled_status: isDraft ? null : post.scheduled_status,
  }
}

/** Renders a draft or scheduled post for its own endpoints (docs/spec-notes.md#scheduled-and-draft-posts). */
export function draftOrScheduledWire(post: DraftOrScheduledPost): Record<string, unknown> {
  const { account_id: _account, scheduled_at, scheduled_status, completed_at, tweet_id, ...shared } = post
  const ownFields = { ...shared, id: BigInt(post.id), id_str: post.id }
  return scheduled_at === null ? ownFields : { ...ownFields, scheduled_at, scheduled_status, completed_at, tweet_id }
}

function authorWire(world: World, state: PostsState, id: string, trim: boolean): Record<string, unknown> {
  const user = v2UserOf(world, state, id)
  return trim || user === undefined ? { id: BigInt(id), id_str: id } : profileWire(user)
}

/** Renders a v2 user in the form of the ads API and of `/1.1`. */
export function profileWire(user: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const id = String(user['id'])
  return {
    id: BigInt(id),
    id_str: id,
    name: user['name'],
    screen_name: user['username'],
    location: user['location'] ?? null,
    description: user['description'] ?? null,
    url: user['url'] ?? null,
    protected: user['protected'] ?? false,
    verified: user['verified'] ?? false,
  }
}

function adsEntities(world: World, state: PostsState, text: string): Record<string, unknown> {
  const found = entitiesOf(text)
  return {
    hashtags: (found.hashtags ?? []).map((tag) => ({ text: tag.tag, indices: [tag.start, tag.end] })),
    symbols: [],
    user_mentions: (found.mentions ?? []).map((mention) => {
      const id = idOfHandle(world, state, mention.username) ?? null
      return {
        screen_name: mention.username,
        name: id === null ? null : v2UserOf(world, state, id)?.['name'],
        id: id === null ? null : BigInt(id),
        id_str: id,
        indices: [mention.start, mention.end],
      }
    }),
    urls: (found.urls ?? []).map((url) => ({
      url: url.url,
      expanded_url: url.expanded_url,
      display_url: url.display_url,
      indices: [url.start, url.end],
    })),
  }
}

/**
 * Handles posts on behalf of an advertiser: published, scheduled and draft posts (spec 4.4, docs/spec-notes.md#scheduled-and-draft-posts).
 */
import { accountOf, type Call, type Handler, type Reply, type World } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { listParam, passesFilter, recordOfParam, textParam } from '../params.ts'
import { mediaKind } from '../creatives/mediaKeys.ts'
import { hasCard } from '../creatives/state.ts'
import { listReply } from '../lists.ts'
import { adsRefusal, adsRefusals, invalidParameter, notFound, ok, okDeleted } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import { createdPostWire, fetchedPostWire, listedUnpublishedWire, draftOrScheduledWire } from './adsView.ts'
import { isDuplicate } from './duplicates.ts'
import { newPost, asPublishedPost, type Post, type PostsState, type DraftOrScheduledPost } from './state.ts'

export const advertiserHandlers: Readonly<Record<string, Handler<PostsState>>> = {
  'advertiserPosts.create': createPost,
  'advertiserPosts.rename': (call) => {
    const post = ownPost(call, 'tweet_id', call.state.posts)
    post.name = textParam(call, 'name')
    return ok(fetchedPostWire(call.world, call.state, post, { trimUser: false }))
  },
  'advertiserPosts.list': (call) => (call.params['tweet_type'] === 'PUBLISHED' ? listPublished(call) : listUnpublished(call)),
  ...unpublishedHandlers('scheduledPosts', 'scheduled', 'scheduled_tweet_id'),
  'scheduledPosts.create': (call) => {
    const scheduledAt = futureTime(call)
    return ok(addDraftOrScheduled(call, call.state.scheduled, scheduledAt))
  },
  'scheduledPosts.update': (call) => {
    const post = ownPost(call, 'scheduled_tweet_id', call.state.scheduled)
    if (post.tweet_id !== null)
      throw adsRefusal('ACTION_NOT_ALLOWED', 'the post was published already', { parameter: 'scheduled_tweet_id' })
    // Only a new time must be in the future. A client may send the stored time again.
    const isMoved = call.givenNames.has('scheduled_at') && call.params['scheduled_at'] !== post.scheduled_at
    const scheduledAt = isMoved ? futureTime(call) : post.scheduled_at
    return ok(changeDraftOrScheduled(call, post, scheduledAt))
  },
  ...unpublishedHandlers('draftPosts', 'drafts', 'draft_tweet_id'),
  'draftPosts.create': (call) => ok(addDraftOrScheduled(call, call.state.drafts, null)),
  'draftPosts.update': (call) => ok(changeDraftOrScheduled(call, ownPost(call, 'draft_tweet_id', call.state.drafts), null)),
}

/** Returns the handlers `NAME.list`, `NAME.get` and `NAME.delete`. Later reads do not find a deleted post, even with `with_deleted`. */
function unpublishedHandlers(
  name: string,
  table: 'scheduled' | 'drafts',
  parameter: string,
): Readonly<Record<string, Handler<PostsState>>> {
  return {
    [`${name}.list`]: (call) => {
      const selected = [...call.state[table].values()].filter((one) => isSelected(call, one, one.user_id))
      return listReply(call, selected, { sortable: ['created_at', 'updated_at', 'scheduled_at'], render: draftOrScheduledWire })
    },
    [`${name}.get`]: (call) => ok(draftOrScheduledWire(ownPost(call, parameter, call.state[table]))),
    [`${name}.delete`]: (call) => {
      const post = ownPost(call, parameter, call.state[table])
      call.state[table].delete(post.id)
      return okDeleted(draftOrScheduledWire(post))
    },
  }
}

function createPost(call: Call<PostsState>): Reply {
  const author = advertiserOf(call)
  const content = contentOf(call)
  const nullcast = call.params['nullcast'] !== false
  if (!nullcast && author !== call.user?.id)
    throw adsRefusal('ACTION_NOT_ALLOWED', 'nullcast may be false (an organic post) only for the authenticated user', {
      parameter: 'nullcast',
    })
  const post = newPost({
    ...content,
    id: call.world.newId(),
    author_id: author,
    createdAt: call.now,
    nullcast,
    account_id: accountOf(call).id,
    name: textParam(call, 'name'),
    conversation_settings: String(call.params['conversation_settings']),
  })
  if (isDuplicate(call.world, call.state, post))
    throw adsRefusal('DUPLICATE_TWEET', 'The author has already published this', { parameter: 'text' })
  publish(call.world, call.state, post)
  const options = { trimUser: trimsUser(call), extended: call.params['tweet_mode'] === 'extended' }
  return ok(createdPostWire(call.world, call.state, post, options))
}

function listPublished(call: Call<PostsState>): Reply {
  const timeline = call.params['timeline_type'] ?? 'ALL'
  const withReplies = call.params['include_mentions_and_replies'] !== false
  const posts = [...call.state.posts.values()].filter(
    (post) =>
      isSelected(call, post, post.author_id) &&
      (timeline === 'ALL' || post.nullcast === (timeline === 'NULLCAST')) &&
      (withReplies || post.in_reply_to_user_id === null),
  )
  const options = { trimUser: trimsUser(call) }
  return listReply(call, posts, { render: (post) => fetchedPostWire(call.world, call.state, post, options) })
}

function listUnpublished(call: Call<PostsState>): Reply {
  const table = call.params['tweet_type'] === 'DRAFT' ? call.state.drafts : call.state.scheduled
  const unpublished = [...table.values()].filter((one) => isSelected(call, one, one.user_id) && one.tweet_id === null)
  const options = { trimUser: trimsUser(call) }
  return listReply(call, unpublished, { render: (one) => listedUnpublishedWire(call.world, call.state, one, options) })
}

function trimsUser(call: Call<PostsState>): boolean {
  return call.params['trim_user'] === true
}

/** Returns true for a post of the call's account that passes the filters by id and user. */
function isSelected(call: Call<PostsState>, post: { readonly id: string; readonly account_id: string | null }, userId: string): boolean {
  const user = call.params['user_id']
  return (
    post.account_id === accountOf(call).id &&
    passesFilter(listParam(call, 'tweet_ids'), post.id) &&
    (user === undefined || userId === String(user))
  )
}

/** Returns the unpublished scheduled posts that are due at `now` (milliseconds since 1970), in order of their time. */
export function duePosts(state: PostsState, now: number): DraftOrScheduledPost[] {
  return [...state.scheduled.values()]
    .filter((one) => one.tweet_id === null && one.scheduled_at !== null && Date.parse(one.scheduled_at) <= now)
    .toSorted((a, b) => Date.parse(a.scheduled_at ?? '') - Date.parse(b.scheduled_at ?? ''))
}

/** Publishes a scheduled post as `postId`, with the scheduled time. Does nothing if the scheduled post is missing or published already. */
export function publishScheduled(world: World, state: PostsState, scheduledId: string, postId: string): void {
  const post = state.scheduled.get(scheduledId)
  if (post?.scheduled_at == null || post.tweet_id !== null) return
  publish(world, state, asPublishedPost(post, postId, Date.parse(post.scheduled_at)))
  post.tweet_id = postId
  post.scheduled_status = 'SUCCEEDED'
  post.completed_at = post.scheduled_at
}

/** Stores a published post, and marks its media in the library of the account as used (`tweeted`). */
function publish(world: World, state: PostsState, post: Post): void {
  state.posts.set(post.id, post)
  const creatives = world.stateOf(areaRefs.creatives)
  for (const key of post.media_keys) {
    const media = post.account_id === null ? undefined : creatives.media.get(post.account_id)?.get(key)
    if (media !== undefined) media.tweeted = true
  }
}

/**
 * Returns the id of the user for whom the call publishes.
 *
 * @throws {Refusal} for an unknown user, or a user without access to the account (spec 5 rule 6)
 */
function advertiserOf(call: Call<PostsState>): string {
  const id = String(call.params['as_user_id'])
  const exists = call.world.users.has(id) || call.state.users.has(id)
  if (!exists) throw adsRefusal('USER_NOT_FOUND', `User ${id} was not found`, { parameter: 'as_user_id', value: id })
  if (!accountOf(call).userIds.includes(id))
    throw adsRefusal('ACTION_NOT_ALLOWED', `User ${id} has not granted access to this account`, { parameter: 'as_user_id', value: id })
  return id
}

interface Content {
  readonly text: string
  readonly media_keys: readonly string[]
  readonly card_uri: string | null
}

/** Reads and checks the content of a post. `stored`: stored content, which replaces missing parameters. @throws {Refusal} */
function contentOf(call: Call<PostsState>, stored: Content = { text: '', media_keys: [], card_uri: null }): Content {
  const text = call.givenNames.has('text') ? (textParam(call, 'text') ?? '') : stored.text
  const mediaKeys = call.givenNames.has('media_keys') ? (listParam(call, 'media_keys') ?? []) : stored.media_keys
  const cardUri = call.givenNames.has('card_uri') ? textParam(call, 'card_uri') : stored.card_uri
  if (text.trim() === '' && mediaKeys.length === 0)
    throw adsRefusal('TWEET_CANNOT_BE_BLANK', 'text is required when there are no media_keys', { parameter: 'text' })
  checkMedia(mediaKeys)
  if (cardUri !== null && cardUri !== stored.card_uri && !hasCard(call.world.stateOf(areaRefs.creatives), accountOf(call).id, cardUri))
    throw notFound('CARD_NOT_FOUND', 'card_uri', cardUri)
  return { text, media_keys: mediaKeys, card_uri: cardUri }
}

/** Checks that there are up to 4 images, or 1 GIF, or 1 video (spec 8). @throws {Refusal} */
function checkMedia(keys: readonly string[]): void {
  const kinds = keys.map((key) => {
    const kind = mediaKind(key)
    if (kind === undefined) throw adsRefusals([{ ...invalidParameter('media_keys', 'media keys', key), code: 'INVALID_MEDIA_ID' }])
    return kind.type
  })
  if (kinds.length > 1 && (kinds.length > 4 || kinds.some((kind) => kind !== 'IMAGE')))
    throw adsRefusals([
      { ...invalidParameter('media_keys', 'up to 4 images, or 1 GIF, or 1 video', keys.join(',')), code: 'INVALID_MEDIA' },
    ])
}

/** Returns `scheduled_at`. @throws {Refusal} unless it is in the future */
function futureTime(call: Call<PostsState>): string {
  const at = String(call.params['scheduled_at'])
  if (Date.parse(at) <= call.now) throw adsRefusals([invalidParameter('scheduled_at', 'a time in the future', at)])
  return at
}

/** Returns the post of the call's account whose id is in the parameter. @throws {Refusal} 404 */
function ownPost<T extends Post | DraftOrScheduledPost>(call: Call<PostsState>, parameter: string, table: ReadonlyMap<string, T>): T {
  return recordOfParam(call, parameter, table, 'TWEET_NOT_FOUND', (post) => post.account_id === accountOf(call).id)
}

function addDraftOrScheduled(
  call: Call<PostsState>,
  table: Map<string, DraftOrScheduledPost>,
  scheduledAt: string | null,
): Record<string, unknown> {
  const at = isoSeconds(call.now)
  const post: DraftOrScheduledPost = {
    ...contentOf(call),
    user_id: advertiserOf(call),
    id: call.world.newId(),
    account_id: accountOf(call).id,
    name: textParam(call, 'name'),
    nullcast: call.params['nullcast'] !== false,
    scheduled_at: scheduledAt,
    scheduled_status: 'SCHEDULED',
    completed_at: null,
    tweet_id: null,
    created_at: at,
    updated_at: at,
  }
  table.set(post.id, post)
  return draftOrScheduledWire(post)
}

function changeDraftOrScheduled(call: Call<PostsState>, post: DraftOrScheduledPost, scheduledAt: string | null): Record<string, unknown> {
  Object.assign(post, contentOf(call, { ...post, text: post.text ?? '' }))
  if (call.givenNames.has('name')) post.name = textParam(call, 'name')
  if (typeof call.params['nullcast'] === 'boolean') post.nullcast = call.params['nullcast']
  post.scheduled_at = scheduledAt
  post.updated_at = isoSeconds(call.now)
  return draftOrScheduledWire(post)
}

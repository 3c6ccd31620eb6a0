/** Handles the posts of v2: lookup, search, creation, edit and deletion (spec 4.7, 9; docs/spec-notes.md#posts). */
import type { Call, Handler, Reply } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { hasCard, type MediaObject } from '../creatives/state.ts'
import { isStrict, listParam, textParam } from '../params.ts'
import { v2ParameterRefusal, v2Problem } from '../refusal.ts'
import { countCodePoints, textOf } from '../text.ts'
import { mentionsUser } from './entities.ts'
import { isDuplicate } from './duplicates.ts'
import { newPost, type Post, type PostsState } from './state.ts'
import { hasPremium } from './userLookup.ts'
import { emitPostEvent } from '../webhooks/events.ts'
import { checkIds, notFoundError, type PartialError } from './v2Errors.ts'
import { searchPosts } from './v2Search.ts'
import { editableUntil, editsRemaining, forbiddenFields, includesOf, postSelectionOf, postWire } from './v2View.ts'
import { recordOf } from '../../unknownValue.ts'

export const v2Handlers: Readonly<Record<string, Handler<PostsState>>> = {
  'posts.lookup': (call) => answerPosts(call, 'ids', listParam(call, 'ids') ?? []),
  'posts.get': (call) => answerPosts(call, 'id', [String(call.params['id'])]), // Outside the specification.
  'posts.search': searchPosts,
  'posts.create': createPost,
  'posts.delete': deletePost,
}

/**
 * Returns the answer with the posts that have these ids. The answer has one post for `id`, and a list for `ids`. Adds an error for each
 * unknown id, and for each requested private field of another author's post.
 */
function answerPosts(call: Call<PostsState>, parameter: 'id' | 'ids', ids: readonly string[]): Reply {
  const selection = postSelectionOf(call)
  checkIds(parameter, ids)
  const posts: Post[] = []
  const errors: PartialError[] = []
  for (const id of new Set(ids)) {
    const post = call.state.posts.get(id)
    if (post === undefined) errors.push(notFoundError('tweet', parameter, id))
    else {
      posts.push(post)
      errors.push(...forbiddenFields(post, selection))
    }
  }
  const data = posts.map((post) => postWire(call.world, call.state, post, selection))
  const includes = includesOf(call.world, call.state, posts, selection)
  return {
    kind: 'json',
    body: {
      ...(data.length === 0 ? {} : { data: parameter === 'id' ? data[0] : data }),
      ...(includes === undefined ? {} : { includes }),
      ...(errors.length === 0 ? {} : { errors }),
    },
  }
}

/** Deletes a post of the caller, and emits its event. Outside the specification. */
async function deletePost(call: Call<PostsState>): Promise<Reply> {
  const id = String(call.params['id'])
  const post = call.state.posts.get(id)
  if (post === undefined) return { kind: 'json', body: { data: { deleted: false }, errors: [notFoundError('tweet', 'id', id)] } }
  if (post.author_id !== call.user?.id)
    throw v2Problem(403, 'Forbidden', 'You can delete only your own posts.', 'not-authorized-for-resource')
  call.state.posts.delete(id)
  await call.runEffect(() => Promise.resolve(emitPostEvent(call.world, 'post.delete', post)), null)
  return { kind: 'json', body: { data: { deleted: true } } }
}

/** Creates a post, or a new version of a post, and emits its event. @throws {Refusal} */
async function createPost(call: Call<PostsState>): Promise<Reply> {
  const { world, state } = call
  const { post, poll } = makePost(call)
  if (isDuplicate(world, state, post))
    throw v2Problem(403, 'Forbidden', 'You are not allowed to create a post with duplicate content.', 'about:blank')
  state.posts.set(post.id, post)
  for (const media of libraryMedia(call)) if (post.media_keys.includes(media.media_key)) media.tweeted = true
  if (poll !== undefined) state.polls.set(post.id, { id: post.id, ...poll })
  for (const id of post.edit_history) {
    const version = state.posts.get(id)
    if (version !== undefined) version.edit_history = post.edit_history
  }
  await call.runEffect(() => Promise.resolve(emitPostEvent(world, 'post.create', post)), null)
  const history =
    world.switchValue('edit_history') === 'on' ? { [`edit_history_${world.switchValue('v2_names')}_ids`]: post.edit_history } : {}
  return { kind: 'json', status: 201, body: { data: { id: post.id, text: post.text, ...history } } }
}

/** Makes the post that the body describes, and its poll. Does not store them. @throws {Refusal} */
function makePost(call: Call<PostsState>): { readonly post: Post; readonly poll: Readonly<Record<string, unknown>> | undefined } {
  const author = call.user?.id ?? ''
  const { params, state } = call
  const text = textParam(call, 'text') ?? ''
  const mediaKeys = mediaKeysOf(call, acceptedSdkFields(call, ['tagged_user_ids']))
  const cardUri = textParam(call, 'card_uri')
  const quotedId = textParam(call, 'quote_tweet_id')
  if (text.trim() === '' && mediaKeys.length === 0 && cardUri === null && quotedId === null)
    throw v2ParameterRefusal('text', text, 'text must not be blank')
  if (cardUri !== null && !hasCallersCard(call, cardUri)) throw v2ParameterRefusal('card_uri', cardUri, 'the card was not found')
  const replied = postRepliedTo(call, author)
  const previous = previousVersion(call, author)
  // Unless it names another post, the edit of a reply stays a reply to the same post.
  const repliedId = replied?.id ?? previous?.referenced.find(({ type }) => type === 'replied_to')?.id
  if (quotedId !== null && !state.posts.has(quotedId))
    throw v2ParameterRefusal('quote_tweet_id', quotedId, 'the post to quote was not found')
  const poll = pollOf(call)
  const place = placeIdOf(call)
  const id = call.world.newId()
  const post = newPost({
    id,
    text,
    poll_id: poll === undefined ? null : id,
    place_id: place,
    author_id: author,
    createdAt: call.now,
    media_keys: mediaKeys,
    card_uri: cardUri,
    conversation_id: replied?.conversation_id ?? previous?.conversation_id ?? id,
    in_reply_to_user_id: replied?.author_id ?? previous?.in_reply_to_user_id ?? null,
    referenced: [
      ...(repliedId === undefined ? [] : [{ type: 'replied_to', id: repliedId }]),
      ...(quotedId === null ? [] : [{ type: 'quoted', id: quotedId }]),
    ],
    community_id: textParam(call, 'community_id'),
    paid_partnership: params['paid_partnership'] === true,
    reply_settings: textParam(call, 'reply_settings') ?? 'everyone',
    edit_history: [...(previous?.edit_history ?? []), id],
    firstCreatedAt: previous?.firstCreatedAt ?? call.now,
  })
  return { post, poll }
}

/** Reads the poll of a body; undefined without one. Outside the specification. @throws {Refusal} */
function pollOf(call: Call<PostsState>): Readonly<Record<string, unknown>> | undefined {
  const { poll } = call.params
  if (poll === undefined || poll === null) return undefined
  const { options, duration_minutes: minutes, ...rest } = recordOf(poll)
  refuseOtherFields('poll', rest, ['reply_settings'])
  const isValidOption = (option: unknown): boolean => typeof option === 'string' && option !== '' && countCodePoints(option) <= 25
  if (!Array.isArray(options) || options.length < 2 || options.length > 4 || !options.every(isValidOption))
    throw v2ParameterRefusal('poll.options', textOf(options), 'expected 2 to 4 options of 1 to 25 characters')
  if (typeof minutes !== 'number' || !Number.isInteger(minutes) || minutes < 5 || minutes > 10_080)
    throw v2ParameterRefusal('poll.duration_minutes', textOf(minutes), 'expected 5 to 10080 minutes')
  return {
    options: options.map((label: string, index) => ({ position: index + 1, label, votes: 0 })),
    duration_minutes: minutes,
    end_datetime: new Date(call.now + minutes * 60_000).toISOString(),
    voting_status: 'open',
  }
}

function placeIdOf(call: Call<PostsState>): string | null {
  const { geo } = call.params
  if (geo === undefined || geo === null) return null
  const { place_id: id, ...rest } = recordOf(geo)
  if (typeof id !== 'string' || !call.state.places.has(id)) throw v2ParameterRefusal('geo.place_id', textOf(id), 'the place was not found')
  refuseOtherFields('geo', rest, [])
  return id
}

/**
 * Returns the post to which the call replies; undefined if it is not a reply.
 *
 * @throws {Refusal} for an invalid id, an unknown post, and another author's post that does not mention the caller (spec 9)
 */
function postRepliedTo(call: Call<PostsState>, author: string): Post | undefined {
  const reply = call.params['reply']
  if (reply === undefined || reply === null) return undefined
  const id = postIdOf(
    reply,
    'reply',
    'in_reply_to_tweet_id',
    acceptedSdkFields(call, ['exclude_reply_user_ids', 'auto_populate_reply_metadata']),
  )
  const post = call.state.posts.get(id)
  if (post === undefined) throw v2ParameterRefusal('reply.in_reply_to_tweet_id', id, 'the post to reply to was not found')
  if (post.author_id !== author && !mentionsUser(post.text, call.user?.screenName ?? ''))
    throw v2Problem(403, 'Forbidden', 'You are not permitted to reply: the author of the post has not mentioned you.', 'about:blank')
  return post
}

/**
 * Returns the version that the call edits; undefined for a new post.
 *
 * @throws {Refusal} in these cases (spec 4.7):
 * - The id is missing or malformed.
 * - The post is unknown, or of another author.
 * - The caller has no premium subscription.
 * - The first version is older than an hour, or no edits remain.
 */
function previousVersion(call: Call<PostsState>, author: string): Post | undefined {
  const options = call.params['edit_options']
  if (options === undefined || options === null) return undefined
  const id = postIdOf(options, 'edit_options', 'previous_post_id')
  const post = call.state.posts.get(id)
  if (post === undefined) throw v2ParameterRefusal('edit_options.previous_post_id', id, 'the post to edit was not found')
  if (post.author_id !== author) throw v2Problem(403, 'Forbidden', 'You can edit only your own posts.', 'not-authorized-for-resource')
  if (!hasPremium(call.world, call.state, author)) throw v2Problem(403, 'Forbidden', 'Editing needs a premium subscription.', 'about:blank')
  if (call.now > editableUntil(post))
    throw v2ParameterRefusal('edit_options.previous_post_id', id, 'a post can be edited within an hour of being made')
  if (editsRemaining(post) === 0) throw v2ParameterRefusal('edit_options.previous_post_id', id, 'the post has no edits remaining')
  return post
}

/**
 * Returns the media keys for the 1 to 4 `media_ids`. Each is the key in a library of the caller. If no library has it, the key is `3_` and
 * the id. Returns none without `media`. `alsoAllowed`: further fields that `media` may have.
 *
 * @throws {Refusal}
 */
function mediaKeysOf(call: Call<PostsState>, alsoAllowed: readonly string[]): readonly string[] {
  const { media } = call.params
  if (media === undefined || media === null) return []
  const ids = recordOf(media)['media_ids']
  refuseOtherFields('media', media, ['media_ids', ...alsoAllowed])
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > 4 || !ids.every((id) => typeof id === 'string' && /^\d{1,19}$/.test(id)))
    throw v2ParameterRefusal('media.media_ids', textOf(ids), 'expected 1 to 4 media ids')
  const library = libraryMedia(call)
  return ids.map((id: string) => library.find(({ media_key: key }) => key.endsWith(`_${id}`))?.media_key ?? `3_${id}`)
}

/** Returns the media in the libraries of the accounts to which the caller has access. */
function libraryMedia(call: Call<PostsState>): MediaObject[] {
  const { media } = call.world.stateOf(areaRefs.creatives)
  return callersAccounts(call).flatMap((id) => [...(media.get(id)?.values() ?? [])].filter(({ deleted }) => !deleted))
}

/** Returns true if an account to which the caller has access has the card. */
function hasCallersCard(call: Call<PostsState>, uri: string): boolean {
  return callersAccounts(call).some((id) => hasCard(call.world.stateOf(areaRefs.creatives), id, uri))
}

/** Returns the ids of the accounts to which the caller has access. */
function callersAccounts({ world, user }: Call<PostsState>): string[] {
  return [...world.accounts.values()].filter((account) => account.userIds.includes(user?.id ?? '')).map(({ id }) => id)
}

/** Returns `names`, undocumented fields that common clients send. Returns none with the switch `unknown_parameters: strict`. */
function acceptedSdkFields(call: Call<PostsState>, names: readonly string[]): readonly string[] {
  return isStrict(call) ? [] : names
}

/** Checks that an object in the body has only the fields `names`. @throws {Refusal} */
function refuseOtherFields(parameter: string, object: object, names: readonly string[]): void {
  const other = Object.keys(object).find((name) => !names.includes(name))
  if (other !== undefined) throw v2ParameterRefusal(`${parameter}.${other}`, '', `"${other}" is not a field of ${parameter}`)
}

/** Reads the post id in the field `name` of an object. `alsoAllowed`: other fields. @throws {Refusal} */
function postIdOf(object: unknown, parameter: string, name: string, alsoAllowed: readonly string[] = []): string {
  const fields = recordOf(object)
  refuseOtherFields(parameter, fields, [name, ...alsoAllowed])
  const value = fields[name]
  if (typeof value !== 'string' || !/^\d{1,19}$/.test(value))
    throw v2ParameterRefusal(`${parameter}.${name}`, textOf(value), `"${name}" is required and must be a post id`)
  return value
}

/**
 * Renders posts, and the objects that they reference, in the form of v2. Besides a few default fields, they have only the requested fields
 * (spec 2.6, docs/spec-notes.md#posts).
 */
import type { Call, World } from '../area.ts'
import { newMediaObject } from '../creatives/mediaKeys.ts'
import { newestEditHistory } from '../../service/contract/postResources.ts'
import { listParam } from '../params.ts'
import { PROBLEMS, v2ParameterRefusal } from '../refusal.ts'
import type { SwitchValue } from '../state/switches.ts'
import { countCodePoints } from '../text.ts'
import { contextAnnotationsOf } from './annotations.ts'
import { entitiesOf } from './entities.ts'
import type { Post, PostsState } from './state.ts'
import { hasPremium, idOfHandle, v2UserOf } from './userLookup.ts'
import type { PartialError } from './v2Errors.ts'

/** Fields and expansions that a call requests, and the caller. */
export interface Selection {
  readonly post: ReadonlySet<string>
  readonly user: ReadonlySet<string>
  readonly media: ReadonlySet<string>
  readonly place: ReadonlySet<string>
  readonly poll: ReadonlySet<string>
  readonly expansions: ReadonlySet<string>
  /** Id of the caller; undefined with an app-only token. Private metrics are shown only to the author. */
  readonly callerId: string | undefined
  /** Prefix of field names: `tweet` as in the specification, or `post` (the switch `v2_names`). */
  readonly prefix: SwitchValue<'v2_names'>
  /** True if posts have their edit history by default (the switch `edit_history`). */
  readonly showsEditHistory: boolean
}

type Wire = Record<string, unknown>

/** Reads the requested fields and expansions of a call for posts. @throws {Refusal} as `checkedPrefix` */
export function postSelectionOf(call: Call<PostsState>): Selection {
  return selectionOf(call, checkedPrefix(call))
}

/** Reads the requested fields and expansions. Replaces `edit_history_post_ids` by `edit_history_tweet_ids`. `prefix`: as in `Selection`. */
export function selectionOf(call: Call<PostsState>, prefix: Selection['prefix']): Selection {
  const requested = (name: string) =>
    new Set((listParam(call, name) ?? []).map((value) => (value === newestEditHistory ? 'edit_history_tweet_ids' : value)))
  return {
    post: requested(`${prefix}.fields`),
    user: requested('user.fields'),
    media: requested('media.fields'),
    place: requested('place.fields'),
    poll: requested('poll.fields'),
    expansions: requested('expansions'),
    callerId: call.user?.id,
    prefix,
    showsEditHistory: call.world.switchValue('edit_history') === 'on',
  }
}

/**
 * Returns the prefix of field names, `tweet` or `post` (the switch `v2_names`).
 *
 * @throws {Refusal} for fields with the other prefix, and for the expansion `edit_history_post_ids` with `tweet`
 */
function checkedPrefix(call: Call<PostsState>): Selection['prefix'] {
  const prefix = call.world.switchValue('v2_names')
  const otherName = prefix === 'post' ? 'tweet.fields' : 'post.fields'
  if (call.givenNames.has(otherName))
    throw v2ParameterRefusal(
      otherName,
      String(call.params[otherName]),
      `The query parameter [${otherName}] is not one of [ids,expansions,${prefix}.fields,media.fields,poll.fields,user.fields,place.fields]`,
    )
  if (prefix === 'tweet' && listParam(call, 'expansions')?.includes(newestEditHistory) === true)
    throw v2ParameterRefusal('expansions', newestEditHistory, `"${newestEditHistory}" is not an expansion`)
  return prefix
}

const MEDIA_TYPE = { IMAGE: 'photo', VIDEO: 'video', GIF: 'animated_gif' } as const

/** Fields with private metrics, which only the author of a post gets. */
const PRIVATE_METRICS = ['non_public_metrics', 'organic_metrics', 'promoted_metrics']

/** Returns the id and text of a post, and the selected fields that have a value. Adds the edit history if `selection.showsEditHistory`. */
export function postWire(world: World, state: PostsState, post: Post, selection: Selection): Wire {
  const wire = { id: post.id, text: post.text, ...pickFields(fieldsOf(world, state, post), visibleNames(selection, post, selection.post)) }
  if (!selection.showsEditHistory && !selection.post.has('edit_history_tweet_ids')) return wire
  return { ...wire, [`edit_history_${selection.prefix}_ids`]: post.edit_history }
}

/** Returns `names`. If the caller is not the author of the post, omits those of private metrics. */
function visibleNames({ callerId }: Selection, post: Post, names: ReadonlySet<string>): string[] {
  return [...names].filter((name) => callerId === post.author_id || !PRIVATE_METRICS.includes(name))
}

/** Returns `includes`: the objects of the requested expansions, each once, in order of first use. Undefined without such objects. */
export function includesOf(world: World, state: PostsState, posts: readonly Post[], selection: Selection): Wire | undefined {
  const { expansions } = selection
  const users = new Map<string, Wire>()
  const tweets = new Map<string, Wire>()
  const media = new Map<string, Wire>()
  const places = new Map<string, Wire>()
  const polls = new Map<string, Wire>()
  const addUser = (id: string | undefined | null) => {
    const wire = id == null ? undefined : userWire(world, state, id, selection)
    if (wire !== undefined) users.set(String(id), wire)
  }
  const addPost = (id: string) => {
    const post = state.posts.get(id)
    if (post !== undefined) tweets.set(id, postWire(world, state, post, selection))
    return post
  }
  for (const post of posts) {
    if (expansions.has('author_id')) addUser(post.author_id)
    if (expansions.has('in_reply_to_user_id')) addUser(post.in_reply_to_user_id)
    if (expansions.has('entities.mentions.username'))
      for (const { username } of entitiesOf(post.text).mentions ?? []) addUser(idOfHandle(world, state, username))
    for (const { id } of post.referenced) {
      if (expansions.has('referenced_tweets.id')) addPost(id)
      if (expansions.has('referenced_tweets.id.author_id')) addUser(addPost(id)?.author_id)
    }
    if (expansions.has('edit_history_tweet_ids')) for (const id of post.edit_history) addPost(id)
    if (expansions.has('attachments.media_keys')) for (const key of post.media_keys) media.set(key, mediaWire(state, key, post, selection))
    if (expansions.has('attachments.poll_ids') && post.poll_id !== null)
      polls.set(post.poll_id, pickFields(pollAt(state.polls.get(post.poll_id) ?? {}, world.now()), ['id', 'options', ...selection.poll]))
    if (expansions.has('geo.place_id') && post.place_id !== null)
      places.set(post.place_id, pickFields(state.places.get(post.place_id) ?? {}, ['id', 'full_name', ...selection.place]))
  }
  const included = Object.entries({ users, [selection.prefix === 'post' ? 'posts' : 'tweets']: tweets, media, places, polls }).filter(
    ([, objects]) => objects.size > 0,
  )
  return included.length === 0 ? undefined : Object.fromEntries(included.map(([name, objects]) => [name, [...objects.values()]]))
}

function mediaWire(state: PostsState, key: string, post: Post, selection: Selection): Wire {
  const media = state.media.get(key) ?? mediaOfKey(key)
  return pickFields(media, ['media_key', 'type', ...visibleNames(selection, post, selection.media)])
}

/** Returns the media with the key, with all fields of v2 that the key determines. */
function mediaOfKey(key: string): Wire {
  const media = newMediaObject(key, '')
  const type = MEDIA_TYPE[media?.media_type ?? 'IMAGE']
  if (media === undefined || type === 'photo') return { media_key: key, type, url: media?.media_url }
  return {
    media_key: key,
    type,
    preview_image_url: media.poster_media_url,
    variants: [{ content_type: 'video/mp4', url: media.media_url }],
    ...(type === 'video' ? { duration_ms: media.duration, public_metrics: { view_count: 0 } } : {}),
  }
}

/** Returns the poll as it is at `now`: closed after its end. */
function pollAt(poll: Readonly<Record<string, unknown>>, now: number): Readonly<Record<string, unknown>> {
  return Date.parse(String(poll['end_datetime'])) <= now ? { ...poll, voting_status: 'closed' } : poll
}

/** Returns an error for each requested private field of a post. If the caller is the author, returns none. */
export function forbiddenFields(post: Post, selection: Selection): PartialError[] {
  if (selection.callerId === post.author_id) return []
  return PRIVATE_METRICS.filter((name) => selection.post.has(name)).map((name) => ({
    resource_id: post.id,
    resource_type: 'tweet',
    parameter: `${selection.prefix}.fields`,
    value: name,
    title: 'Field Authorization Error',
    detail: `Sorry, you are not authorized to access '${name}' on the post ${post.id}.`,
    type: `${PROBLEMS}/not-authorized-for-field`,
  }))
}

/** Returns the fields of a post except its id, text and edit history. A field without a value is undefined. */
function fieldsOf(world: World, state: PostsState, post: Post): Wire {
  const entities = entitiesOf(post.text)
  const attachments = {
    ...(post.media_keys.length > 0 ? { media_keys: post.media_keys } : {}),
    ...(post.poll_id === null ? {} : { poll_ids: [post.poll_id] }),
  }
  const metrics = { ...post.metrics, bookmark_count: 0, impression_count: 0 }
  return {
    author_id: post.author_id,
    created_at: new Date(post.createdAt).toISOString(),
    attachments: isEmpty(attachments) ? undefined : attachments,
    public_metrics: post.metrics,
    conversation_id: post.conversation_id,
    entities: isEmpty(entities) ? undefined : entities,
    lang: 'en',
    source: 'sandbox',
    possibly_sensitive: false,
    referenced_tweets: post.referenced.length === 0 ? undefined : post.referenced,
    in_reply_to_user_id: post.in_reply_to_user_id ?? undefined,
    context_annotations: contextAnnotationsOf(post.text),
    community_id: post.community_id ?? undefined,
    paid_partnership: post.paid_partnership,
    card_uri: post.card_uri ?? undefined,
    display_text_range: [0, countCodePoints(post.text)],
    geo: post.place_id === null ? undefined : { place_id: post.place_id },
    reply_settings: post.reply_settings,
    scopes: { followers: false },
    non_public_metrics: { impression_count: 0 },
    organic_metrics: metrics,
    promoted_metrics: metrics,
    // Equal for all versions of a post. Only users with a premium subscription can edit (spec 4.7).
    edit_controls: {
      edits_remaining: editsRemaining(post),
      is_edit_eligible: hasPremium(world, state, post.author_id),
      editable_until: new Date(editableUntil(post)).toISOString(),
    },
  }
}

/** Time in which a post can be edited, from the creation of its first version (spec 4.7). */
const EDITABLE_MS = 3_600_000

/** Returns the time until which a post can be edited, in epoch milliseconds. */
export function editableUntil({ firstCreatedAt }: Post): number {
  return firstCreatedAt + EDITABLE_MS
}

/** Maximum number of edits of a post. Assumed, because the specification names no number. */
const MAX_EDITS = 5

/** Returns how often the post can still be edited. */
export function editsRemaining({ edit_history: { length: versions } }: Post): number {
  return Math.max(0, MAX_EDITS - (versions - 1))
}

/** Returns a user with the selected fields; undefined for an unknown id. Only the user itself gets `confirmed_email`. */
export function userWire(world: World, state: PostsState, id: string, selection: Selection): Wire | undefined {
  const user = v2UserOf(world, state, id)
  if (user === undefined) return undefined
  const shown = [...selection.user].filter((name) => name !== 'confirmed_email' || selection.callerId === id)
  return pickFields(user, ['id', 'name', 'username', ...shown])
}

function pickFields(object: Readonly<Record<string, unknown>>, names: readonly string[]): Wire {
  return Object.fromEntries(names.filter((name) => object[name] !== undefined).map((name) => [name, object[name]]))
}

function isEmpty(object: object): boolean {
  return Object.keys(object).length === 0
}

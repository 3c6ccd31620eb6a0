/** Handles the posts of v2: lookup, search, creation, edit and deletion (spec 4.7, 9; docs/spec-notes.md#posts). */
import type { Call, Handler, Reply, World } from '../area.ts'
import { newestEditHistory } from '../../service/contract/postResources.ts'
import { listParam } from '../params.ts'
import { mediaKind } from '../creatives/mediaKeys.ts'
import { v2ParameterRefusal, v2Problem, PROBLEMS } from '../refusal.ts'
import { codePoints } from '../text.ts'
import { mentionsUser } from './entities.ts'
import { hasPremium, isDuplicate, newPost, type Post, type PostsState } from './state.ts'
import { editableUntil, editsRemaining, forbiddenFields, includesOf, postWire, selectionOf, type PartialError } from './v2View.ts'
import { recordOf } from '../../unknownValue.ts'

/** Callback for each post that `posts.create` adds, edits included. */
export type OnPost = (world: World, post: Post) => void

/** Returns the handlers of the posts of v2. */
export function v2Handlers(onPost: OnPost): Readonly<Record<string, Handler<PostsState>>> {
  return {
    'posts.lookup': lookup,
    'posts.get': lookUpOne,
    'posts.delete': deletePost,
    'posts.search': search,
    'posts.create': async (call) => {
      const { post, poll } = readPost(call)
      if (isDuplicate(call.world, call.state, post))
        throw v2Problem(403, 'Forbidden', 'You are not allowed to create a post with duplicate content.', 'about:blank')
      call.state.posts.set(post.id, post)
      if (poll !== undefined) call.state.polls.set(post.id, { id: post.id, ...poll })
      for (const id of post.edit_history) {
        const version = call.state.posts.get(id)
        if (version !== undefined) version.edit_history = post.edit_history
      }
      await call.effect(() => Promise.resolve(onPost(call.world, post)), undefined)
      const history = call.world.switch('edit_history') === 'on' ? { [`edit_history_${fieldPrefixOf(call)}_ids`]: post.edit_history } : {}
      return { kind: 'json', status: 201, body: { data: { id: post.id, text: post.text, ...history } } }
    },
  }
}

function lookup(call: Call<PostsState>): Reply {
  const ids = listParam(call, 'ids') ?? []
  return answerPosts(call, 'ids', ids, (posts) => (posts.length === 0 ? {} : { data: posts }))
}

/** Answers a single post. The specification does not have this endpoint. */
function lookUpOne(call: Call<PostsState>): Reply {
  return answerPosts(call, 'id', [String(call.params['id'])], ([post]) => (post === undefined ? {} : { data: post }))
}

/** Answers the found posts, with an error for each unknown id. `parameter`: that of the ids. `dataOf` returns `data`. */
function answerPosts(
  call: Call<PostsState>,
  parameter: 'id' | 'ids',
  ids: readonly string[],
  dataOf: (posts: readonly unknown[]) => object,
): Reply {
  const names = checkedPrefix(call)
  const bad = ids.find((id) => !/^\d{1,19}$/.test(id))
  if (bad !== undefined)
    throw v2ParameterRefusal(
      parameter,
      bad,
      `The \`${parameter}\` ${parameter === 'ids' ? 'query' : 'path'} parameter value [${bad}] is not valid`,
    )
  const selection = selectionOf(call, names)
  const posts: Post[] = []
  const errors: PartialError[] = []
  for (const id of new Set(ids)) {
    const post = call.state.posts.get(id)
    if (post === undefined) errors.push(missing(id, parameter))
    else {
      posts.push(post)
      errors.push(...forbiddenFields(post, selection, `${names}.fields`))
    }
  }
  const includes = includesOf(call.world, call.state, posts, selection)
  return {
    kind: 'json',
    body: {
      ...dataOf(posts.map((post) => postWire(call.world, call.state, post, selection))),
      ...(includes === undefined ? {} : { includes }),
      ...(errors.length === 0 ? {} : { errors }),
    },
  }
}

/**
 * Returns the prefix of field names, `tweet` or `post` (the switch `v2_names`).
 *
 * @throws {Refusal} for fields with the other prefix, and for the expansion `edit_history_post_ids` with `tweet`
 */
function checkedPrefix(call: Call<PostsState>): 'tweet' | 'post' {
  const names = fieldPrefixOf(call)
  const unwanted = names === 'post' ? 'tweet.fields' : 'post.fields'
  if (call.given.has(unwanted))
    throw v2ParameterRefusal(
      unwanted,
      String(call.params[unwanted]),
      `The query parameter [${unwanted}] is not one of [ids,expansions,${names}.fields,media.fields,poll.fields,user.fields,place.fields]`,
    )
  if (names === 'tweet' && listParam(call, 'expansions')?.includes(newestEditHistory) === true)
    throw v2ParameterRefusal('expansions', newestEditHistory, `"${newestEditHistory}" is not an expansion`)
  return names
}

/**
 * Searches the caller's posts, newest first. With an app-only token, searches the posts of all users. Does not find `nullcast` posts.
 * Outside the specification.
 */
function search(call: Call<PostsState>): Reply {
  const names = checkedPrefix(call)
  const selection = selectionOf(call, names)
  const terms = readQuery(String(call.params['query']))
  const [start, end] = ['start_time', 'end_time'].map((name) => (call.given.has(name) ? Date.parse(String(call.params[name])) : undefined))
  const found = [...call.state.posts.values()]
    .filter(
      (post) =>
        (call.user === undefined || post.author_id === call.user.id) &&
        !post.nullcast &&
        (start === undefined || post.createdAt >= start) &&
        (end === undefined || post.createdAt < end) &&
        terms.every((term) => term(call, post)),
    )
    .toSorted((a, b) => b.createdAt - a.createdAt || (BigInt(b.id) > BigInt(a.id) ? 1 : -1))
  const first = call.given.has('next_token') ? found.findIndex((post) => post.id === String(call.params['next_token'])) : 0
  if (first === -1) throw v2ParameterRefusal('next_token', String(call.params['next_token']), 'next_token is not of an earlier answer')
  const count = Number(call.params['max_results'])
  const page = found.slice(first, first + count)
  const next = found[first + count]
  const includes = includesOf(call.world, call.state, page, selection)
  return {
    kind: 'json',
    body: {
      ...(page.length === 0 ? {} : { data: page.map((post) => postWire(call.world, call.state, post, selection)) }),
      ...(includes === undefined ? {} : { includes }),
      meta: {
        result_count: page.length,
        ...(page.length === 0 ? {} : { newest_id: page[0]?.id, oldest_id: page.at(-1)?.id }),
        ...(next === undefined ? {} : { next_token: next.id }),
      },
    },
  }
}

type Term = (call: Call<PostsState>, post: Post) => boolean

/**
 * Reads a query: words, phrases in quotes, addresses, `from:` with a handle or id, `min_likes:N`, `min_replies:N` and `min_reposts:N`. `-`
 * negates a term. `#tag` and `@handle` are searched as text.
 *
 * @throws {Refusal} for another operator
 */
function readQuery(query: string): readonly Term[] {
  return [...query.matchAll(/(-?)(?:(\w+):)?(?:"([^"]+)"|(\S+))/g)].map(([whole, minus, operator, phrase, word = '']): Term => {
    const value = (phrase ?? word).toLowerCase()
    const term = operator === undefined ? hasText(value) : byOperator(operator, value)
    if (term === undefined) throw v2ParameterRefusal('query', whole, `the operator ${operator ?? ''}: is not served`)
    return minus === '-' ? (call, post) => !term(call, post) : term
  })
}

function hasText(value: string): Term {
  return (_, post) => post.text.toLowerCase().includes(value)
}

/** Returns the term of an operator with its value; undefined for an unknown operator. */
function byOperator(operator: string, value: string): Term | undefined {
  const least =
    (count: (post: Post) => number): Term =>
    (_, post) =>
      count(post) >= Number(value)
  switch (operator) {
    case 'from':
      return (call, post) => {
        const user = call.world.users.get(post.author_id)?.screenName ?? call.state.users.get(post.author_id)?.['username']
        return post.author_id === value || String(user).toLowerCase() === value.replace(/^@/, '')
      }
    case 'min_likes':
      return least((post) => post.metrics.like_count)
    case 'min_replies':
      return least((post) => post.metrics.reply_count)
    case 'min_reposts':
      return least((post) => post.metrics.retweet_count)
    case 'https':
    case 'http':
      return hasText(`${operator}:${value}`)
    default:
      return undefined
  }
}

/** Deletes a post of the caller. Outside the specification. */
function deletePost(call: Call<PostsState>): Reply {
  const id = String(call.params['id'])
  const post = call.state.posts.get(id)
  if (post === undefined) return { kind: 'json', body: { data: { deleted: false }, errors: [missing(id, 'id')] } }
  if (post.author_id !== call.user?.id)
    throw v2Problem(403, 'Forbidden', 'You can delete only your own posts.', 'not-authorized-for-resource')
  call.state.posts.delete(id)
  return { kind: 'json', body: { data: { deleted: true } } }
}

/** Creates the post that the body describes, with its poll. Does not store them. @throws {Refusal} */
function readPost(call: Call<PostsState>): { readonly post: Post; readonly poll: Readonly<Record<string, unknown>> | undefined } {
  const author = call.user?.id ?? ''
  const { params, state } = call
  const text = typeof params['text'] === 'string' ? params['text'] : ''
  const mediaKeys = mediaOf(params['media'], sdkFields(call, ['tagged_user_ids']))
  if (text.trim() === '' && mediaKeys.length === 0 && params['card_uri'] === undefined && params['quote_tweet_id'] === undefined)
    throw v2ParameterRefusal('text', text, 'text must not be blank')
  const replied = repliedPost(call, author)
  const edited = editedPost(call, author)
  const quoted = typeof params['quote_tweet_id'] === 'string' ? params['quote_tweet_id'] : undefined
  if (quoted !== undefined && !state.posts.has(quoted))
    throw v2ParameterRefusal('quote_tweet_id', quoted, 'the post to quote was not found')
  const poll = pollOf(call)
  const place = placeOf(call)
  const id = call.world.newId()
  const post = newPost({
    id,
    text,
    poll_id: poll === undefined ? null : id,
    place_id: place,
    author_id: author,
    createdAt: call.now,
    media_keys: mediaKeys,
    card_uri: typeof params['card_uri'] === 'string' ? params['card_uri'] : null,
    conversation_id: replied?.conversation_id ?? edited?.conversation_id ?? id,
    in_reply_to_user_id: replied?.author_id ?? null,
    referenced: [
      ...(replied === undefined ? [] : [{ type: 'replied_to', id: replied.id }]),
      ...(quoted === undefined ? [] : [{ type: 'quoted', id: quoted }]),
    ],
    community_id: typeof params['community_id'] === 'string' ? params['community_id'] : null,
    share_with_followers: params['share_with_followers'] === true,
    paid_partnership: params['paid_partnership'] === true,
    reply_settings: typeof params['reply_settings'] === 'string' ? params['reply_settings'] : 'everyone',
    edit_history: [...(edited?.edit_history ?? []), id],
  })
  return { post, poll }
}

/** Reads the poll of a body; undefined without one. Outside the specification. @throws {Refusal} */
function pollOf(call: Call<PostsState>): Readonly<Record<string, unknown>> | undefined {
  const { poll } = call.params
  if (poll === undefined || poll === null) return undefined
  const { options, duration_minutes: minutes, ...rest } = recordOf(poll)
  const extra = Object.keys(rest).find((name) => name !== 'reply_settings')
  if (extra !== undefined) throw v2ParameterRefusal(`poll.${extra}`, '', `"${extra}" is not a field of poll`)
  const fits = (option: unknown): boolean => typeof option === 'string' && option !== '' && codePoints(option) <= 25
  if (!Array.isArray(options) || options.length < 2 || options.length > 4 || !options.every(fits))
    throw v2ParameterRefusal('poll.options', JSON.stringify(options ?? null), 'expected 2 to 4 options of 1 to 25 characters')
  if (typeof minutes !== 'number' || !Number.isInteger(minutes) || minutes < 5 || minutes > 10_080)
    throw v2ParameterRefusal('poll.duration_minutes', JSON.stringify(minutes ?? null), 'expected 5 to 10080 minutes')
  return {
    options: options.map((label: string, index) => ({ position: index + 1, label, votes: 0 })),
    duration_minutes: minutes,
    end_datetime: new Date(call.now + minutes * 60_000).toISOString(),
    voting_status: 'open',
  }
}

function placeOf(call: Call<PostsState>): string | null {
  const { geo } = call.params
  if (geo === undefined || geo === null) return null
  const id = recordOf(geo)['place_id']
  if (typeof id !== 'string' || !call.state.places.has(id))
    throw v2ParameterRefusal('geo.place_id', typeof id === 'string' ? id : '', 'the place was not found')
  return id
}

/**
 * Returns the post that is replied to; undefined without one.
 *
 * @throws {Refusal} unless the post exists, and is the caller's or mentions the caller (spec 9)
 */
function repliedPost(call: Call<PostsState>, author: string): Post | undefined {
  const reply = call.params['reply']
  if (reply === undefined || reply === null) return undefined
  const id = postIdOf(reply, 'reply', 'in_reply_to_tweet_id', sdkFields(call, ['exclude_reply_user_ids', 'auto_populate_reply_metadata']))
  const post = call.state.posts.get(id)
  if (post === undefined) throw v2ParameterRefusal('reply.in_reply_to_tweet_id', id, 'the post to reply to was not found')
  if (post.author_id !== author && !mentionsUser(post.text, call.user?.screenName ?? ''))
    throw v2Problem(403, 'Forbidden', 'You are not permitted to reply: the author of the post has not mentioned you.', 'client-forbidden')
  return post
}

/**
 * Returns the post that is edited; undefined without one.
 *
 * @throws {Refusal} unless it is the caller's, its first version is at most an hour old, the caller has a premium subscription (spec 4.7),
 * and it has edits remaining
 */
function editedPost(call: Call<PostsState>, author: string): Post | undefined {
  const options = call.params['edit_options']
  if (options === undefined || options === null) return undefined
  const id = postIdOf(options, 'edit_options', 'previous_post_id')
  const post = call.state.posts.get(id)
  if (post === undefined) throw v2ParameterRefusal('edit_options.previous_post_id', id, 'the post to edit was not found')
  if (post.author_id !== author) throw v2Problem(403, 'Forbidden', 'You can edit only your own posts.', 'not-authorized-for-resource')
  if (!hasPremium(call.world, call.state, author))
    throw v2Problem(403, 'Forbidden', 'Editing needs a premium subscription.', 'client-forbidden')
  if (call.now > editableUntil(call.state, post))
    throw v2ParameterRefusal('edit_options.previous_post_id', id, 'a post can be edited within an hour of being made')
  if (editsRemaining(post) === 0) throw v2ParameterRefusal('edit_options.previous_post_id', id, 'the post has no edits remaining')
  return post
}

/** Returns the 1 to 4 `media_ids` as keys of images (`3_ID`); none without `media`. `besides`: other accepted fields. @throws {Refusal} */
function mediaOf(media: unknown, besides: readonly string[]): readonly string[] {
  if (media === undefined || media === null) return []
  const ids = recordOf(media)['media_ids']
  const extra = Object.keys(media).find((name) => name !== 'media_ids' && !besides.includes(name))
  if (extra !== undefined) throw v2ParameterRefusal(`media.${extra}`, '', `"${extra}" is not a field of media`)
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > 4 || !ids.every((id) => typeof id === 'string' && /^\d{1,19}$/.test(id)))
    throw v2ParameterRefusal('media.media_ids', JSON.stringify(ids ?? null), 'expected 1 to 4 media ids')
  return ids.map((id: string) => (mediaKind(id) === undefined ? `3_${id}` : id))
}

/** Returns `names`, fields that common clients also send; none with the switch `unknown_parameters: strict`. */
function sdkFields(call: Call<PostsState>, names: readonly string[]): readonly string[] {
  return call.world.switch('unknown_parameters') === 'strict' ? [] : names
}

/** Reads the post id in the field `name` of an object. `besides`: other fields that are accepted. @throws {Refusal} */
function postIdOf(object: unknown, parameter: string, name: string, besides: readonly string[] = []): string {
  const fields = recordOf(object)
  const extra = Object.keys(fields).find((one) => one !== name && !besides.includes(one))
  if (extra !== undefined) throw v2ParameterRefusal(`${parameter}.${extra}`, '', `"${extra}" is not a field of ${parameter}`)
  const value = fields[name]
  if (typeof value !== 'string' || !/^\d{1,19}$/.test(value))
    throw v2ParameterRefusal(`${parameter}.${name}`, String(value), `"${name}" is required and must be a post id`)
  return value
}

function fieldPrefixOf(call: Call<PostsState>): 'tweet' | 'post' {
  return call.world.switch('v2_names') === 'post' ? 'post' : 'tweet'
}

function missing(id: string, parameter: 'id' | 'ids'): PartialError {
  return {
    resource_id: id,
    resource_type: 'tweet',
    parameter,
    value: id,
    title: 'Not Found Error',
    detail: `Could not find tweet with ${parameter}: [${id}].`,
    type: `${PROBLEMS}/resource-not-found`,
  }
}

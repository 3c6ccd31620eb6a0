/** `GET` and `POST /2/tweets` (spec 4.7, 9; gaps 9). */
import type { Call, Handler, Reply, World } from '../area.ts'
import { listParam } from '../params.ts'
import { mediaKind } from '../creatives/mediaKeys.ts'
import { badParameter, problem, PROBLEMS } from '../refusal.ts'
import { mentionsUser } from './entities.ts'
import { isDuplicate, newPost, type Post, type PostsState } from './state.ts'
import { forbiddenFields, includesOf, postWire, type PartialError, type Selection } from './v2View.ts'

const HOUR = 3_600_000

/** Tells the activity area of a new post; it sends what subscriptions ask for. */
export type OnPost = (world: World, post: Post) => void

export function v2Handlers(onPost: OnPost): Readonly<Record<string, Handler<PostsState>>> {
  return {
    'posts.lookup': lookup,
    'posts.create': async (call) => {
      const post = draft(call)
      if (isDuplicate(call.world, call.state, post))
        throw problem(403, 'Forbidden', 'You are not allowed to create a post with duplicate content.', 'about:blank')
      call.state.posts.set(post.id, post)
      for (const id of post.edit_history) {
        const version = call.state.posts.get(id)
        if (version !== undefined) version.edit_history = post.edit_history
      }
      await call.effect(() => Promise.resolve(onPost(call.world, post)))
      const history = call.world.switch('edit_history') === 'on' ? { [`edit_history_${namesOf(call)}_ids`]: post.edit_history } : {}
      return { kind: 'json', status: 201, body: { data: { id: post.id, text: post.text, ...history } } }
    },
  }
}

function lookup(call: Call<PostsState>): Reply {
  const names = namesOf(call)
  const unwanted = names === 'post' ? 'tweet.fields' : 'post.fields'
  if (call.given.has(unwanted))
    throw badParameter(
      unwanted,
      String(call.params[unwanted]),
      `The query parameter [${unwanted}] is not one of [ids,expansions,${names}.fields,media.fields,poll.fields,user.fields,place.fields]`,
    )
  const ids = listParam(call, 'ids') ?? []
  const bad = ids.find((id) => !/^\d{1,19}$/.test(id))
  if (bad !== undefined) throw badParameter('ids', bad, `The \`ids\` query parameter value [${bad}] is not valid`)
  const selection = selectionOf(call, names)
  const posts: Post[] = []
  const errors: PartialError[] = []
  for (const id of new Set(ids)) {
    const post = call.state.posts.get(id)
    if (post === undefined) errors.push(missing(id))
    else {
      posts.push(post)
      errors.push(...forbiddenFields(post, selection, `${names}.fields`))
    }
  }
  const includes = includesOf(call.world, call.state, posts, selection)
  return {
    kind: 'json',
    body: {
      ...(posts.length === 0 ? {} : { data: posts.map((post) => postWire(post, selection)) }),
      ...(includes === undefined ? {} : { includes }),
      ...(errors.length === 0 ? {} : { errors }),
    },
  }
}

function selectionOf(call: Call<PostsState>, names: 'tweet' | 'post'): Selection {
  const set = (name: string) => new Set(listParam(call, name) ?? [])
  return {
    post: set(`${names}.fields`),
    user: set('user.fields'),
    media: set('media.fields'),
    place: set('place.fields'),
    poll: set('poll.fields'),
    expansions: set('expansions'),
    userId: call.user?.id,
    names,
    editHistory: call.world.switch('edit_history') === 'on',
  }
}

/** The post that a body describes, checked but not stored. */
function draft(call: Call<PostsState>): Post {
  const author = call.user?.id ?? ''
  const { params, state } = call
  const text = typeof params['text'] === 'string' ? params['text'] : ''
  const mediaKeys = mediaOf(params['media'])
  if (text.trim() === '' && mediaKeys.length === 0 && params['card_uri'] === undefined && params['quote_tweet_id'] === undefined)
    throw badParameter('text', text, 'text must not be blank')
  const replied = repliedPost(call, author)
  const edited = editedPost(call, author)
  const quoted = typeof params['quote_tweet_id'] === 'string' ? params['quote_tweet_id'] : undefined
  if (quoted !== undefined && !state.posts.has(quoted)) throw badParameter('quote_tweet_id', quoted, 'the post to quote was not found')
  const id = call.world.newId()
  return newPost({
    id,
    text,
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
}

/** Who replies must have been summoned by the author of the post replied to (spec 9). */
function repliedPost(call: Call<PostsState>, author: string): Post | undefined {
  const reply = call.params['reply']
  if (reply === undefined || reply === null) return undefined
  const id = onlyText(reply, 'reply', 'in_reply_to_tweet_id')
  const post = call.state.posts.get(id)
  if (post === undefined) throw badParameter('reply.in_reply_to_tweet_id', id, 'the post to reply to was not found')
  if (post.author_id !== author && !mentionsUser(post.text, call.user?.screenName ?? ''))
    throw problem(403, 'Forbidden', 'You are not permitted to reply: the author of the post has not mentioned you.', 'client-forbidden')
  return post
}

/** An own post of the last hour, by a user with a premium subscription (spec 4.7). */
function editedPost(call: Call<PostsState>, author: string): Post | undefined {
  const options = call.params['edit_options']
  if (options === undefined || options === null) return undefined
  const id = onlyText(options, 'edit_options', 'previous_post_id')
  const post = call.state.posts.get(id)
  if (post === undefined) throw badParameter('edit_options.previous_post_id', id, 'the post to edit was not found')
  if (post.author_id !== author) throw problem(403, 'Forbidden', 'You can edit only your own posts.', 'not-authorized-for-resource')
  const subscription = call.state.users.get(author)?.['subscription_type']
  if (typeof subscription !== 'string' || !subscription.startsWith('Premium'))
    throw problem(403, 'Forbidden', 'Editing needs a premium subscription.', 'client-forbidden')
  const first = call.state.posts.get(post.edit_history[0] ?? id) ?? post
  if (call.now - first.createdAt > HOUR)
    throw badParameter('edit_options.previous_post_id', id, 'a post can be edited within an hour of being made')
  return post
}

function mediaOf(media: unknown): readonly string[] {
  if (media === undefined || media === null) return []
  const ids = (media as Readonly<Record<string, unknown>>)['media_ids']
  const extra = Object.keys(media).find((name) => name !== 'media_ids')
  if (extra !== undefined) throw badParameter(`media.${extra}`, '', `"${extra}" is not a field of media`)
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > 4 || !ids.every((id) => typeof id === 'string' && /^\d{1,19}$/.test(id)))
    throw badParameter('media.media_ids', JSON.stringify(ids ?? null), 'expected 1 to 4 media ids')
  return ids.map((id: string) => (mediaKind(id) === undefined ? `3_${id}` : id))
}

function onlyText(object: unknown, parameter: string, name: string): string {
  const fields = object as Readonly<Record<string, unknown>>
  const extra = Object.keys(fields).find((one) => one !== name)
  if (extra !== undefined) throw badParameter(`${parameter}.${extra}`, '', `"${extra}" is not a field of ${parameter}`)
  const value = fields[name]
  if (typeof value !== 'string' || !/^\d{1,19}$/.test(value))
    throw badParameter(`${parameter}.${name}`, String(value), `"${name}" is required and must be a post id`)
  return value
}

function namesOf(call: Call<PostsState>): 'tweet' | 'post' {
  return call.world.switch('v2_names') === 'post' ? 'post' : 'tweet'
}

function missing(id: string): PartialError {
  return {
    resource_id: id,
    resource_type: 'tweet',
    parameter: 'ids',
    value: id,
    title: 'Not Found Error',
    detail: `Could not find tweet with ids: [${id}].`,
    type: `${PROBLEMS}/resource-not-found`,
  }
}

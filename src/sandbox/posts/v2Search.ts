/** Searches posts in v2. Supports some operators of queries. The specification does not show this endpoint. */
import type { Call, Reply } from '../area.ts'
import { v2ParameterRefusal } from '../refusal.ts'
import type { Post, PostsState } from './state.ts'
import { v2UserOf } from './userLookup.ts'
import { includesOf, postSelectionOf, postWire } from './v2View.ts'

/**
 * Searches the caller's posts, newest first. With an app-only token, searches the posts of all users. Does not find `nullcast` posts.
 */
export function searchPosts(call: Call<PostsState>): Reply {
  const selection = postSelectionOf(call)
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
  const startIndex = call.given.has('next_token') ? found.findIndex((post) => post.id === String(call.params['next_token'])) : 0
  if (startIndex === -1)
    throw v2ParameterRefusal('next_token', String(call.params['next_token']), 'next_token must be from an earlier answer')
  const count = Number(call.params['max_results'])
  const page = found.slice(startIndex, startIndex + count)
  const next = found[startIndex + count]
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
 * Reads a query: words, phrases in quotes, URLs, `from:` with a handle or id, `min_likes:N`, `min_replies:N` and `min_reposts:N`. `-`
 * negates a term. All else is searched as text: `#tag`, `@handle`, `OR`, parentheses, and an operator without a value, except `min_…:`.
 *
 * @throws {Refusal} for another operator with a value, or if N is not a whole number
 */
function readQuery(query: string): readonly Term[] {
  return [...query.matchAll(TERM_PATTERN)].map(([whole, minus, operator, phrase, word = '']): Term => {
    const value = (phrase ?? word).toLowerCase()
    const term = operator === undefined ? hasText(value) : byOperator(operator, value)
    if (term === undefined) throw v2ParameterRefusal('query', whole, `the term ${whole} is not supported`)
    return minus === '-' ? (call, post) => !term(call, post) : term
  })
}

/** Matches one term. The last alternative matches the empty value after `min_likes:`, which `byOperator` rejects. */
const TERM_PATTERN = /(-?)(?:(\w+):)?(?:"([^"]+)"|(\S+)|(?<=min_\w+:))/g

function hasText(value: string): Term {
  return (_, post) => post.text.toLowerCase().includes(value)
}

/** Returns the term of an operator with its value; undefined for an unknown operator, and for a wrong number. */
function byOperator(operator: string, value: string): Term | undefined {
  const atLeast = (count: (post: Post) => number): Term | undefined => {
    if (!/^\d+$/.test(value)) return undefined
    return (_, post) => count(post) >= Number(value)
  }
  switch (operator) {
    case 'from':
      return (call, post) => {
        const handle = v2UserOf(call.world, call.state, post.author_id)?.['username']
        return post.author_id === value || String(handle).toLowerCase() === value.replace(/^@/, '')
      }
    case 'min_likes':
      return atLeast((post) => post.metrics.like_count)
    case 'min_replies':
      return atLeast((post) => post.metrics.reply_count)
    case 'min_reposts':
      return atLeast((post) => post.metrics.retweet_count)
    case 'https':
    case 'http':
      return hasText(`${operator}:${value}`)
    default:
      return undefined
  }
}

/** Searches posts in v2. Supports some operators of queries (docs/spec-notes.md#posts). The specification does not show this endpoint. */
import type { Call, Reply } from '../area.ts'
import { v2ParameterRefusal } from '../refusal.ts'
import type { Post, PostsState } from './state.ts'
import { v2UserOf } from './userLookup.ts'
import { includesOf, postSelectionOf, postWire } from './v2View.ts'

/** Searches the caller's posts, newest first. With an app-only token, searches the posts of all users. Does not find `nullcast` posts. */
export function searchPosts(call: Call<PostsState>): Reply {
  const selection = postSelectionOf(call)
  const matches = readQuery(String(call.params['query']))
  const [start, end] = ['start_time', 'end_time'].map((name) =>
    call.givenNames.has(name) ? Date.parse(String(call.params[name])) : undefined,
  )
  const matchingPosts = [...call.state.posts.values()]
    .filter(
      (post) =>
        (call.user === undefined || post.author_id === call.user.id) &&
        !post.nullcast &&
        (start === undefined || post.createdAt >= start) &&
        (end === undefined || post.createdAt < end) &&
        matches(call, post),
    )
    .toSorted((a, b) => b.createdAt - a.createdAt || (BigInt(b.id) > BigInt(a.id) ? 1 : -1))
  const startIndex = call.givenNames.has('next_token')
    ? matchingPosts.findIndex((post) => post.id === String(call.params['next_token']))
    : 0
  if (startIndex === -1)
    throw v2ParameterRefusal('next_token', String(call.params['next_token']), 'next_token must be from an earlier answer')
  const count = Number(call.params['max_results'])
  const page = matchingPosts.slice(startIndex, startIndex + count)
  const next = matchingPosts[startIndex + count]
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
 * Parses a query: words, phrases in quotes, URLs, `from:` with a handle or id, `min_likes:N`, `min_replies:N` and `min_reposts:N`. Terms
 * beside each other must all match. `a b OR c` means (a and b) or c. Parentheses group. `-` negates a term or a group. `#tag` and
 * `@handle` are searched as text.
 *
 * @throws {Refusal} for another operator, or if the other part of an operator, quote, parenthesis or `OR` is missing
 */
function readQuery(query: string): Term {
  const tokens = tokensOf(query)
  let at = 0
  const queryRefusal = (part: string, problem: string) => v2ParameterRefusal('query', part, problem)
  const anyOf = (): Term => {
    const parts = [allOf()]
    while (tokens[at]?.text === 'OR') {
      at++
      parts.push(allOf())
    }
    return (call, post) => parts.some((part) => part(call, post))
  }
  const allOf = (): Term => {
    const parts: Term[] = []
    for (let token = tokens[at]; token !== undefined && token.text !== 'OR' && token.text !== ')'; token = tokens[at]) {
      at++
      const term = token.term ?? group(token)
      parts.push(token.text.startsWith('-') ? (call, post) => !term(call, post) : term)
    }
    if (parts.length === 0)
      throw queryRefusal(tokens[at]?.text ?? tokens[at - 1]?.text ?? query, 'a term is missing before or after this part')
    return (call, post) => parts.every((part) => part(call, post))
  }
  const group = ({ text }: Token): Term => {
    const inner = anyOf()
    if (tokens[at]?.text !== ')') throw queryRefusal(text, 'the parenthesis is not closed')
    at++
    return inner
  }
  const whole = anyOf()
  const rest = tokens[at]
  if (rest !== undefined) throw queryRefusal(rest.text, 'the parenthesis was not opened')
  return whole
}

/** Part of a query. */
interface Token {
  readonly text: string
  /** Term without its negation; undefined for `OR` and parentheses. */
  readonly term?: Term
}

/** Matches a parenthesis, or a term. The value after an operator may be missing. */
const tokenPattern = /\s*(?:(-?\(|\))|(-?)(\w+:)?(?:"([^"]+)"|([^\s()"]+)|(?<=:)))/gy

/** Splits a query. @throws {Refusal} for an unsupported operator, one without a value, and a quote that is empty or not closed */
function tokensOf(query: string): readonly Token[] {
  const tokens: Token[] = []
  let read = 0
  for (const { 0: whole, 1: parenthesis, 3: operator, 4: phrase, 5: word = '', index } of query.matchAll(tokenPattern)) {
    read = index + whole.length
    const text = whole.trim()
    if (parenthesis !== undefined || text === 'OR') tokens.push({ text })
    else if (text === 'AND') throw v2ParameterRefusal('query', text, 'terms beside each other must all match: leave out AND')
    else {
      const value = (phrase ?? word).toLowerCase()
      const term = operator === undefined ? hasText(value) : value === '' ? undefined : byOperator(operator.slice(0, -1), value)
      if (text === '-') throw v2ParameterRefusal('query', text, 'a term is missing directly after -')
      if (term === undefined) throw v2ParameterRefusal('query', text, `the term ${text} is not supported`)
      tokens.push({ text, term })
    }
  }
  const rest = query.slice(read).trim()
  if (rest !== '') throw v2ParameterRefusal('query', rest, 'the quote is empty or not closed')
  return tokens
}

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

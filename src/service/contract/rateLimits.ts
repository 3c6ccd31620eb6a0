/** Rate limits by name (spec 8, docs/spec-notes.md#limits). */

/**
 * Rate limit: a number of requests in a window, which begins with its first request (docs/spec-notes.md#limits).
 *
 * - `per`: scope of the count
 * - `shared`: true if all endpoints with this limit are counted together, false if each has its own count
 * - `isSpecified`: true if the specification has the number. Any other number is published elsewhere or assumed.
 */
export interface RateLimit {
  readonly limit: number
  readonly windowMs: number
  readonly per: 'user' | 'app' | 'account'
  readonly shared: boolean
  readonly isSpecified: boolean
  readonly source: string
}

const minute = 60_000
const quarterHour = 15 * minute
const day = 24 * 60 * minute

const notes = 'docs/spec-notes.md#limits'
const inQuarterHour =
  (per: RateLimit['per']) =>
  (limit: number, source = notes): RateLimit => ({ limit, windowMs: quarterHour, per, shared: false, isSpecified: false, source })
const perUser = inQuarterHour('user')
const perApp = inQuarterHour('app')
const perAccount = inQuarterHour('account')

/** All rate limits, by the name in `Endpoint.limit`. */
export const rateLimits = {
  ads_writes: { limit: 450, windowMs: minute, per: 'user', shared: true, isSpecified: false, source: notes },
  user_lists: { limit: 1500, windowMs: minute, per: 'user', shared: false, isSpecified: true, source: 'spec 8 User-list rate' },
  total_count: { limit: 200, windowMs: quarterHour, per: 'user', shared: false, isSpecified: true, source: 'spec Conventions; spec 8' },
  core_reads: perAccount(10_000),
  account_reads: perAccount(2_000),
  targeting_reads: perAccount(400),
  keyword_insights: perUser(500),
  global_reads: perUser(2_000),
  catalog_reads: perUser(1_000),
  catalog_writes: perUser(20),
  product_reads: perUser(1_000),
  product_puts: perUser(600),
  product_deletes: perUser(150),
  product_set_reads: perUser(2_000),
  product_set_posts: perUser(100),
  product_set_puts: perUser(500),
  product_set_deletes: perUser(100),
  feed_reads: perUser(1_000),
  feed_writes: perUser(20),
  sandbox_only: perUser(2_000, 'assumed: the sandbox host publishes none'),
  oauth: perApp(900, `${notes}: assumed`),
  /** A request above this limit is refused with 403 code 99, not 429. */
  bearer_tokens: perApp(50, `${notes}: assumed`),
  v2_lookups: perApp(3_500),
  /** Limit of `v2_lookups` for a request that a user signed. */
  v2_lookups_user: perUser(5_000),
  v2_posts: perUser(100),
  /** Limit of the app, beside the limit `v2_posts` of each user: a request counts against both. */
  v2_posts_app: { limit: 10_000, windowMs: day, per: 'app', shared: false, isSpecified: false, source: notes },
  webhooks: perApp(450),
  webhook_replay: perApp(100),
  activity_subscriptions: perApp(500),
  activity_stream: perApp(50, 'assumed: unpublished'),
} as const satisfies Readonly<Record<string, RateLimit>>

export type LimitClass = keyof typeof rateLimits

/**
 * Returns the rate limit with the name. The name may be any text, because it is read from stored plans.
 *
 * @throws {RangeError} for an unknown name: a mistake in the code
 */
export function limitOf(limitClass: string): RateLimit {
  const byName: Readonly<Record<string, RateLimit>> = rateLimits
  const limit = byName[limitClass]
  if (limit === undefined) throw new RangeError(`no rate limit class ${limitClass}`)
  return limit
}

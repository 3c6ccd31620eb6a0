/** Every number of spec 8 and of spec/gaps.md 1: request rates by class, and the sizes that the areas share. */

/**
 * A fixed window that begins with its first request (spec/gaps.md 1 'Window').
 *
 * `per`: whose requests are counted together. `shared`: one budget over all endpoints of the class; otherwise one each.
 * `named`: the specification itself names the number; the others are published elsewhere or assumed.
 */
export interface RateLimit {
  readonly limit: number
  readonly windowMs: number
  readonly per: 'user' | 'app' | 'account'
  readonly shared: boolean
  readonly named: boolean
  readonly source: string
}

const minute = 60_000
const quarter = 15 * minute
const day = 24 * 60 * minute

const gaps1 = 'spec/gaps.md 1'
const perUser = (limit: number, source = gaps1): RateLimit => ({
  limit,
  windowMs: quarter,
  per: 'user',
  shared: false,
  named: false,
  source,
})
const perAccount = (limit: number): RateLimit => ({ limit, windowMs: quarter, per: 'account', shared: false, named: false, source: gaps1 })

export const rateLimits = {
  ads_writes: { limit: 450, windowMs: minute, per: 'user', shared: true, named: false, source: `${gaps1} Ads writes` },
  user_lists: { limit: 1500, windowMs: minute, per: 'user', shared: false, named: true, source: 'spec 8 User-list rate' },
  total_count: { limit: 200, windowMs: quarter, per: 'user', shared: false, named: true, source: 'spec Conventions; spec 8' },
  core_reads: perAccount(10_000),
  account_reads: perAccount(2_000),
  targeting_reads: perAccount(400),
  keyword_insights: perUser(500),
  global_reads: perUser(2_000, `${gaps1} Reads without account id: global_reads`),
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
  oauth: {
    limit: 900,
    windowMs: quarter,
    per: 'app',
    shared: false,
    named: false,
    source: `${gaps1} OAuth endpoints: unpublished, assumed`,
  },
  /** Beyond it the answer is 403 code 99, not 429. */
  bearer_tokens: { limit: 50, windowMs: quarter, per: 'app', shared: false, named: false, source: `${gaps1} OAuth endpoints: assumed` },
  v2_lookups: perUser(3_500, `${gaps1} v2: 3,500 an app, 5,000 a user`),
  /** For requests that a user signed. */
  v2_lookups_user: perUser(5_000, `${gaps1} v2: 3,500 an app, 5,000 a user`),
  v2_posts: perUser(100),
  /** Counted beside `v2_posts`. */
  v2_posts_app: { limit: 10_000, windowMs: day, per: 'app', shared: false, named: false, source: `${gaps1} v2` },
  webhooks: { limit: 450, windowMs: quarter, per: 'app', shared: false, named: false, source: `${gaps1} v2` },
  webhook_replay: { limit: 100, windowMs: quarter, per: 'app', shared: false, named: false, source: `${gaps1} v2` },
  activity_subscriptions: { limit: 500, windowMs: quarter, per: 'app', shared: false, named: false, source: `${gaps1} v2` },
  activity_stream: { limit: 50, windowMs: quarter, per: 'app', shared: false, named: false, source: 'assumed: unpublished' },
} as const satisfies Readonly<Record<string, RateLimit>>

export type RateLimitClass = keyof typeof rateLimits

/** Sizes and counts (spec 8 unless said otherwise). */
export const limits = {
  productsPerBatch: 25,
  /** What our client sends; the service publishes no bound (spec/gaps.md 6 'Keys per DELETE'). */
  productKeysPerDelete: 25,
  productCount: { default: 100, min: 1, max: 100 },
  productIdLength: 100,
  productTitleLength: 150,
  productDescriptionLength: 5_000,
  additionalImages: 10,
  imageMinPixels: 500,
  imageMaxBytes: 5_000_000,
  manualSetProducts: 50,
  setFilters: 30,
  keywordRangeDays: 7,
  keywordsTotal: 10,
  relatedKeywords: 30,
  userListOperations: 2_500,
  userListBytes: 5_000_000,
  userListExpiryMonths: 13,
  idsInFilter: 200,
  count: { default: 200, min: 1, max: 1_000 },
  cardCount: { default: 100, min: 1, max: 200 },
  mediaLibraryCount: { default: 20, min: 1, max: 50 },
  cardNameLength: 80,
  cardQueryLength: 80,
  swipeableMedia: { min: 2, max: 6 },
  mediaLibraryNameLength: 100,
  mediaLibraryFileNameLength: 255,
  mediaLibraryTitleLength: 70,
  mediaLibraryDescriptionLength: 200,
  mediaLibraryQueryLength: { min: 1, max: 255 },
  pollMinutes: { min: 5, max: 10_080 },
  pollChoiceLength: 25,
  conversationCtaLength: 20,
  conversationTitleLength: 23,
  conversationThanksLength: 23,
  postNameLength: 80,
  postVideoTitleLength: 70,
  postVideoDescriptionLength: 200,
  postImages: 4,
  webhookAnswerMs: 10_000,
  webhookInvalidAfterMs: 28 * 60 * minute,
  bearerTokensPerApp: 1,
  monthlyPosts: 500_000,
  streamRules: 25_000,
  streamRuleLength: 2_048,
} as const

/**
 * The rate limit behind a class name as endpoints and destinations write it.
 *
 * @throws {RangeError} for a name that is no class: a mistake in the code
 */
export function limitOf(limitClass: string): RateLimit {
  const limit = (rateLimits as Readonly<Record<string, RateLimit>>)[limitClass]
  if (limit === undefined) throw new RangeError(`no rate limit class ${limitClass}`)
  return limit
}

/**
 * Rows of the specification, copied from it by hand: method and path of each endpoint of sections 4.1 to 4.7 and 6.2. Data only. A row
 * without an entry in the contract turns test/unit/service/coverage.test.ts red.
 */

export interface SpecRow {
  readonly section: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
}

const rows = (section: string, prefix: string, text: string): SpecRow[] =>
  text
    .trim()
    .split('\n')
    .map((line) => {
      const [method = '', path = ''] = line.trim().split(' ')
      return { section, method: method as SpecRow['method'], path: path === '/' ? prefix : prefix + path }
    })

export const specRows: readonly SpecRow[] = [
  ...rows(
    '4.1',
    '',
    `
    POST /oauth/request_token
    GET /oauth/authorize
    GET /oauth/authenticate
    POST /oauth/access_token
    POST /1.1/oauth/invalidate_token
    POST /oauth2/token
    POST /oauth2/invalidate_token`,
  ),
  ...rows(
    '4.2',
    '/12/product_catalogs',
    `
    GET /
    POST /
    PUT /:product_catalog_id
    DELETE /:product_catalog_id
    GET /:product_catalog_id/products
    PUT /:product_catalog_id/products
    DELETE /:product_catalog_id/products
    GET /:product_catalog_id/product_sets/:product_set_id
    POST /:product_catalog_id/product_sets`,
  ),
  ...rows(
    '4.3',
    '',
    `
    GET /12/insights/keywords/search
    GET /5/accounts/:account_id/tailored_audiences/:tailored_audience_id/permissions
    POST /5/accounts/:account_id/tailored_audiences/:tailored_audience_id/permissions
    DELETE /5/accounts/:account_id/tailored_audiences/:tailored_audience_id/permissions/:tailored_audience_permission_id
    GET /12/accounts/:account_id/custom_audiences/:custom_audience_id/targeted
    POST /12/accounts/:account_id/custom_audiences/:custom_audience_id/users
    POST /12/batch/accounts/:account_id/do_not_reach_lists/:do_not_reach_list_id/users
    DELETE /12/accounts/:account_id/do_not_reach_lists/:do_not_reach_list_id`,
  ),
  ...rows(
    '4.4',
    '/12/accounts/:account_id',
    `
    GET /account_media
    GET /account_media/:account_media_id
    DELETE /account_media/:account_media_id
    GET /cards
    GET /cards/:card_id
    POST /cards
    PUT /cards/:card_id
    DELETE /cards/:card_type/:card_id
    GET /media_library
    GET /media_library/:media_key
    POST /media_library
    PUT /media_library/:media_key
    DELETE /media_library/:media_key
    GET /cards/poll
    GET /cards/poll/:card_id
    POST /cards/poll
    GET /cards/video_conversation
    GET /cards/video_conversation/:card_id
    POST /cards/video_conversation
    POST /tweet
    PUT /tweets/:tweet_id/name`,
  ),
  ...rows(
    '4.5',
    '/12',
    `
    GET /accounts
    GET /accounts/:account_id
    POST /accounts
    PUT /accounts/:account_id
    DELETE /accounts/:account_id
    GET /accounts/:account_id/account_apps
    GET /accounts/:account_id/account_history
    GET /advertiser_business_categories
    GET /accounts/:account_id/curated_categories/:curated_category_id
    GET /accounts/:account_id/features
    POST /accounts/:account_id/features
    PUT /accounts/:account_id/line_items/:line_item_id
    DELETE /accounts/:account_id/line_items/:line_item_id
    GET /accounts/:account_id/line_item_curated_categories
    GET /accounts/:account_id/line_item_curated_categories/:line_item_curated_category_id
    POST /accounts/:account_id/line_item_curated_categories
    PUT /accounts/:account_id/line_item_curated_categories/:line_item_curated_category_id
    DELETE /accounts/:account_id/line_item_curated_categories/:line_item_curated_category_id`,
  ),
  ...rows(
    '4.7',
    '',
    `
    GET /2/tweets
    POST /2/tweets
    POST /2/webhooks
    GET /2/webhooks
    DELETE /2/webhooks/:webhook_id
    PUT /2/webhooks/:webhook_id
    POST /2/webhooks/replay`,
  ),
  ...rows(
    '6.2',
    '',
    `
    POST /2/activity/subscriptions
    GET /2/activity/stream`,
  ),
]

/** Parameters of the line item update (4.6), each a row. */
export const lineItemParameters = [
  'advertiser_domain',
  'advertiser_user_id',
  'android_app_store_identifier',
  'ios_app_store_identifier',
  'audience_expansion',
  'bid_amount_local_micro',
  'bid_strategy',
  'categories',
  'duration_in_days',
  'frequency_cap',
  'entity_status',
  'start_time',
  'end_time',
  'goal',
  'name',
  'pay_by',
  'total_budget_amount_local_micro',
  'daily_budget_amount_local_micro',
] as const

/**
 * Rows of sections 3, 4.6, 7 and 8. `proof`: words of the file and title of a test that proves the row, in this order. docs/coverage.md
 * shows where the title was found. `text`: for a test over a table, what its lines must also contain.
 */
export interface RuleRow {
  readonly section: string
  readonly row: string
  readonly proof: RegExp
  readonly text?: RegExp
}

const rule = (section: string, row: string, proof: RegExp, text?: RegExp): RuleRow => ({
  section,
  row,
  proof,
  ...(text === undefined ? {} : { text }),
})

/** Returns both tables of the line item update: accepted and refused values. A free text has no refused value. */
const lineItemRule = (name: string): readonly RuleRow[] => [
  rule('4.6', `${name}: taken`, /LineItems.*(%s with %j$|creat|promoted|taken|identifier)/, new RegExp(String.raw`\b${name}:`)),
  ...(name === 'name' || name === 'total_budget_amount_local_micro'
    ? []
    : [rule('4.6', `${name}: refused`, /LineItems.*(%s with %j: %s for %s)/, new RegExp(String.raw`'${name}'`))]),
]

export const ruleRows: readonly RuleRow[] = [
  rule('3.1', 'valid → invalid: 2xx with a wrong response_token', /wrong token invalidates/),
  rule('3.1', 'valid → invalid: 3xx', /redirect invalidates/),
  rule('3.1', 'valid → invalid: TLS exception', /TLS failure/),
  rule('3.1', 'valid → invalid: no success for more than 28 hours', /28 hours/),
  rule('3.1', 'invalid → valid: PUT with a successful check', /PUT re-enables/),
  rule('3.2', 'bearer token: repeated call gives the same token', /same one until it is invalidated/),
  rule('3.2', 'bearer token: invalidated, the next one differs', /until oauth2\.invalidateToken, then another/),
  rule('3.2', 'access token: invalidated, later use is 401 code 89', /oauth\.invalidateToken and code 89/),
  rule('3.3', 'advertising records: DELETE answers with deleted true', /areasRoundTrip.*\.delete|doNotReachLists\.delete/),
  rule('3.3', 'line item: a second DELETE is 404', /the second one answers 404/),
  rule('3.3', 'line item: promoted tweets are not cascaded', /promoted (tweets|posts)/),
  rule('3.3', 'audience permission: deleted true', /permissions at %s/),
  rule('3.3', 'catalog and products: permanent', /deleted for good/),
  rule('3.3', 'poll card: closes by its creation, cannot be updated', /closes after its duration|cannot be updated/),
  rule('3.3', 'media library: AMPLIFY_VIDEO becomes PREROLL account media', /amplify video/),
  rule('3.3', 'product write results', /create, update, no change/),
  ...lineItemParameters.flatMap(lineItemRule),
  rule('7', 'invalidated or expired token: 401 code 89', /code 89/),
  rule('7', 'bearer tokens too often: 403 code 99', /code 99/),
  rule('7', 'direct message without the permission level: code 93', /code 93/),
  rule('7', 'second DELETE of a line item: 404', /the second one answers 404/),
  rule('7', 'batch request-level failure: errors', /over 2,500 operations/),
  rule('7', 'batch item failure: operation_errors by index', /names its index|operation_errors/),
  rule('7', 'product upsert failure: status ERROR', /product refused by id|instances of a repeated id/),
  rule('7', 'product delete failure: failed_product_key', /unknown key fails alone/),
  rule('7', 'streaming connection limit: TooManyConnections', /TooManyConnections/),
  rule('7', 'webhook challenge failure: invalid', /invalidates/),
  rule('8', 'products per batch: 25', /26 products|of 26|limits.*products: 25 in a request/),
  rule('8', 'product count: 1 to 100', /refused, never clamped/),
  rule('8', 'title and description length: 150, 5000 characters', /limits.*title 150, description 5000/),
  rule('8', 'additional images: up to 10', /limits.*10 additional images/),
  rule('8', 'keyword range of 7 days, 10 keywords in total, 30 related', /limits.*7 days, 10 keywords|7 days and 10 keywords/),
  rule('8', 'user-list operations 2500, body 5,000,000 bytes', /limits.*2,500 are taken.*5,000,000/),
  rule('8', 'user-list rate: 1500 a minute', /named limits hold/),
  rule('8', 'user-list expiry default: 13 months', /13 months/),
  rule('8', 'with_total_count rate: 200 in 15 minutes', /limits.*lower rate of 200|named limits hold/),
  rule('8', 'ids in a filter list: 200', /limits.*200 are taken, 201 refused/),
  rule('8', 'count bounds of every list', /limits\.test\.ts %s$/, /countMax \+ 1/),
  rule('8', 'card name, q: 80 characters', /limits.*card name and q: 80/),
  rule('8', 'swipeable media: 2 to 6 items', /limits.*swipeable media: 2 to 6/),
  rule('8', 'media library name, file_name, title, description: 100, 255, 70, 200', /limits.*media library %s/, /'file_name', 255/),
  rule('8', 'media library q: 1 to 255', /limits.*media library q: 1 to 255/),
  rule('8', 'poll duration 5 to 10080, choice 25', /limits.*poll duration: 5 to 10080/),
  rule('8', 'video conversation lengths: 20, 23, 23', /limits.*video conversation: call to action 20/),
  rule('8', 'post name, video_title, video_description: 80, 70, 200', /limits.*post: name 80, video title 70/),
  rule('8', 'post media: up to 4 images, 1 GIF or 1 video', /limits.*up to 4 images/),
  rule('8', 'webhook response time: 10 seconds', /no answer within 10 seconds/),
  rule('8', 'webhook invalidation after 28 hours', /28 hours/),
  rule('8', 'account history times: whole hours', /limits.*whole hours/),
  rule('8', 'outstanding app-only bearer tokens: 1', /same one until it is invalidated/),
]

/** Rows of section 8 that no code implements, with the reason. */
export const unservedRows: readonly (readonly [section: string, row: string, why: string])[] = [
  [
    '8',
    'image: min 500x500 px, max 5 MB',
    'the sandbox opens no links of products; the service says so in `warnings`, which the client keeps',
  ],
  ['8', 'monthly post cap: 500,000', 'belongs to search and filtered stream, whose endpoints the specification does not show (4.8)'],
  ['8', 'filtered stream webhook rules', 'belongs to the stream rules endpoints, which the specification does not show (4.8)'],
]

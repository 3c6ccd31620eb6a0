/**
 * Error codes of the service: names of the advertising host with their statuses, numbers of the core host (spec 7,
 * docs/spec-notes.md#errors). Tests send each to the client. The sandbox has a list of its own (`sandbox/adsCodes.ts`).
 */

const words = (text: string) => text.split(' ')
const notFound = (text: string) => words(text).map((word) => `${word}_NOT_FOUND`)

/** Codes of the advertising host by HTTP status. */
export const adsCodesByStatus: ReadonlyMap<number, readonly string[]> = new Map([
  [
    400,
    [
      ...words(
        'DUPLICATE_TWEET EXCLUSIVE_PARAMETERS FEATURE_NOT_AVAILABLE ILLEGAL_CHARACTERS INCLUSIVE_PARAMETERS MISSING_PARAMETER REQUEST_TOO_COMPLEX',
      ),
      ...words(
        'SPEND_EXCEEDS_BUDGET TOO_MANY_CAMPAIGNS TOO_MANY_LINE_ITEMS TV_SHOW_OUTSIDE_MARKET TWEET_CANNOT_BE_BLANK UNKNOWN_CARD_TYPE UNKNOWN_CRITERIA_TYPE',
      ),
      ...words(
        'DENOMINATION FUNDING_INSTRUMENT IMAGE MEDIA MEDIA_ID PARAMETER PLACEMENT_TYPE TAILORED_AUDIENCE_TYPE TARGETING_TYPE TIME_WINDOW',
      ).map(invalid),
      ...words('TV_SHOW_LOCATIONS TWEET USER USER_ID').map(invalid),
    ],
  ],
  [401, ['UNAUTHORIZED_ACCESS']],
  [
    403,
    [
      ...words('ACCOUNT_LOCKED_OUT ACCOUNT_NOT_FOUND ACTION_NOT_ALLOWED CURRENT_USER_SUSPENDED FUNDING_INSTRUMENT_ACCESS_NOT_ALLOWED'),
      ...words(
        'FUNDING_INSTRUMENT_EXCEEDS_AVAILABLE_CREDIT_LIMIT GENERIC_TWEET_ERROR MALWARE_STATUS READONLY_CLIENT_APPLICATION TWEET_IS_SPAM',
      ),
      ...words('UNAUTHORIZED_CLIENT_APPLICATION USER_NOT_FOUND'),
    ],
  ],
  [
    404,
    [
      ...words(
        'NOT_FOUND INVALID_APP_ID INVALID_APP_STORE INVALID_IAB_CATEGORY INVALID_ID_ILLEGAL_CHARACTERS NO_PROVIDER_AVAILABLE_FOR_THIS_CLIENT_APPLICATION',
      ),
      ...notFound(
        'ACCOUNT_MEDIA APP_EVENT_PROVIDER_CONFIGURATION APP_EVENT_TAG BEHAVIOR_OR_BEHAVIOR_EXPANDED CAMPAIGN CARD FUNDING_INSTRUMENT LINE_ITEM',
      ),
      ...notFound('LINE_ITEM_APP MACT_APP MEDIA MEDIA_CREATIVE PROMOTABLE_USER PROMOTED_ACCOUNT PROMOTED_TWEET ROUTE TAILORED_AUDIENCE'),
      ...notFound('TAILORED_AUDIENCE_CHANGE_FILE TAILORED_AUDIENCE_OR_TAILORED_AUDIENCE_EXPANDED TARGETING_CRITERION TWEET WEB_EVENT_TAG'),
    ],
  ],
  [405, ['METHOD_NOT_ALLOWED']],
  [408, ['CANCELLED_REQUEST']],
  [423, ['LOCK_ACQUISITION_TIMEOUT']],
  [429, ['TOO_MANY_REQUESTS', 'TWEET_RATE_LIMIT_EXCEEDED']],
  [500, ['INTERNAL_ERROR']],
  [503, ['SERVICE_UNAVAILABLE', 'OVER_CAPACITY']],
])

/** HTTP status of each code of the advertising host. */
export const adsErrorStatus: ReadonlyMap<string, number> = new Map(
  [...adsCodesByStatus].flatMap(([status, codes]) => codes.map((code): [string, number] => [code, status])),
)

/** Codes of the core host and its gateway, with their status and meaning. */
export const coreErrors = {
  32: { status: 401, meaning: 'bad signature or credentials', source: 'docs/spec-notes.md#signing' },
  88: { status: 429, meaning: 'rate limit exceeded', source: 'docs/spec-notes.md#limits' },
  89: { status: 401, meaning: 'invalidated or expired token', source: 'spec 7' },
  93: { status: 403, meaning: 'the permission level does not include direct messages', source: 'spec 5 rule 5' },
  99: {
    status: 403,
    meaning: 'bearer token requests made too often, or bad credentials for one',
    source: 'spec 7; docs/spec-notes.md#tokens',
  },
  214: { status: 400, meaning: 'webhook request refused (older form)', source: 'docs/spec-notes.md#registrations' },
  215: { status: 400, meaning: 'authentication data missing or unreadable', source: 'docs/spec-notes.md#signing' },
  220: { status: 403, meaning: 'the credentials do not allow access to this resource', source: 'docs/spec-notes.md#tokens' },
  415: { status: 403, meaning: 'callback URL not approved', source: 'docs/spec-notes.md#tokens' },
} as const

/** Last segments of the `type` of v2 problems. `about:blank` is possible too. */
export const problemTypes = [
  'invalid-request',
  'resource-not-found',
  'not-authorized-for-resource',
  'not-authorized-for-field',
  'client-forbidden',
  'usage-capped',
  'rate-limit-exceeded',
  'streaming-connection',
  'unsupported-authentication',
] as const

function invalid(word: string): string {
  return `INVALID_${word}`
}

/**
 * Parameters of sections 4.1 to 4.7, copied from the specification by hand. Each row with parameters is one line: method, path and
 * parameters. What the specification leaves open is from docs/spec-notes.md. Data only. After a name:
 * - `!` required
 * - `=A|B` the values
 * - `@d` the default
 * - `[1,9]` the bounds
 * - `#n` the most items
 * - `~n` the most characters
 */

/** A parameter of a row. An undefined property is not in the specification. */
export interface SpecParameter {
  readonly method: string
  readonly path: string
  readonly name: string
  readonly required: boolean
  readonly values: readonly string[] | undefined
  readonly default: string | undefined
  readonly bounds: string | undefined
  readonly maxItems: string | undefined
  readonly maxLength: string | undefined
}

const lists = 'cursor sort_by with_deleted@false with_total_count@false'
const cardList = `card_ids#200 count@200[1,1000] q~80 ${lists}`
const libraryTexts = 'description~200 file_name~255 name~100 poster_media_key title~70'
const account = '/12/accounts/:account_id'

const table = `
POST /oauth/request_token oauth_callback! svc_auth_access_type=read|write
GET /oauth/authorize oauth_token! force_login screen_name
GET /oauth/authenticate oauth_token! force_login screen_name
POST /oauth/access_token oauth_token! oauth_verifier!
POST /oauth2/token grant_type!=client_credentials

GET /12/product_catalogs user_id
POST /12/product_catalogs name! user_id
PUT /12/product_catalogs/:product_catalog_id name!
GET /12/product_catalogs/:product_catalog_id/products item_group_key count@100[1,100] cursor
PUT /12/product_catalogs/:product_catalog_id/products products!#25
DELETE /12/product_catalogs/:product_catalog_id/products product_keys!
POST /12/product_catalogs/:product_catalog_id/product_sets name! description type!=MANUAL|FILTERED filters product_keys

GET /12/insights/keywords/search granularity!=DAY|HOUR keywords! start_time! end_time location negative_keywords
GET /5/accounts/:account_id/tailored_audiences/:tailored_audience_id/permissions count@200[1,1000] cursor granted_account_ids#200 sort_by tailored_audience_permission_ids#200 with_total_count@false
POST /5/accounts/:account_id/tailored_audiences/:tailored_audience_id/permissions granted_account_id! permission_level!=READ_ONLY|READ_WRITE
GET ${account}/custom_audiences/:custom_audience_id/targeted with_active@true cursor
POST ${account}/custom_audiences/:custom_audience_id/users operation_type!=Update|Delete params!
POST /12/batch/accounts/:account_id/do_not_reach_lists/:do_not_reach_list_id/users operation_type!=Update|Delete params!

GET ${account}/account_media account_media_ids#200 count@200[1,1000] creative_types=BANNER|BANNER_TABLET|INTERSTITIAL|INTERSTITIAL_LANDSCAPE|INTERSTITIAL_LANDSCAPE_TABLET|INTERSTITIAL_TABLET|MEDIUM_RECTANGLE|PREROLL|VAST_PREROLL ${lists}
GET ${account}/account_media/:account_media_id with_deleted@false
GET ${account}/cards card_types card_id#200 card_uris#200 count@100[1,200] cursor include_legacy_cards@false q~80 sort_by with_deleted@false
GET ${account}/cards/:card_id with_deleted@false
POST ${account}/cards name!~80 components slides
PUT ${account}/cards/:card_id name~80 components slides
GET ${account}/media_library count@20[1,50] cursor media_type=GIF|IMAGE|VIDEO q~255
POST ${account}/media_library media_key! ${libraryTexts}
PUT ${account}/media_library/:media_key ${libraryTexts}
GET ${account}/cards/poll ${cardList}
GET ${account}/cards/poll/:card_id with_deleted@false
POST ${account}/cards/poll duration_in_minutes![5,10080] first_choice!~25 second_choice!~25 name! third_choice~25 fourth_choice~25 media_key
GET ${account}/cards/video_conversation ${cardList}
GET ${account}/cards/video_conversation/:card_id with_deleted@false
POST ${account}/cards/video_conversation first_cta! first_cta_tweet! media_key! name! thank_you_text!~23 title~23 second_cta second_cta_tweet third_cta third_cta_tweet fourth_cta fourth_cta_tweet poster_media_key thank_you_url unlocked_image_media_key unlocked_video_media_key
POST ${account}/tweet as_user_id! text card_uri conversation_settings@EVERYONE=EVERYONE|FOLLOWING|MENTIONED_USERS media_keys name~80 nullcast@true trim_user@false tweet_mode=compat|extended video_cta=VISIT_SITE|WATCH_NOW video_cta_value video_description~200 video_title~70
PUT ${account}/tweets/:tweet_id/name name!~80

GET /12/accounts account_ids count@200[1,1000] q ${lists}
GET ${account} with_deleted@false
PUT ${account} name industry_type=AGENCY|BUSINESS_TO_BUSINESS|ONLINE_SERVICES|EDUCATION|FINANCIAL|HEALTH|GOVERNMENT|MEDIA|MOBILE|RESTAURANT|RETAIL|TECHNOLOGY|TRAVEL|OTHER
GET ${account}/account_apps count@200[1,1000] ${lists}
GET ${account}/account_history entity_type!=CAMPAIGN|LINE_ITEM|PROMOTED_TWEET|TARGETING_CRITERIA|PROMOTED_ACCOUNT entity_id! start_time! end_time! count@200[1,1000] cursor user_id
GET ${account}/features feature_keys=REACH_AND_FREQUENCY_ANALYTICS|REACH_FREQUENCY_CAP|WEBSITE_CLICKS_CPM_BILLING
POST ${account}/features feature_keys!=AGE_TARGETING|ALLOW_SKIPPABLE_VIDEOS_FOR_PREROLL_VIEWS_OBJECTIVE|AWARENESS_OBJECTIVE|BRAND_TPN|CHARGE_FOR_GOOD_CLICK|CONVERSATION_CARD|CONVERSATION_CARD_FOUR_OPTIONS|CONVERSATION_CARD_UNLOCK|CPI_CHARGING|DIRECT_MESSAGE_CARD|DR_TAP|ENGAGER_RETARGETING|EVENT_TARGETING|INSTALLED_APP_CATEGORY_TARGETING|MOBILE_CONVERSION_TRANSACTION_VALUE|OPTIMIZED_ACTION_BIDDING|REACH_AND_FREQUENCY_ANALYTICS|REACH_FREQUENCY_CAP|VALIDATED_AGE_TARGETING|VIDEO_VIEWS_MIDROLL_OBJECTIVE|PREROLL_VIEWS_OBJECTIVE|VIDEO_APP_DOWNLOAD_CARD
PUT ${account}/line_items/:line_item_id advertiser_domain advertiser_user_id android_app_store_identifier ios_app_store_identifier audience_expansion=BROAD|DEFINED|EXPANDED bid_amount_local_micro bid_strategy=AUTO|MAX|TARGET categories duration_in_days=1|7|30 frequency_cap entity_status=ACTIVE|PAUSED start_time end_time goal=APP_CLICKS|APP_INSTALLS|APP_PURCHASES|ENGAGEMENT|FOLLOWERS|LINK_CLICKS|MAX_REACH|PREROLL|PREROLL_STARTS|REACH_WITH_ENGAGEMENT|VIDEO_VIEW|VIEW_3S_100PCT|VIEW_6S|VIEW_15S|WEBSITE_CONVERSIONS name pay_by=APP_CLICK|IMPRESSION|LINK_CLICK total_budget_amount_local_micro daily_budget_amount_local_micro
GET ${account}/line_item_curated_categories count@200[1,1000] ${lists}
GET ${account}/line_item_curated_categories/:line_item_curated_category_id with_deleted@false
POST ${account}/line_item_curated_categories line_item_id! curated_category_id!
PUT ${account}/line_item_curated_categories/:line_item_curated_category_id curated_category_id line_item_id

GET /2/tweets ids! tweet.fields expansions media.fields
POST /2/tweets paid_partnership community_id share_with_followers edit_options
POST /2/webhooks url!
`

export const specParameters: readonly SpecParameter[] = table
  .split('\n')
  .filter((line) => line !== '')
  .flatMap((line) => {
    const [method = '', path = '', ...parameters] = line.split(' ')
    return parameters.map((text) => {
      const part = (pattern: RegExp): string | undefined => pattern.exec(text)?.[1]
      return {
        method,
        path,
        name: part(/^([\w.]+)/) ?? '',
        required: text.includes('!'),
        values: part(/=([\w|]+)/)?.split('|'),
        default: part(/@(\w+)/),
        bounds: part(/\[(\d+,\d+)\]/),
        maxItems: part(/#(\d+)/),
        maxLength: part(/~(\d+)/),
      }
    })
  })

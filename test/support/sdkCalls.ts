/**
 * Calls as official SDKs send them, in Python and in Ruby. Each has the expected answer of a sandbox: success, or a refusal by status and
 * code. Words in braces are replaced by records of the test and by times.
 */

export interface SdkCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Path and query. */
  readonly target: string
  readonly json?: unknown
  /** Status and code of the refusal; absent: the call works. */
  readonly refused?: readonly [status: number, code: string | number]
}

export const sdkCalls: readonly SdkCall[] = [
  { method: 'GET', target: '/12/accounts?with_deleted=True' },
  { method: 'GET', target: '/12/accounts?with_total_count=True&count=1' },
  { method: 'GET', target: '/12/accounts/{account}?with_deleted=True' },
  { method: 'GET', target: '/12/accounts/{account}/promotable_users' },
  { method: 'GET', target: '/12/accounts/{account}/promotable_users/abc', refused: [404, 'PROMOTABLE_USER_NOT_FOUND'] },
  { method: 'GET', target: '/12/accounts/{account}/funding_instruments/lygyi?with_deleted=True' },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/funding_instruments?currency=USD&start_time=2026-01-20T00%3A00%3A00Z&type=INSERTION_ORDER&end_time=2027-01-20T00%3A00%3A00Z&credit_limit_local_micro=1000000&funded_amount_local_micro=500000',
  },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/campaigns?daily_budget_amount_local_micro=1000000&entity_status=PAUSED&funding_instrument_id=lygyi&name=full&standard_delivery=true&total_budget_amount_local_micro=5000000&budget_optimization=CAMPAIGN',
  },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/campaigns?daily_budget_amount_local_micro=1000000&duration_in_days=7&entity_status=PAUSED&frequency_cap=3&funding_instrument_id=lygyi&name=cap',
  },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/campaigns/{campaign}?created_at=2026-11-22T07%3A14%3A39Z&currency=USD&effective_status=PAUSED&id={campaign}&reasons_not_servable=PAUSED_BY_ADVERTISER&updated_at=2026-11-22T07%3A14%3A39Z&daily_budget_amount_local_micro=1000000&entity_status=PAUSED&funding_instrument_id=lygyi&name=again&budget_optimization=CAMPAIGN',
  },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/campaigns/{campaign}?created_at=2026-11-22T07%3A14%3A39Z&currency=USD&effective_status=PAUSED&id={campaign}&reasons_not_servable=PAUSED_BY_ADVERTISER&updated_at=2026-11-22T07%3A14%3A39Z&daily_budget_amount_local_micro=1000000&entity_status=PAUSED&funding_instrument_id=lygyi&name=changed&budget_optimization=CAMPAIGN',
  },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/campaigns/8wku2?created_at=2026-01-15T12%3A00%3A00Z&currency=USD&effective_status=RUNNING&id=8wku2&servable=true&updated_at=2026-01-15T12%3A00%3A00Z&entity_status=PAUSED&funding_instrument_id=lygyi&name=Spring+mugs&budget_optimization=LINE_ITEM',
  },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/campaigns?funding_instrument_id=lygyi&name=k&daily_budget_amount_local_micro=1000000&standard_delivery=true',
  },
  { method: 'GET', target: '/12/accounts/{account}/campaigns?campaign_ids=8wku2&campaign_ids=8wku3' },
  { method: 'GET', target: '/12/accounts/{account}/campaigns/{campaign}?with_deleted=True' },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/line_items?bid_amount_local_micro=10000&campaign_id={campaign}&entity_status=PAUSED&name=my+first+ad&objective=ENGAGEMENTS&placements=ALL_ON_SERVICE&product_type=PROMOTED_TWEETS',
    refused: [400, 'MISSING_PARAMETER'],
  },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/line_items?bid_amount_local_micro=10000&bid_strategy=MAX&campaign_id={campaign}&end_time={in5days}&entity_status=PAUSED&goal=ENGAGEMENT&audience_expansion=BROAD&name=my+first+ad&objective=ENGAGEMENTS&pay_by=ENGAGEMENT&placements=ALL_ON_SERVICE&product_type=PROMOTED_TWEETS&start_time={in1day}&total_budget_amount_local_micro=9000000',
    refused: [400, 'INVALID_PARAMETER'],
  },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/line_items?bid_amount_local_micro=10000&bid_strategy=MAX&campaign_id={campaign}&end_time={in5days}&entity_status=PAUSED&goal=ENGAGEMENT&name=my+first+ad&objective=ENGAGEMENTS&pay_by=IMPRESSION&placements=ALL_ON_SERVICE&product_type=PROMOTED_TWEETS&start_time={in1day}',
  },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/line_items?bid_amount_local_micro=10000&campaign_id={campaign}&entity_status=PAUSED&name=my+first+ad&objective=ENGAGEMENTS&placements=SERVICE_TIMELINE&placements=SERVICE_SEARCH&product_type=PROMOTED_TWEETS',
    refused: [400, 'MISSING_PARAMETER'],
  },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/line_items?bid_amount_local_micro=10000&campaign_id={campaign}&end_time={in5days}&entity_status=PAUSED&name=my+first+ad&objective=ENGAGEMENTS&placements=SERVICE_TIMELINE&placements=SERVICE_SEARCH&product_type=PROMOTED_TWEETS&start_time={in1day}',
  },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/line_items/9cqi0?created_at=2026-01-15T12%3A00%3A00Z&id=9cqi0&updated_at=2026-01-15T12%3A00%3A00Z&creative_source=MANUAL&currency=USD&bid_strategy=AUTO&campaign_id=8wku2&end_time=2036-01-01T00%3A00%3A00Z&entity_status=ACTIVE&goal=LINK_CLICKS&name=changed&objective=WEBSITE_CLICKS&pay_by=IMPRESSION&placements=ALL_ON_SERVICE&product_type=PROMOTED_TWEETS&start_time=2026-01-15T12%3A00%3A00Z&total_budget_amount_local_micro=500000000',
  },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/line_items/9cqi0?created_at=2026-01-15T12%3A00%3A00Z&id=9cqi0&updated_at=2026-01-15T12%3A00%3A00Z&creative_source=MANUAL&currency=USD&bid_amount_local_micro=2000000&bid_strategy=AUTO&campaign_id=8wku2&end_time=2036-01-01T00%3A00%3A00Z&entity_status=PAUSED&goal=LINK_CLICKS&name=Mugs%2C+website+clicks&objective=WEBSITE_CLICKS&pay_by=IMPRESSION&placements=ALL_ON_SERVICE&product_type=PROMOTED_TWEETS&start_time=2026-01-15T12%3A00%3A00Z&total_budget_amount_local_micro=500000000',
  },
  {
    method: 'GET',
    target:
      '/12/accounts/{account}/line_items?campaign_ids=8wku2&funding_instrument_ids=lygyi&with_deleted=True&sort_by=created_at-asc&count=2',
  },
  { method: 'GET', target: '/12/accounts/{account}/line_items?line_item_ids=9cqi0&line_item_ids=9cqi3' },
  { method: 'GET', target: '/12/accounts/{account}/line_items/9cqi1?with_deleted=True' },
  { method: 'GET', target: '/12/accounts/{account}/line_item_apps', refused: [404, 'ROUTE_NOT_FOUND'] },
  { method: 'GET', target: '/12/targeting_criteria/app_store_categories' },
  { method: 'GET', target: '/12/targeting_criteria/behavior_taxonomies', refused: [410, 'ROUTE_NOT_FOUND'] },
  { method: 'GET', target: '/12/targeting_criteria/behaviors', refused: [410, 'ROUTE_NOT_FOUND'] },
  { method: 'GET', target: '/12/targeting_criteria/conversations' },
  { method: 'GET', target: '/12/targeting_criteria/devices' },
  { method: 'GET', target: '/12/targeting_criteria/events' },
  { method: 'GET', target: '/12/targeting_criteria/interests' },
  { method: 'GET', target: '/12/targeting_criteria/languages' },
  { method: 'GET', target: '/12/targeting_criteria/locations' },
  { method: 'GET', target: '/12/targeting_criteria/network_operators' },
  { method: 'GET', target: '/12/targeting_criteria/platforms' },
  { method: 'GET', target: '/12/targeting_criteria/platform_versions' },
  { method: 'GET', target: '/12/targeting_criteria/tv_markets' },
  { method: 'GET', target: '/12/targeting_criteria/tv_shows' },
  { method: 'GET', target: '/12/accounts/{account}/custom_audiences?with_deleted=True&count=1&sort_by=created_at-desc' },
  { method: 'GET', target: '/12/accounts/{account}/custom_audiences/1nmth/targeted?with_active=False' },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/custom_audiences/1nmth/permissions?custom_audience_id=1nmth&granted_account_id=18ce55media&permission_level=READ_ONLY',
  },
  { method: 'GET', target: '/12/accounts/{account}/custom_audiences/{audience}?with_deleted=True' },
  {
    method: 'GET',
    target:
      '/12/accounts/{account}/account_media?account_media_ids=amed1%2Camed2&creative_types=BANNER%2CPREROLL&with_deleted=True&count=1',
  },
  { method: 'GET', target: '/12/accounts/{account}/media_creatives', refused: [404, 'ROUTE_NOT_FOUND'] },
  {
    method: 'POST',
    target: '/12/accounts/{account}/media_creatives?account_media_id=amed1&landing_url=https%3A%2F%2Fmy-landing-url&line_item_id=9cqi0',
    refused: [404, 'ROUTE_NOT_FOUND'],
  },
  { method: 'GET', target: '/12/accounts/{account}/promoted_accounts', refused: [404, 'ROUTE_NOT_FOUND'] },
  { method: 'GET', target: '/12/accounts/{account}/promoted_tweets?line_item_ids=9cqi0&with_deleted=True&sort_by=created_at-desc' },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/scheduled_tweets/{scheduled}?created_at=2026-11-22T07%3A14%3A39Z&id={scheduled}&scheduled_status=SCHEDULED&updated_at=2026-11-22T07%3A14%3A39Z&user_id=1001&nullcast=true&scheduled_at={in2days}&text=Future+2',
  },
  {
    method: 'POST',
    target: '/12/accounts/{account}/scheduled_promoted_tweets?line_item_id=9cqi0&scheduled_tweet_id={scheduled}',
    refused: [404, 'ROUTE_NOT_FOUND'],
  },
  { method: 'GET', target: '/12/accounts/{account}/scheduled_promoted_tweets', refused: [404, 'ROUTE_NOT_FOUND'] },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/draft_tweets/{draft}?id={draft}&created_at=2026-11-22T07%3A14%3A39Z&updated_at=2026-11-22T07%3A14%3A39Z&user_id=1001&nullcast=true&text=draft+tweet+-+update',
  },
  {
    method: 'GET',
    target: '/12/accounts/{account}/tweet_previews?tweet_ids=1166476031668015104&tweet_type=PUBLISHED',
    refused: [404, 'ROUTE_NOT_FOUND'],
  },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/media_library/3_1146654567674912769?aspect_ratio=1.91%3A1&created_at=2026-01-15T12%3A00%3A00Z&media_status=TRANSCODE_COMPLETED&media_type=IMAGE&media_url=https%3A%2F%2Fmedia.example.com%2F3_1146654567674912769.png&tweeted=true&updated_at=2026-01-15T12%3A00%3A00Z&media_key=3_1146654567674912769&file_name=spring-sale.png&name=name+-+updated',
  },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/cards/poll?duration_in_minutes=10080&first_choice=Northern&media_key=7_1146654567674912772&name=x&second_choice=Southern',
    refused: [400, 'FEATURE_NOT_AVAILABLE'],
  },
  { method: 'GET', target: '/12/accounts/{account}/cards/poll/{poll}?with_deleted=True' },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/cards/poll/1503831318555086900?card_type=TEXT_POLLS&card_uri=card%3A%2F%2F1503831318555086900&created_at=2026-01-15T12%3A00%3A00Z&end_time=2026-01-16T12%3A00%3A00Z&id=1503831318555086900&start_time=2026-01-15T12%3A00%3A00Z&updated_at=2026-01-15T12%3A00%3A00Z&duration_in_minutes=1440&first_choice=Coffee&name=x&second_choice=Tea',
    refused: [405, 'METHOD_NOT_ALLOWED'],
  },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/cards/video_conversation/{conversation}?card_uri=card%3A%2F%2F{conversation}&card_type=VIDEO_CONVERSATION&created_at=2026-11-22T07%3A14%3A39Z&id={conversation}&media_url=https%3A%2F%2Fmedia.example.com%2F13_1146655105555005441.mp4&poster_media_url=https%3A%2F%2Fmedia.example.com%2F13_1146655105555005441-poster.png&updated_at=2026-11-22T07%3A14%3A39Z&first_cta=%23mugs&first_cta_tweet=I+like+mugs&name=vc&thank_you_text=Thanks&title=Cups&media_key=13_1146655105555005441',
  },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/cards/video_conversation/1503831318555087000?card_uri=card%3A%2F%2F1503831318555087000&card_type=VIDEO_CONVERSATION&created_at=2026-01-15T12%3A00%3A00Z&id=1503831318555087000&media_url=https%3A%2F%2Fmedia.example.com%2F13_1146655105555005441.mp4&poster_media_url=https%3A%2F%2Fmedia.example.com%2F13_1146655105555005441-poster.png&updated_at=2026-01-15T12%3A00%3A00Z&first_cta=%23BlueMug&first_cta_tweet=I+take+the+blue+mug&name=Cups&second_cta=%23RedMug&second_cta_tweet=I+take+the+red+mug&thank_you_text=Thank+you&thank_you_url=https%3A%2F%2Fshop.example%2Fthanks&title=Which%3F&media_key=13_1146655105555005441',
  },
  { method: 'GET', target: '/12/accounts/{account}/cards/image_conversation', refused: [410, 'ROUTE_NOT_FOUND'] },
  { method: 'GET', target: '/12/accounts/{account}/cards/image_conversation/x', refused: [410, 'ROUTE_NOT_FOUND'] },
  { method: 'GET', target: '/12/accounts/{account}/cards?card_ids=1503831318555086849' },
  {
    method: 'POST',
    target: '/12/accounts/{account}/cards',
    json: {
      name: 'my new card',
      components: [
        {
          type: 'MEDIA',
          media_key: '3_1146654567674912769',
          media_metadata: { '3_1146654567674912769': { type: 'IMAGE', url: 'https://media.example.com/x.jpg', width: 800, height: 800 } },
        },
        { type: 'DETAILS', title: 'Shop', destination: { type: 'WEBSITE', url: 'https://shop.example/login' } },
      ],
    },
  },
  { method: 'GET', target: '/12/accounts/{account}/cards/all/1503831318555086849?card_id=1503831318555086849' },
  { method: 'GET', target: '/12/accounts/{account}/app_lists', refused: [404, 'ROUTE_NOT_FOUND'] },
  { method: 'GET', target: '/12/accounts/{account}/tracking_tags' },
  {
    method: 'POST',
    target: '/12/accounts/{account}/tracking_tags?line_item_id=9cqi0&tracking_tag_url=https%3A%2F%2Fx&tracking_tag_type=IMPRESSION_TAG',
  },
  { method: 'GET', target: '/12/accounts/{account}/user_settings/1001' },
  { method: 'GET', target: '/12/accounts/{account}/tax_settings' },
  { method: 'GET', target: '/12/content_categories' },
  { method: 'GET', target: '/12/iab_categories', refused: [410, 'ROUTE_NOT_FOUND'] },
  {
    method: 'GET',
    target:
      '/12/stats/accounts/{account}?metric_groups=ENGAGEMENT&start_time={weekAgo}&end_time={thisHour}&granularity=HOUR&entity=LINE_ITEM&placement=ALL_ON_SERVICE&entity_ids=9cqi0',
  },
  {
    method: 'POST',
    target:
      '/12/stats/jobs/accounts/{account}?metric_groups=ENGAGEMENT&start_time={weekAgo}&end_time={thisHour}&granularity=HOUR&entity=LINE_ITEM&placement=ALL_ON_SERVICE&entity_ids=9cqi0',
  },
  { method: 'GET', target: '/12/stats/jobs/accounts/{account}?job_ids=1' },
  { method: 'GET', target: '/12/stats/accounts/{account}/active_entities?entity=LINE_ITEM&start_time={weekAgo}&end_time={thisHour}' },
  { method: 'GET', target: '/1.1/users/show.json?screen_name=sandbox' },
  { method: 'GET', target: '/1.1/statuses/show/1166476031668015104.json?include_card_uri=true', refused: [410, 251] },
  { method: 'POST', target: '/1.1/media/upload.json?additional_owners=1001&media_category=TWEET_IMAGE', refused: [404, 34] },
  { method: 'GET', target: '/12/accounts/{account}/preroll_call_to_actions', refused: [404, 'ROUTE_NOT_FOUND'] },
  { method: 'GET', target: '/12/accounts/{account}/authenticated_user_access' },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/campaigns?name=my+first+campaign&funding_instrument_id=lygyi&entity_status=PAUSED&standard_delivery=false&daily_budget_amount_local_micro=1000000',
  },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/campaigns/{campaign}?id={campaign}&reasons_not_servable=PAUSED_BY_ADVERTISER&servable=false&deleted=false&created_at=2026-11-22T07%3A14%3A39Z&updated_at=2026-11-22T07%3A14%3A39Z&name=changed&funding_instrument_id=lygyi&entity_status=PAUSED&effective_status=PAUSED&currency=USD&daily_budget_amount_local_micro=1000000&budget_optimization=CAMPAIGN',
  },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/line_items?bid_amount_local_micro=10000&campaign_id={campaign}&end_time={in5days}&entity_status=PAUSED&name=my+first+ad&objective=ENGAGEMENTS&placements=ALL_ON_SERVICE&product_type=PROMOTED_TWEETS&start_time={in1day}&standard_delivery=true',
  },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/line_items/9cqi0?id=9cqi0&deleted=false&created_at=2026-01-15T12%3A00%3A00Z&updated_at=2026-01-15T12%3A00%3A00Z&bid_strategy=AUTO&campaign_id=8wku2&end_time=2036-01-01T00%3A00%3A00Z&entity_status=ACTIVE&goal=LINK_CLICKS&name=changed&objective=WEBSITE_CLICKS&pay_by=IMPRESSION&placements=ALL_ON_SERVICE&product_type=PROMOTED_TWEETS&start_time=2026-01-15T12%3A00%3A00Z&total_budget_amount_local_micro=500000000',
  },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/targeting_criteria?line_item_id=9cqi0&targeting_type=LOCATION&targeting_value=96683cc9126741d1&location_type=COUNTRIES',
  },
  {
    method: 'POST',
    target:
      '/12/accounts/{account}/targeting_criteria?line_item_id=9cqi0&targeting_type=CUSTOM_AUDIENCE&targeting_value=1nmth&tailored_audience_expansion=true',
  },
  {
    method: 'POST',
    target: '/12/accounts/{account}/audience_estimate',
    json: { params: { targeting_criteria: [{ targeting_type: 'LOCATION', targeting_value: '96683cc9126741d1' }] } },
  },
  { method: 'GET', target: '/12/accounts/{account}/tailored_audiences/1nmth/targeted?with_active=true', refused: [410, 'ROUTE_NOT_FOUND'] },
  { method: 'DELETE', target: '/12/accounts/{account}/custom_audiences//permissions/1perm', refused: [404, 'ROUTE_NOT_FOUND'] },
  { method: 'GET', target: '/12/accounts/{account}/media_library?with_deleted=true' },
  { method: 'GET', target: '/12/accounts/{account}/media_library/3_1146654567674912769?with_deleted=true' },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/media_library/3_1146654567674912769?aspect_ratio=1.91%3A1&created_at=true&deleted=false&media_status=TRANSCODE_COMPLETED&media_type=IMAGE&media_url=https%3A%2F%2Fmedia.example.com%2F3_1146654567674912769.png&tweeted=false&updated_at=2026-01-15T12%3A00%3A00Z&media_key=3_1146654567674912769&file_name=spring-sale.png&name=renamed',
  },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/scheduled_tweets/{scheduled}?created_at=2026-11-22T07%3A14%3A39Z&id={scheduled}&id_str={scheduled}&scheduled_status=SCHEDULED&updated_at=2026-11-22T07%3A14%3A39Z&user_id=1001&nullcast=true&scheduled_at={in2days}&text=F2',
  },
  { method: 'GET', target: '/12/accounts/{account}/scheduled_tweets/{scheduled}?with_deleted=true' },
  { method: 'GET', target: '/12/accounts/{account}/draft_tweets/{draft}?with_deleted=true' },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/draft_tweets/{draft}?id={draft}&created_at=2026-11-22T07%3A14%3A39Z&updated_at=2026-11-22T07%3A14%3A39Z&user_id=1001&nullcast=true&text=d2',
  },
  {
    method: 'PUT',
    target:
      '/12/accounts/{account}/cards/video_conversation/1503831318555087000?card_type=VIDEO_CONVERSATION&card_uri=card%3A%2F%2F1503831318555087000&created_at=2026-01-15T12%3A00%3A00Z&deleted=false&id=1503831318555087000&updated_at=2026-01-15T12%3A00%3A00Z&media_url=https%3A%2F%2Fmedia.example.com%2F13_1146655105555005441.mp4&poster_media_url=https%3A%2F%2Fmedia.example.com%2F13_1146655105555005441-poster.png&first_cta=%23BlueMug&first_cta_tweet=I+take+the+blue+mug&name=film+conversation&second_cta=%23RedMug&second_cta_tweet=I+take+the+red+mug&thank_you_text=Thank+you&thank_you_url=https%3A%2F%2Fshop.example%2Fthanks&media_key=13_1146655105555005441',
  },
  { method: 'GET', target: '/12/accounts/{account}/web_event_tags', refused: [404, 'ROUTE_NOT_FOUND'] },
  { method: 'GET', target: '/12/accounts/{account}/app_event_tags', refused: [404, 'ROUTE_NOT_FOUND'] },
]

/** Lists the metrics of each metric group. */

/**
 * Metric of statistics. Its value for a line item in an hour is the number of impressions times `factor`, rounded down. Other entities have
 * the sum of their line items.
 */
export interface Metric {
  readonly name: string
  /** Null for a metric whose values are objects. The sandbox returns null for it. */
  readonly factor: number | null
}

const zeros = (...names: string[]): Metric[] => names.map((name) => ({ name, factor: 0 }))
const objects = (...names: string[]): Metric[] => names.map((name) => ({ name, factor: null }))

export const METRICS: Readonly<Record<string, readonly Metric[]>> = {
  BILLING: [
    { name: 'billed_engagements', factor: 0.03 },
    { name: 'billed_charge_local_micro', factor: 4000 },
  ],
  ENGAGEMENT: [
    { name: 'impressions', factor: 1 },
    { name: 'engagements', factor: 0.06 },
    { name: 'clicks', factor: 0.04 },
    { name: 'url_clicks', factor: 0.02 },
    { name: 'likes', factor: 0.02 },
    { name: 'retweets', factor: 0.01 },
    { name: 'replies', factor: 0.01 },
    ...zeros(
      'follows',
      'app_clicks',
      'card_engagements',
      'poll_card_vote',
      'qualified_impressions',
      'tweets_send',
      'carousel_swipes',
      'unfollows',
    ),
  ],
  VIDEO: zeros(
    'video_views_25',
    'video_views_50',
    'video_views_75',
    'video_views_100',
    'video_total_views',
    'video_content_starts',
    'video_cta_clicks',
    'video_3s100pct_views',
    'video_6s_views',
    'video_15s_views',
    'video_mrc_views',
  ),
  MEDIA: zeros('media_views', 'media_engagements'),
  MOBILE_CONVERSION: objects(
    'mobile_conversion_installs',
    'mobile_conversion_purchases',
    'mobile_conversion_site_visits',
    'mobile_conversion_sign_ups',
  ),
  WEB_CONVERSION: objects(
    'conversion_purchases',
    'conversion_sign_ups',
    'conversion_site_visits',
    'conversion_downloads',
    'conversion_custom',
  ),
  LIFE_TIME_VALUE_MOBILE_CONVERSION: objects('mobile_conversion_lifetime_value_purchases', 'mobile_conversion_lifetime_value_sign_ups'),
}

/** Fields and expansions of the v2 data model (spec 2.6, gaps 9). */

export const postFields = [
  'id', 'text', 'author_id', 'created_at', 'attachments', 'public_metrics', 'conversation_id', 'entities', 'lang', 'source', 'possibly_sensitive', 'referenced_tweets',
  'in_reply_to_user_id', 'context_annotations', 'community_id', 'paid_partnership', 'article', 'card_uri', 'display_text_range', 'edit_controls', 'edit_history_tweet_ids', 'geo',
  'media_metadata', 'note_tweet', 'reply_settings', 'scopes', 'suggested_source_links', 'withheld', 'non_public_metrics', 'organic_metrics', 'promoted_metrics',
] as const

export const userFields = [
  'id', 'name', 'username', 'created_at', 'description', 'location', 'profile_image_url', 'protected', 'verified', 'pinned_tweet_id', 'public_metrics', 'entities', 'url',
  'connection_status', 'affiliation', 'confirmed_email', 'is_identity_verified', 'most_recent_tweet_id', 'parody', 'profile_banner_url', 'receives_your_dm', 'subscribes_to_you',
  'subscription', 'subscription_type', 'verified_followers_count', 'verified_type', 'withheld',
] as const

export const mediaFields = [
  'alt_text', 'duration_ms', 'height', 'media_key', 'preview_image_url', 'type', 'url', 'variants', 'width', 'public_metrics', 'non_public_metrics', 'organic_metrics',
  'promoted_metrics',
] as const

export const placeFields = ['contained_within', 'country', 'country_code', 'full_name', 'geo', 'id', 'name', 'place_type'] as const
export const pollFields = ['duration_minutes', 'end_datetime', 'id', 'options', 'voting_status'] as const

/** What a post may point to, each under its key of `includes`. */
export const postExpansions = [
  'author_id', 'in_reply_to_user_id', 'entities.mentions.username', 'referenced_tweets.id', 'referenced_tweets.id.author_id', 'edit_history_tweet_ids', 'attachments.media_keys',
  'attachments.poll_ids', 'geo.place_id',
] as const

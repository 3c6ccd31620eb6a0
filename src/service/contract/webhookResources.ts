/** Resources of webhooks and activity (spec 6, docs/spec-notes.md#webhooks), and the names of events. */
import { field, type Resource } from './resource.ts'

/** Names of activity events: first those of spec 6.2, then those that only the service's documentation has. */
export const activityEventTypes = [
  'post.create',
  'post.delete',
  'profile.update.bio',
  'profile.update.verified',
  'profile.update.affiliate',
  'profile.update.screenname',
  'spaces.start',
  'spaces.end',
  'dm.received',
  'dm.sent',
  'dm.read',
  'dm.indicate_typing',
  'profile.update.profile_picture',
  'profile.update.banner_picture',
  'profile.update.geo',
  'profile.update.url',
  'profile.update.handle',
  'profile.update.verified_badge',
  'profile.update.affiliate_badge',
  'post.mention.create',
  'post.reply.create',
  'post.quote.create',
  'post.repost.create',
  'like.create',
  'follow.follow',
  'follow.unfollow',
  'mute.mute',
  'mute.unmute',
  'block.block',
  'block.unblock',
  'news.new',
  'broadcast.start',
  'broadcast.end',
  'broadcast.chat',
  'chat.received',
  'chat.sent',
  'chat.conversation_join',
  'oauth.revoke',
] as const

/** Deprecated names of events, with the current ones (spec 6.2, 9). */
export const deprecatedEventTypes = {
  ProfileBioUpdate: 'profile.update.bio',
  ProfilePictureUpdate: 'profile.update.profile_picture',
  ProfileBannerUpdate: 'profile.update.banner_picture',
  ProfileGeoUpdate: 'profile.update.geo',
  ProfileUrlUpdate: 'profile.update.url',
} as const

export const webhookResources = {
  webhook: {
    fields: [field('id', 'string'), field('url', 'string'), field('valid', 'boolean'), field('created_at', 'timestamp')],
    source: 'docs/spec-notes.md#registrations',
  },
  webhookValidity: { fields: [field('valid', 'boolean')], source: 'docs/spec-notes.md#registrations' },
  webhookDeletion: { fields: [field('deleted', 'boolean')], source: 'docs/spec-notes.md#registrations' },
  replayJob: { fields: [field('job_id', 'string'), field('created_at', 'timestamp')], source: 'docs/spec-notes.md#replays' },
  activitySubscription: { fields: [field('subscription', 'object')], source: 'docs/spec-notes.md#activity-events' },
  closedConnections: {
    fields: [field('successful_kills', 'integer'), field('failed_kills', 'integer'), field('results', 'objects')],
    source: 'docs/spec-notes.md#activity-events',
  },
  activityEvent: {
    fields: [
      field('event_uuid', 'string'),
      field('filter', 'object'),
      field('event_type', 'string'),
      field('tag', 'string', { optional: true }),
      field('payload', 'object'),
      field('includes', 'object', { optional: true }),
    ],
    source: 'docs/spec-notes.md#activity-events',
  },
} as const satisfies Readonly<Record<string, Resource>>

/** Reasons for which the service refuses requests about webhooks. The `message` of the error begins with the reason and a colon. */
export const webhookReasons = [
  'CrcValidationFailed',
  'UrlValidationFailed',
  'DuplicateUrlFailed',
  'WebhookLimitExceeded',
  'WebhookIdInvalid',
] as const

/** Handles the endpoints of scheduled feeds (docs/spec-notes.md#scheduled-feeds). The sandbox does not fetch feeds. */
import type { Call, Handler } from '../area.ts'
import { listReply } from '../lists.ts'
import { givenFields, recordOfParam } from '../params.ts'
import { adsRefusal, ok, okDeleted } from '../refusal.ts'
import { catalogOf, echoAsId } from './catalogs.ts'
import type { Catalog, CatalogState, ScheduledFeed } from './state.ts'

export const feedHandlers: Readonly<Record<string, Handler<CatalogState>>> = {
  'scheduledFeeds.list': (call) => listReply(call, catalogOf(call).feeds.values()),
  'scheduledFeeds.get': (call) => {
    const feed = feedOf(call, catalogOf(call))
    echoAsId(call, 'scheduled_feed_id')
    return ok(feed)
  },
  'scheduledFeeds.create': (call) => {
    const catalog = catalogOf(call)
    const hasFeed = [...call.state.catalogs.values()].some((one) => one.userId === catalog.userId && one.feeds.size > 0)
    if (hasFeed) throw adsRefusal('ACTION_NOT_ALLOWED', 'A user can have only one scheduled feed')
    const feed: ScheduledFeed = {
      id: call.world.newId(),
      feed_url: '',
      feed_format: null,
      frequency: null,
      repeat: null,
      start_time: null,
      time_zone: null,
      ...givenFields(call),
    }
    catalog.feeds.set(feed.id, feed)
    return ok(feed)
  },
  'scheduledFeeds.update': (call) => {
    const feed = Object.assign(feedOf(call, catalogOf(call)), givenFields(call))
    echoAsId(call, 'scheduled_feed_id')
    return ok(feed)
  },
  'scheduledFeeds.delete': (call) => {
    const catalog = catalogOf(call)
    const feed = feedOf(call, catalog)
    catalog.feeds.delete(feed.id)
    echoAsId(call, 'scheduled_feed_id')
    return okDeleted(feed)
  },
}

/** Returns the feed that the path names. @throws {Refusal} 404 */
function feedOf(call: Call<CatalogState>, catalog: Catalog): ScheduledFeed {
  return recordOfParam(call, 'scheduled_feed_id', catalog.feeds)
}

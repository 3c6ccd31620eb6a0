/** Defines the posts area: posts of v2, posts on behalf of advertisers, and users (spec 2.6, 4.4, 4.7). */
import { defineArea } from '../area.ts'
import { emitPost } from '../webhooks/events.ts'
import { advertiserHandlers, duePosts, publishScheduled } from './advertiser.ts'
import { createPosts } from './seed.ts'
import { userHandlers } from './users.ts'
import { v2Handlers } from './v2.ts'

interface Published {
  readonly kind: 'published'
  readonly scheduledId: string
}

export const postsArea = defineArea({
  name: 'posts',
  createState: createPosts,
  handlers: { ...advertiserHandlers, ...v2Handlers(emitPost), ...userHandlers },
  onClock: (world, state) => {
    for (const due of duePosts(state, world.now())) world.record('posts', { kind: 'published', scheduledId: due.id } satisfies Published)
  },
  applyEvent: (world, state, event) => {
    // `onClock` recorded it: no other code records events of this area.
    const { scheduledId } = event as Published
    // A replay takes the id here too, so that later ids are the same.
    publishScheduled(world, state, scheduledId, world.newId())
  },
})

/** Defines the posts area: posts of v2, posts on behalf of advertisers, and users (spec 2.6, 4.4, 4.7). */
import { defineArea } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { advertiserHandlers, duePosts, publishScheduled } from './advertiser.ts'
import { createPostsState } from './seed.ts'
import { userHandlers } from './users.ts'
import { v2Handlers } from './v2.ts'

export const postsArea = defineArea({
  ref: areaRefs.posts,
  createState: createPostsState,
  handlers: { ...advertiserHandlers, ...v2Handlers, ...userHandlers },
  onClock: (world, state) => {
    for (const post of duePosts(state, world.now())) world.recordEvent(areaRefs.posts, { kind: 'published', scheduledId: post.id })
  },
  applyEvent: (world, state, { scheduledId }) => publishScheduled(world, state, scheduledId, world.newId()),
})

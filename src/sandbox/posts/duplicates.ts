/** Finds posts that repeat an earlier post of their author (the switch `duplicate_posts`). */
import type { World } from '../area.ts'
import type { Post, PostsState } from './state.ts'

/** Time in which an author may not repeat a post. Assumed, because the service documents only the code `DUPLICATE_TWEET`. */
const DUPLICATE_MS = 86_400_000

/**
 * Returns true if the author published an equal post less than a day before or after. Equal posts have the same text, media, card,
 * `nullcast` and references. Ignores earlier versions of the same post. Always false with the switch `duplicate_posts: accept`.
 */
export function isDuplicate(world: World, state: PostsState, post: Post): boolean {
  if (world.switchValue('duplicate_posts') === 'accept') return false
  const contentOf = (one: Post): string => JSON.stringify([one.text, one.media_keys, one.card_uri, one.nullcast, one.referenced])
  return [...state.posts.values()].some(
    (one) =>
      one.author_id === post.author_id &&
      // The earlier post has a later time if the clock was set back.
      Math.abs(post.createdAt - one.createdAt) < DUPLICATE_MS &&
      !post.edit_history.includes(one.id) &&
      contentOf(one) === contentOf(post),
  )
}

/** Names of all areas, with the types of their states and events. Arguments of `World.stateOf` and `World.recordEvent`. */
import type { AreaRef } from './area.ts'
import type { AudienceState } from './audiences/state.ts'
import type { AuthState, BearerExpired, UserAdded } from './auth/state.ts'
import type { CampaignsState, FeaturesChanged } from './campaigns/state.ts'
import type { CatalogState } from './catalogs/state.ts'
import type { CreativesState } from './creatives/state.ts'
import type { PostPublished, PostsState } from './posts/state.ts'
import type { WebhooksJournalEvent, WebhooksState } from './webhooks/state.ts'

const auth: AreaRef<AuthState, UserAdded | BearerExpired> = { name: 'auth' }
const catalogs: AreaRef<CatalogState> = { name: 'catalogs' }
const audiences: AreaRef<AudienceState> = { name: 'audiences' }
const creatives: AreaRef<CreativesState> = { name: 'creatives' }
const campaigns: AreaRef<CampaignsState, FeaturesChanged> = { name: 'campaigns' }
const posts: AreaRef<PostsState, PostPublished> = { name: 'posts' }
const webhooks: AreaRef<WebhooksState, WebhooksJournalEvent> = { name: 'webhooks' }

export const areaRefs = { auth, catalogs, audiences, creatives, campaigns, posts, webhooks }

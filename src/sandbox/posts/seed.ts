/** Creates the first state of the posts area. Its posts and users are invented. */
import { FIRST_DAY, FIXED_ACCOUNT, FIXED_USER } from '../firstIds.ts'
import { newPost, type Post, type PostsState, type DraftOrScheduledPost } from './state.ts'

/** Time of the first records, milliseconds since 1970. */
const FIRST_MS = Date.parse(FIRST_DAY)

/** Creates the first state, with constant ids: posts, a scheduled post, a draft, users, media, a place and a poll. */
export function createPostsState(): PostsState {
  const state: PostsState = {
    posts: new Map(),
    scheduled: new Map(),
    drafts: new Map(),
    users: new Map(),
    media: new Map(),
    places: new Map(),
    polls: new Map(),
  }
  addUsers(state)
  addPosts(state)
  addPlaceAndPoll(state)
  addMedia(state)
  addDraftAndScheduled(state)
  return state
}

function addPosts(state: PostsState): void {
  const add = (post: Pick<Post, 'id' | 'text' | 'author_id'> & Partial<Post>) =>
    state.posts.set(post.id, newPost({ createdAt: FIRST_MS, ...post }))
  add({
    id: '1166476031668015104',
    text: 'Spring mugs are here https://shop.example/mugs #mugs',
    author_id: FIXED_USER,
    account_id: FIXED_ACCOUNT,
    nullcast: true,
    name: 'Spring mugs',
    card_uri: 'card://1503831318555086849',
  })
  add({
    id: '1166476031668015105',
    text: 'Which mug do you take?',
    author_id: FIXED_USER,
    account_id: FIXED_ACCOUNT,
    nullcast: true,
    media_keys: ['3_1146654567674912769'],
    poll_id: '1503831318555086900',
  })
  add({
    id: '1166476031668015106',
    text: 'See how our mugs are made',
    author_id: FIXED_USER,
    account_id: FIXED_ACCOUNT,
    media_keys: ['7_1146654567674912772'],
    place_id: '96683cc9126741d1',
    metrics: { retweet_count: 12, reply_count: 3, like_count: 40, quote_count: 1 },
  })
  add({
    id: '1166476031668015107',
    text: '@sandbox do you ship to Berlin?',
    author_id: '2001',
    metrics: { retweet_count: 0, reply_count: 1, like_count: 2, quote_count: 0 },
  })
  add({
    id: '1166476031668015108',
    text: '@potter Yes, within two days',
    author_id: FIXED_USER,
    conversation_id: '1166476031668015107',
    in_reply_to_user_id: '2001',
    referenced: [{ type: 'replied_to', id: '1166476031668015107' }],
  })
  add({ id: '1166476031668015109', text: 'A quiet day in the studio', author_id: '2001' })
  add({
    id: '1166476031668015110',
    text: 'Thrown today, glazed tomorrow',
    author_id: '2001',
    community_id: '1758000000000000001',
    paid_partnership: true,
  })
}

function addPlaceAndPoll(state: PostsState): void {
  state.places.set('96683cc9126741d1', {
    id: '96683cc9126741d1',
    name: 'United States',
    full_name: 'United States',
    country: 'United States',
    country_code: 'US',
    place_type: 'country',
    contained_within: [],
    geo: { type: 'Feature', bbox: [-124.7, 24.5, -66.9, 49.4], properties: {} },
  })
  state.polls.set('1503831318555086900', {
    id: '1503831318555086900',
    options: [
      { position: 1, label: 'Coffee', votes: 3 },
      { position: 2, label: 'Tea', votes: 5 },
    ],
    duration_minutes: 1440,
    end_datetime: new Date(FIRST_MS + 86_400_000).toISOString(),
    voting_status: 'closed',
  })
}

function addMedia(state: PostsState): void {
  const metrics = { view_count: 310 }
  state.media.set('7_1146654567674912772', {
    media_key: '7_1146654567674912772',
    type: 'video',
    duration_ms: 15_000,
    height: 720,
    width: 1280,
    preview_image_url: 'https://media.example.com/7_1146654567674912772-poster.png',
    public_metrics: metrics,
    non_public_metrics: { playback_0_count: 300 },
    organic_metrics: metrics,
    promoted_metrics: metrics,
    variants: [{ bit_rate: 832_000, content_type: 'video/mp4', url: 'https://media.example.com/7_1146654567674912772.mp4' }],
    alt_text: 'Hands at a wheel',
  })
  state.media.set('3_1146654567674912769', {
    media_key: '3_1146654567674912769',
    type: 'photo',
    url: 'https://media.example.com/3_1146654567674912769.png',
    height: 628,
    width: 1200,
    alt_text: 'Three mugs',
  })
}

function addUsers(state: PostsState): void {
  const metrics = { followers_count: 120, following_count: 30, tweet_count: 410, listed_count: 2 }
  const shared = {
    location: 'Berlin',
    protected: false,
    verified: true,
    verified_type: 'business',
    entities: { url: { urls: [] } },
    url: 'https://shop.example',
    parody: false,
    profile_image_url: 'https://media.example.com/profile.png',
    profile_banner_url: 'https://media.example.com/banner.png',
    connection_status: [],
    subscription: {},
    subscribes_to_you: false,
    receives_your_dm: true,
    is_identity_verified: false,
    verified_followers_count: 4,
    withheld: { country_codes: [] },
  }
  state.users.set(FIXED_USER, {
    id: FIXED_USER,
    name: 'Sandbox',
    username: 'sandbox',
    created_at: '2026-01-15T12:00:00.000Z',
    description: 'Mugs, made by hand',
    pinned_tweet_id: '1166476031668015106',
    most_recent_tweet_id: '1166476031668015108',
    subscription_type: 'Premium',
    confirmed_email: 'sandbox@example.com',
    public_metrics: metrics,
    affiliation: {
      user_id: ['2001'],
      description: 'Example Shop',
      badge_url: 'https://media.example.com/badge.png',
      url: 'https://shop.example',
    },
    ...shared,
  })
  for (const [id, username, name] of [
    ['2001', 'potter', 'A Potter'],
    ['2002', 'glazer', 'A Glazer'],
    ['2003', 'runner', 'A Runner'],
  ] as const) {
    state.users.set(id, {
      id,
      name,
      username,
      created_at: '2026-02-01T08:30:00.000Z',
      description: `${name} of the sandbox`,
      subscription_type: 'None',
      public_metrics: metrics,
      affiliation: { user_id: [] },
      ...shared,
      verified: false,
      verified_type: 'none',
    })
  }
}

function addDraftAndScheduled(state: PostsState): void {
  const at = FIRST_DAY
  const shared: Omit<DraftOrScheduledPost, 'id' | 'text' | 'scheduled_at'> = {
    account_id: FIXED_ACCOUNT,
    user_id: FIXED_USER,
    name: null,
    nullcast: true,
    card_uri: null,
    media_keys: [],
    scheduled_status: 'SCHEDULED',
    completed_at: null,
    tweet_id: null,
    created_at: at,
    updated_at: at,
  }
  state.scheduled.set('917438609065623552', {
    ...shared,
    id: '917438609065623552',
    text: 'New glaze next month',
    scheduled_at: '2036-01-01T00:00:00Z',
  })
  state.drafts.set('994747471329873920', { ...shared, id: '994747471329873920', text: 'An idea for summer', scheduled_at: null })
}

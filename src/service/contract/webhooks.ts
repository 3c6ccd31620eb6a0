/** Endpoints of webhooks, replays, and activity subscriptions with their stream (spec 4.7, 6, 7; docs/spec-notes.md#webhooks). */
import type { Endpoint } from './endpoint.ts'
import { body, path } from './parameter.ts'

const webhookId = path('webhook_id')
/** Properties of most endpoints. An endpoint may replace some. */
const webhookRequest = { host: 'core', auth: 'bearer', body: 'none', limit: 'webhooks', repeatable: true } as const
/** Properties of the endpoints that create something. An endpoint may replace some. */
const createRequest = { ...webhookRequest, method: 'POST', body: 'json', repeatable: false } as const
/** Properties of a parameter with a UTC time in the form `yyyymmddhhmm`. */
const minuteParameter = { required: true, minLength: 12, maxLength: 12, source: 'docs/spec-notes.md#replays' } as const

export const webhookEndpoints = [
  {
    name: 'webhooks.create',
    ...createRequest,
    path: '/2/webhooks',
    parameters: [body('url', 'string', { required: true, maxLength: 200, source: 'spec 6.1 rule 2; docs/spec-notes.md#registrations' })],
    rules: [
      { kind: 'other', text: 'https, publicly reachable, no port', source: 'spec 6.1 rule 2' },
      { kind: 'other', text: 'a challenge check is sent and must succeed', source: 'spec 6.1 rule 3' },
    ],
    answer: { resource: 'webhook', many: false },
    source: 'spec 4.7',
  },
  {
    name: 'webhooks.list',
    ...webhookRequest,
    method: 'GET',
    path: '/2/webhooks',
    parameters: [],
    answer: { resource: 'webhook', many: true },
    source: 'spec 4.7; spec 3.1',
  },
  {
    name: 'webhooks.delete',
    ...webhookRequest,
    method: 'DELETE',
    path: '/2/webhooks/:webhook_id',
    parameters: [webhookId],
    answer: { resource: 'webhookDeletion', many: false },
    source: 'spec 4.7',
  },
  {
    name: 'webhooks.check',
    ...webhookRequest,
    method: 'PUT',
    path: '/2/webhooks/:webhook_id',
    parameters: [webhookId],
    rules: [{ kind: 'other', text: 'triggers a challenge check; success re-enables the webhook', source: 'spec 3.1; spec 6.1 rule 3' }],
    answer: { resource: 'webhookValidity', many: false },
    source: 'spec 4.7',
  },
  {
    name: 'webhooks.replay',
    ...createRequest,
    path: '/2/webhooks/replay',
    parameters: [
      body('webhook_id', 'string', { required: true, source: 'docs/spec-notes.md#replays' }),
      body('from_date', 'string', minuteParameter),
      body('to_date', 'string', minuteParameter),
    ],
    rules: [{ kind: 'other', text: '`from_date` at most 5 days back and before `to_date`', source: 'docs/spec-notes.md#replays' }],
    answer: { resource: 'replayJob', many: false },
    limit: 'webhook_replay',
    source: 'spec 4.7; spec 6.1 rule 6',
  },
  {
    name: 'activity.subscribe',
    ...createRequest,
    path: '/2/activity/subscriptions',
    auth: 'bearer-or-user',
    parameters: [
      body('event_type', 'string', { required: true, source: 'spec 6.2; docs/spec-notes.md#activity-events' }),
      body('filter', 'object', { required: true, source: 'spec 6.2: `user_id`, `keyword`, `direction`' }),
      body('tag', 'string', { minLength: 1, maxLength: 200, source: 'docs/spec-notes.md#activity-events' }),
      body('webhook_id', 'string', { source: 'docs/spec-notes.md#activity-events' }),
    ],
    rules: [
      { kind: 'other', text: '`filter.direction` only for dm and chat events: sent, received, or both', source: 'spec 6.2' },
      { kind: 'other', text: '`filter.user_id` is required for post.create and post.delete', source: 'spec 6.2' },
    ],
    answer: { resource: 'activitySubscription', many: false },
    limit: 'activity_subscriptions',
    source: 'spec 6.2',
  },
  {
    name: 'activity.stream',
    ...webhookRequest,
    method: 'GET',
    path: '/2/activity/stream',
    parameters: [],
    answer: { resource: 'activityEvent', many: true },
    limit: 'activity_stream',
    stream: true,
    source: 'spec 6.2',
  },
  {
    name: 'connections.closeAll',
    ...webhookRequest,
    method: 'DELETE',
    path: '/2/connections/all',
    parameters: [],
    answer: { resource: 'closedConnections', many: false },
    limit: 'activity_stream',
    source: 'spec 7; docs/spec-notes.md#activity-events',
  },
] as const satisfies readonly Endpoint[]

/** Handles activity subscriptions, the activity stream, and its connections (spec 6.2, 7; docs/spec-notes.md#webhooks). */
import { activityEventTypes, deprecatedEventTypes } from '../../service/contract/webhookResources.ts'
import type { Handler } from '../area.ts'
import { v2ParameterRefusal } from '../refusal.ts'
import { findWebhook } from './handlers.ts'
import type { Subscription, SubscriptionFilter, WebhooksState } from './state.ts'
import { checkStreamLimit, closeStreams, openStream } from './stream.ts'
import { textOf } from '../text.ts'
import { recordOf } from '../../unknownValue.ts'
import { withoutUndefined } from '../../withoutUndefined.ts'

/** Accepted directions: the names of the specification, then those of the service's documentation. */
const DIRECTIONS = ['sent', 'received', 'both', 'outbound', 'inbound']
const FILTER_FIELDS = ['user_id', 'keyword', 'direction']

export const activityHandlers: Readonly<Record<string, Handler<WebhooksState>>> = {
  'activity.subscribe': (call) => {
    const type = String(call.params['event_type'])
    if (!activityEventTypes.some((name) => name === type) && !Object.hasOwn(deprecatedEventTypes, type))
      throw v2ParameterRefusal('event_type', type, `event_type must be one of [${activityEventTypes.join(', ')}]`)
    const filter = filterOf(type, call.params['filter'])
    const webhookId = call.params['webhook_id'] === undefined ? null : findWebhook(call, call.params['webhook_id']).id
    const at = new Date(call.now).toISOString()
    const subscription: Subscription = {
      subscription_id: call.world.newId(),
      event_type: type,
      filter,
      tag: typeof call.params['tag'] === 'string' ? call.params['tag'] : null,
      webhook_id: webhookId,
      created_at: at,
      updated_at: at,
    }
    call.state.subscriptions.set(subscription.subscription_id, subscription)
    const { tag, webhook_id, ...shown } = subscription
    return {
      kind: 'json',
      body: { data: { subscription: { ...shown, ...(tag === null ? {} : { tag }), ...(webhook_id === null ? {} : { webhook_id }) } } },
    }
  },
  'activity.stream': (call) => {
    checkStreamLimit(call.world)
    return { kind: 'stream', open: (response) => openStream(call.world, response) }
  },
  'connections.closeAll': async (call) => {
    const closed = await call.runEffect(() => Promise.resolve(closeStreams(call.world)), [])
    const results = closed.map((uuid) => ({ uuid, success: true }))
    return { kind: 'json', body: { data: { successful_kills: closed.length, failed_kills: 0, results } } }
  },
}

/** Reads and checks the filter of a subscription to events of `type`. @throws {Refusal} */
function filterOf(type: string, value: unknown): SubscriptionFilter {
  const filter = recordOf(value)
  const texts: Record<string, string> = {}
  for (const [name, given] of Object.entries(filter)) {
    if (!FILTER_FIELDS.includes(name)) throw v2ParameterRefusal(`filter.${name}`, '', `"${name}" is not a field of filter`)
    if (typeof given !== 'string' || given === '')
      throw v2ParameterRefusal(`filter.${name}`, textOf(given), `filter.${name} must be a non-empty text`)
    texts[name] = given
  }
  const { user_id: user, keyword, direction } = texts
  if (user !== undefined && !/^\d{1,19}$/.test(user)) throw v2ParameterRefusal('filter.user_id', user, 'filter.user_id must be a user id')
  if (user === undefined && (type === 'post.create' || type === 'post.delete'))
    throw v2ParameterRefusal('filter.user_id', '', `filter.user_id is required for ${type}`)
  if (user === undefined && keyword === undefined)
    throw v2ParameterRefusal('filter.user_id', '', 'filter.user_id or filter.keyword is required')
  if (direction !== undefined && !/^(dm|chat)\./.test(type))
    throw v2ParameterRefusal('filter.direction', direction, 'filter.direction is for dm and chat events only')
  if (direction !== undefined && !DIRECTIONS.includes(direction))
    throw v2ParameterRefusal('filter.direction', direction, `filter.direction must be one of [${DIRECTIONS.join(', ')}]`)
  return withoutUndefined({ user_id: user, keyword, direction })
}

/** Public API of the receiver of webhooks. */
export {
  databaseEventStore,
  memoryEventStore,
  postgresEventStore,
  type EventStore,
  type PostgresPool,
  type ReceivedEvent,
} from './eventStore.ts'
export type { Gap, GapReceiver } from './gap.ts'
export { createWebhookReceiver, type WebhookReceiver, type WebhookReceiverOptions } from './receiver.ts'
export { keepReplays, type ReplayKeeper, type ReplayService } from './replays.ts'
export { sign } from './signature.ts'

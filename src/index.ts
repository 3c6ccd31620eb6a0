/** Public API of the package: what pipeline files and programs import from `sluice`. */
import './nodeVersion.ts'

export * from './pipeline/index.ts'
export * from './service/client/index.ts'
export * from './sandbox/index.ts'
export {
  createWebhookReceiver,
  memoryEventStore,
  postgresEventStore,
  type EventStore,
  type PostgresPool,
  type ReceivedEvent,
  type WebhookReceiver,
  type WebhookReceiverOptions,
} from './webhooks/index.ts'

/** What other rooms use of the webhook receiver. */
export type { Gap } from './gap.ts'
export { createWebhookReceiver, type WebhookReceiver, type WebhookReceiverOptions } from './receiver.ts'
export { keepReplays, type ReplayKeeper, type ReplayService } from './replays.ts'
export { sign } from './signature.ts'

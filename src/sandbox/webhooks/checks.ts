/** Checks webhooks with challenges, and makes failing webhooks invalid (spec 3.1, 6.1 rule 3). Times are those of the sandbox's clock. */
import type { World } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { checkWebhook } from './outbound.ts'
import { cancelSignal, startUnlessRunning } from './runtime.ts'
import type { CheckOutcome, Webhook, WebhooksState } from './state.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Time since the last successful check after which a transient failure makes a webhook invalid. */
const INVALID_AFTER_MS = 28 * HOUR

/** Sends a challenge to the URL. Resolves to the outcome; `transient` if {@link cancelSignal} aborts. `token`: default random. */
export function sendChallenge(world: World, url: string, token?: string): Promise<CheckOutcome> {
  const { consumerSecret: secret } = world.credentials
  return checkWebhook({ url, secret, form: world.switchValue('signature_form'), token, cancelled: cancelSignal(world) })
}

/**
 * Returns true if a check of a valid webhook is due. `period`: value of the switch `crc_period`:
 * - `spec`: 24 hours after the last success, then every 30 minutes until a success
 * - `hourly`: every hour
 */
export function isCheckDue(webhook: Webhook, now: number, period: string): boolean {
  if (!webhook.valid) return false
  const sinceCheck = now - webhook.lastCheckAt
  return period === 'hourly' ? sinceCheck >= HOUR : now - webhook.lastSuccessAt >= 24 * HOUR && sinceCheck >= 30 * MINUTE
}

/**
 * Records the outcome of a check. Success makes the webhook valid. After a transient failure, it stays valid until
 * {@link INVALID_AFTER_MS} after the last success. Any other failure makes it invalid (spec 3.1).
 */
export function recordCheck(webhook: Webhook, outcome: CheckOutcome, now: number): void {
  webhook.lastCheckAt = now
  webhook.lastOutcome = outcome
  if (outcome === 'valid') {
    webhook.lastSuccessAt = now
    webhook.valid = true
  } else if (outcome !== 'transient') webhook.valid = false
  else invalidateIfExpired(webhook, now)
}

/** Makes a webhook invalid if its last check failed transiently, and its last success is more than {@link INVALID_AFTER_MS} ago. */
export function invalidateIfExpired(webhook: Webhook, now: number): void {
  if (isExpired(webhook, now)) webhook.valid = false
}

/** Runs every check that is due, and makes expired webhooks invalid. Resolves when all outcomes are recorded or cancelled. */
export async function runChecks(world: World, state: WebhooksState): Promise<void> {
  const period = world.switchValue('crc_period')
  const checks: Promise<void>[] = []
  for (const webhook of state.webhooks.values()) {
    if (isCheckDue(webhook, world.now(), period))
      checks.push(startUnlessRunning(world, `check ${webhook.id}`, (cancelled) => runCheck(world, webhook, cancelled)))
    else if (isExpired(webhook, world.now())) world.recordEvent(areaRefs.webhooks, { kind: 'expired', id: webhook.id })
  }
  await Promise.all(checks)
}

async function runCheck(world: World, webhook: Webhook, cancelled: AbortSignal): Promise<void> {
  const outcome = await sendChallenge(world, webhook.url)
  if (cancelled.aborted) return
  world.recordEvent(areaRefs.webhooks, { kind: 'checked', id: webhook.id, outcome, at: world.now() })
}

function isExpired(webhook: Webhook, now: number): boolean {
  return webhook.valid && webhook.lastOutcome === 'transient' && now - webhook.lastSuccessAt > INVALID_AFTER_MS
}

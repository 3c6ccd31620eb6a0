/**
 * Signatures of the service: `sha256=` and the Base64 HMAC-SHA256 of the bytes with the consumer secret, the same for
 * challenges and for events (docs/spec-notes.md#webhooks). Pure.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** Never JSON, so that answering a challenge cannot sign a forged event (docs/spec-notes.md#webhooks). */
const TOKEN = /^[A-Za-z0-9_+/=-]{1,256}$/

export function sign(bytes: string | Uint8Array, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(bytes).digest('base64')}`
}

/** Returns true if a challenge token may be answered. */
export function isChallengeToken(token: string): boolean {
  return TOKEN.test(token)
}

/**
 * Returns true if `signature` matches exactly these bytes under one of the secrets. Compares with every secret, in constant
 * time, after the length (`timingSafeEqual` throws on unequal lengths).
 */
export function isSigned(body: Uint8Array, signature: string | undefined, secrets: readonly string[]): boolean {
  if (signature === undefined) return false
  const given = Buffer.from(signature)
  let found = false
  for (const secret of secrets) {
    const expected = Buffer.from(sign(body, secret))
    if (given.length === expected.length && timingSafeEqual(given, expected)) found = true
  }
  return found
}

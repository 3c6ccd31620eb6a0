/** Creates and verifies the signatures of challenges and events (docs/spec-notes.md#webhooks). Pure. */
import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Challenge tokens that are answered. No event (a JSON object) matches. So the answer to a challenge is never the signature of a forged
 * event.
 */
const tokenPattern = /^[A-Za-z0-9_+/=-]{1,256}$/

/** Returns `sha256=` and the Base64 HMAC-SHA256 of the bytes under the consumer secret. */
export function sign(bytes: string | Uint8Array, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(bytes).digest('base64')}`
}

/** Returns true if the token of a challenge may be answered. */
export function isChallengeToken(token: string): boolean {
  return tokenPattern.test(token)
}

/** Returns true if `signature` is valid for the bytes under one of the secrets. Compares with all secrets, each in constant time. */
export function isSigned(body: Uint8Array, signature: string | undefined, secrets: readonly string[]): boolean {
  if (signature === undefined) return false
  const given = Buffer.from(signature)
  let isValid = false
  for (const secret of secrets) {
    const expected = Buffer.from(sign(body, secret))
    if (given.length === expected.length && timingSafeEqual(given, expected)) isValid = true
  }
  return isValid
}

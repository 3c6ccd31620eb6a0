/** Events as they are stored: once each, by their own id or the hash of their body (docs/guarantees.md#webhook-delivery). */
import { createHash } from 'node:crypto'
import type { ReceivedEvent } from './eventStore.ts'

/** Reads a body whose signature was verified. Undefined when it is not a JSON object. */
export function parseEvent(body: Buffer): ReceivedEvent | undefined {
  const text = body.toString('utf8')
  const parsed = parseObject(text)
  if (parsed === undefined) return undefined
  const data = isObject(parsed['data']) ? parsed['data'] : parsed
  const uuid = data['event_uuid']
  const id = typeof uuid === 'string' && uuid !== '' ? uuid : typeof uuid === 'number' ? exactNumber(text) : undefined
  return { id: id ?? createHash('sha256').update(body).digest('hex'), type: typeOf(parsed, data), json: text }
}

function typeOf(parsed: Readonly<Record<string, unknown>>, data: Readonly<Record<string, unknown>>): string {
  if (typeof data['event_type'] === 'string') return data['event_type'].slice(0, 200)
  // Envelopes without a type are named by their one event key (`replay_job_status`, `direct_message_events`).
  return (
    Object.keys(parsed)
      .find((name) => name !== 'for_user_id' && name !== 'users')
      ?.slice(0, 200) ?? 'unknown'
  )
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    // Signed, but not JSON: the caller answers 400.
    return undefined
  }
}

/** Digits of a numeric `event_uuid` as they were sent: ids exceed 2^53 and may be negative (docs/spec-notes.md#webhooks). */
function exactNumber(text: string): string | undefined {
  let digits: string | undefined
  const keep = (key: string, value: unknown, context?: { readonly source?: string }): unknown => {
    if (key === 'event_uuid' && typeof value === 'number') digits = context?.source
    return value
  }
  // The third argument is newer than TypeScript's description of JSON.parse (Node 21 has it).
  JSON.parse(text, keep as (key: string, value: unknown) => unknown)
  return digits
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses the body of a delivered event (docs/guarantees.md#webhook-delivery). */
import { hash } from 'node:crypto'
import { cutText } from '../cutText.ts'
import { storableText } from '../storableText.ts'
import { isPlainRecord } from '../unknownValue.ts'
import type { ReceivedEvent } from './eventStore.ts'

/** Returns the event of a body whose signature was verified; undefined if the body is not a JSON object. */
export function parseEvent(body: Buffer): ReceivedEvent | undefined {
  const text = body.toString('utf8')
  const parsed = parseObject(text)
  if (parsed === undefined) return undefined
  const data = isPlainRecord(parsed['data']) ? parsed['data'] : parsed
  const uuid = data['event_uuid']
  const id = typeof uuid === 'string' && isStorableId(uuid) ? uuid : hash('sha256', body)
  return { id, type: typeOf(parsed, data), json: text }
}

/**
 * Returns `event_type`. Without it, returns the first key of the body that is not about users, such as `replay_job_status`; else `unknown`.
 */
function typeOf(parsed: Readonly<Record<string, unknown>>, data: Readonly<Record<string, unknown>>): string {
  if (typeof data['event_type'] === 'string') return storableText(cutText(data['event_type'], 200))
  const name = Object.keys(parsed).find((key) => key !== 'for_user_id' && key !== 'users')
  return storableText(cutText(name ?? 'unknown', 200))
}

/** Returns true for a text that an index of Postgres can contain. With any other id, each delivery of the event would be refused. */
function isStorableId(text: string): boolean {
  return text !== '' && text.length <= 500 && text === storableText(text)
}

/** Parses a JSON object; undefined for other texts. A numeric `event_uuid` becomes the text of its digits, because ids exceed 2^53. */
function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text, (key, inner: unknown, { source }) =>
      key === 'event_uuid' && typeof inner === 'number' ? source : inner,
    )
    return isPlainRecord(value) ? value : undefined
  } catch {
    // The body is signed but not JSON, so the caller answers 400.
    return undefined
  }
}

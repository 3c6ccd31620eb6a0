/** Events as they are stored: once each, by their own id or the hash of their body (guarantees I23). */
import { createHash } from 'node:crypto'
import type { Queryable } from '../store/database.ts'

export interface ReceivedEvent {
  /** The event's `event_uuid`, else the SHA-256 of the body in hex. */
  readonly id: string
  readonly type: string
  /** JSON text for the `body` column. */
  readonly json: string
}

/** Postgres refuses these in jsonb: U+0000 and lone surrogates. */
const UNSTORABLE = new Set(['22P02', '22P05', '22021'])

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

/** True when it was new, false when it was known already. */
export async function storeEvent(db: Queryable, event: ReceivedEvent): Promise<boolean> {
  const insert = (json: string) =>
    db.execute('insert into sluice.webhook_event (id, type, body) values ($1, $2, $3) on conflict (id) do nothing', [
      event.id,
      event.type,
      json,
    ])
  try {
    return (await insert(event.json)) === 1
  } catch (error) {
    if (!UNSTORABLE.has(String((error as { code?: unknown }).code))) throw error
    // Kept whole, though not as JSON that can be searched.
    return (await insert(JSON.stringify({ base64: Buffer.from(event.json).toString('base64') }))) === 1
  }
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

/** Digits of a numeric `event_uuid` as they were sent: ids exceed 2^53 and may be negative (gaps 10 Envelope). */
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

import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { parseEvent } from '../../../src/webhooks/parseEvent.ts'

const parse = (text: string) => parseEvent(Buffer.from(text))
const hash = (text: string) => createHash('sha256').update(text).digest('hex')

test.for([
  ['{"data":{"event_uuid":"e-1","event_type":"post.create"}}', 'e-1', 'post.create'],
  ['{"data":{"event_uuid":-9007199254740995,"event_type":"dm.sent"}}', '-9007199254740995', 'dm.sent'],
  ['{"data":{"event_uuid":12345678901234567890,"event_type":"dm.sent"}}', '12345678901234567890', 'dm.sent'],
  ['{"data":{"event_uuid":5,"event_type":"dm.sent","payload":{"event_uuid":7}}}', '5', 'dm.sent'],
] as const)('%s has its own id %s, exact to the last digit', ([text, id, type]) => {
  expect(parse(text)).toEqual({ id, type, json: text })
})

test.for([
  ['{"replay_job_status":{"job_id":"1"}}', 'replay_job_status'],
  ['{"for_user_id":"1","direct_message_events":[],"users":{}}', 'direct_message_events'],
  ['{}', 'unknown'],
] as const)('%s is known by the hash of its body and named %s', ([text, type]) => {
  expect(parse(text)).toEqual({ id: hash(text), type, json: text })
})

test.for(['', 'null', '[]', '"text"', '{"a":', '1'] as const)('%j is not an event', (text) => {
  expect(parse(text)).toBeUndefined()
})

test.for([
  '{"data":{"event_uuid":"a\\u0000","event_type":"post.create"}}',
  '{"data":{"event_uuid":"a\\ud800","event_type":"post.create"}}',
  `{"data":{"event_uuid":"${'a'.repeat(3000)}","event_type":"post.create"}}`,
] as const)('an id that Postgres cannot store is replaced by the hash of the body: %s', (text) => {
  expect(parse(text)).toEqual({ id: hash(text), type: 'post.create', json: text })
})

test('the type contains only what Postgres can store', () => {
  expect(parse('{"data":{"event_uuid":"e-1","event_type":"a\\u0000\\ud800b"}}')?.type).toBe('a␀\u{fffd}b')
  expect(parse(`{"data":{"event_uuid":"e-1","event_type":"${'a'.repeat(199)}😀"}}`)?.type).toBe('a'.repeat(199))
})

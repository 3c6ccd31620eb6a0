/** Rejected bodies of the control API. A mistyped field that is ignored would let a test check nothing. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSandbox } from '../../../src/sandbox/start.ts'

let sandbox: Awaited<ReturnType<typeof startSandbox>>
beforeAll(async () => {
  sandbox = await startSandbox({ port: 0 })
})
afterAll(() => sandbox.close())

const post = (body: unknown) =>
  fetch(`${sandbox.url}/_sandbox/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

test.each([
  [{ signature: 'wrong' }, 'signature must be one of: good, bad, none'],
  [{ signature: null }, 'signature must be one of'],
  [{ bytes_per_s: 0 }, 'bytes_per_s must be a number above 0'],
  [{ bytes_per_s: '100' }, 'bytes_per_s must be'],
  [{ times: 0.5 }, 'times must be a whole number from 0 to 1000000'],
  [{ times: '2' }, 'times must be'],
  [{ event_type: 7 }, 'event_type must be a text'],
  [{ data: { event_type: 7 } }, 'event_type must be a text'],
  [{ event_typ: 'post.create' }, 'event_typ is unknown'],
  [{ data: { event_typ: 'post.create' } }, 'data.event_typ is unknown'],
  [{ data: {}, event_type: 'post.delete' }, 'event_type must be in data, not beside it'],
  [{ webhook_id: null }, 'webhook_id must be a text'],
  [{ challenge: '1', token: 5 }, 'token must be a text'],
  [[{}, { challenge: '1' }], 'only the first element may have challenge'],
  ['post.create', 'an event must be an object'],
])('%j is refused: %s', async (event, message) => {
  const answer = await post(event)
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(message)])
})

test.each(['seed', 5, [], [1]])('a reset with the body %j is refused', async (body) => {
  const answer = await fetch(`${sandbox.url}/_sandbox/reset`, { method: 'POST', body: JSON.stringify(body) })
  expect([answer.status, await answer.text()]).toEqual([400, '{"error":"the body must be an object"}'])
})

test.each([
  {},
  { data: null },
  { data: null, tag: 'a' },
  { data: {}, times: 2 },
  { event_type: 'constructor' },
  { signature: 'bad' },
  { signature: 'none', bytes_per_s: 1000 },
  { times: 2 },
])('%j is accepted', async (event) => {
  expect((await post(event)).status).toBe(200)
})

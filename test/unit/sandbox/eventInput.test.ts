/** Refused settings of `POST /_sandbox/events`: a mistyped setting would otherwise test nothing. */
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
  { signature: 'wrong' },
  { signature: 1 },
  { signature: null },
  { bytes_per_s: 0 },
  { bytes_per_s: -5 },
  { bytes_per_s: '100' },
  { times: 0.5 },
  { times: '2' },
  { event_type: 7 },
])('%j is refused with the words that are read', async (event) => {
  const answer = await post(event)
  expect(answer.status).toBe(400)
  expect(await answer.text()).toContain('good, bad or none as signature')
})

test.each([{}, { signature: 'bad' }, { signature: 'none', bytes_per_s: 1000 }, { times: 2 }])('%j is accepted', async (event) => {
  expect((await post(event)).status).toBe(200)
})

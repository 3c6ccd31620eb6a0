/**
 * Output of `sluice api` for a refused call: parameter, rule and hint. Every kind of rule through the command, every rule of the contract
 * through its error.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serviceError } from '../../../src/cli/commands/api/caller.ts'
import type { Endpoint } from '../../../src/service/contract/endpoint.ts'
import { endpoints } from '../../../src/service/contract/index.ts'
import { ServiceError } from '../../../src/service/client/index.ts'
import { brokenCalls } from '../../support/brokenCalls.ts'
import { pathOf } from '../../support/firstState.ts'
import { withSandbox, type SandboxUnderTest } from '../../support/sandbox.ts'
import { sluiceHere } from './support.ts'

let sandbox: SandboxUnderTest
beforeAll(async () => {
  sandbox = await withSandbox()
  await sandbox.control.switches({ rate_limits: 'off' })
})
afterAll(() => sandbox.close())

async function call(args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const { consumerKey, consumerSecret, accessToken, accessTokenSecret } = sandbox.credentials
  const env = {
    SLUICE_BASE_URL: sandbox.url,
    SLUICE_CONSUMER_KEY: consumerKey,
    SLUICE_CONSUMER_SECRET: consumerSecret,
    SLUICE_ACCESS_TOKEN: accessToken,
    SLUICE_ACCESS_TOKEN_SECRET: accessTokenSecret,
    ...more,
  }
  return sluiceHere(['api', ...args], { env })
}

const own = '/12/accounts/18ce54d4x5t'
const poll = ['-F', 'first_choice=a', '-F', 'second_choice=b', '-F', 'name=x']

test('the fields of a DELETE with a JSON body are sent in the body only', async () => {
  const { code, stderr } = await call(['DELETE', '/12/product_catalogs/4001/products', '-F', 'product_keys=["A"]'])
  expect([code, stderr]).toEqual([0, ''])
})

test.for([
  [301, 'text/html', '<html>moved</html>'],
  [302, 'application/json', '{}'],
  [200, 'text/html', '<!doctype html><p>Sign in</p>'],
] as const)('the answer %i %s of a server in front of the service is an error', async ([status, type, body]) => {
  const server = createServer((_, answer) =>
    answer.writeHead(status, { 'content-type': type, location: 'https://ads.example.com/' }).end(body),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    expect(await call(['GET', '/12/accounts'], { SLUICE_BASE_URL: `http://127.0.0.1:${port}` })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/SLUICE_(ADS_)?BASE_URL/) as string,
    })
  } finally {
    server.close()
  }
})

test.for([
  [
    'an unknown parameter',
    ['GET', `${own}/scheduled_tweets`, '-F', 'colour=red'],
    /"colour" is not a parameter/,
    /colour is not known here; .*optional: user_id, count/,
  ],
  [
    'a missing parameter',
    ['POST', `${own}/campaigns`, '-F', 'name=x'],
    /"funding_instrument_id" is a required parameter/,
    /funding_instrument_id: text, required/,
  ],
  [
    'a number out of bounds',
    ['GET', `${own}/cards`, '-F', 'count=201'],
    /from 1 to 200, got "201" for count/,
    /count: a whole number, 1 to 200, default 100/,
  ],
  ['no number', ['GET', `${own}/cards`, '-F', 'count=many'], /Expected integer, got "many" for count/, /count: a whole number/],
  [
    'a text too long',
    ['POST', `${own}/cards/poll`, ...poll, '-F', 'duration_in_minutes=5', '-F', `third_choice=${'x'.repeat(26)}`],
    /at most 25 characters, got .* for third_choice/,
    /third_choice: text, at most 25 characters/,
  ],
  ['a text too short', ['GET', `${own}/media_library`, '-F', 'q='], /at least 1 characters, got "" for q/, /q: text, 1 to 255 characters/],
  [
    'too many items',
    ['GET', `${own}/campaigns`, '-F', `campaign_ids=${'1,'.repeat(200)}1`],
    /at most 200 items, got "201 items" for campaign_ids/,
    /campaign_ids: a comma-separated list, at most 200 entries/,
  ],
  [
    'a value outside an enum',
    ['PUT', `${own}/line_items/9cqi0`, '-F', 'audience_expansion=WIDE'],
    /got "WIDE" for audience_expansion/,
    /audience_expansion: one of BROAD, DEFINED, EXPANDED/,
  ],
  [
    'no time',
    ['PUT', `${own}/line_items/9cqi0`, '-F', 'end_time=soon'],
    /Expected time, got "soon" for end_time/,
    /end_time: an ISO 8601 time/,
  ],
  [
    'not a whole hour',
    [
      'GET',
      `${own}/account_history`,
      '-F',
      'entity_type=LINE_ITEM',
      '-F',
      'entity_id=x',
      '-F',
      'start_time=2026-01-01T00:30:00Z',
      '-F',
      'end_time=2026-02-01',
    ],
    /for start_time/,
    /start_time: an ISO 8601 time at a whole hour/,
  ],
  [
    'two that exclude each other',
    ['GET', `${own}/campaigns`, '-F', 'with_total_count=true', '-F', 'cursor=x'],
    /"with_total_count" and "cursor" are mutually exclusive/,
    /with_total_count: true or false.*not together with cursor/,
  ],
  [
    'a cursor of nowhere',
    ['GET', `${own}/campaigns`, '-F', 'cursor=x'],
    /for cursor/,
    /cursor: text.*the next_cursor of an earlier answer/,
  ],
  [
    'none of two of which one is required',
    ['POST', `${own}/cards`, '--data', '{"name":"x"}'],
    /exactly one of "components", "slides" is required/,
    /exactly one of components, slides/,
  ],
  [
    'what another parameter requires',
    ['PUT', `${own}/line_items/9cqi0`, '-F', 'bid_strategy=MAX'],
    /"bid_amount_local_micro" is a required parameter/,
    /bid_amount_local_micro required when bid_strategy is MAX or TARGET/,
  ],
  [
    'what the record forbids',
    ['PUT', `${own}/line_items/9cqi6`, '-F', 'bid_strategy=MAX', '-F', 'bid_amount_local_micro=1'],
    /for bid_strategy/,
    /`bid_strategy` MAX not with objectives REACH and FOLLOWERS/,
  ],
  [
    'an unknown field of a body',
    ['POST', `${own}/cards`, '--data', '{"name":"x","components":[],"colour":1}'],
    /"colour" is not a field/,
    /colour is not known here/,
  ],
  [
    'an entry of a batch',
    ['POST', `${own}/custom_audiences/1nmth/users`, '--data', '[{"operation_type":"Update","params":{}}]'],
    /entry 0: "users" is a required parameter/,
    /[Cc]orrect or remove users of entry 0/,
  ],
  [
    'a parameter of v2',
    ['GET', '/2/tweets', '-F', 'ids=x'],
    /`ids` query parameter value \[x\] is not valid/,
    /ids: a comma-separated list, at most 100 entries, required/,
  ],
  [
    'an address for events',
    ['POST', '/2/webhooks', '-F', 'url=http://a.example.com'],
    /UrlValidationFailed: the url must be https/,
    /https address without a port, of at most 200 characters/,
  ],
  [
    'an id that is not there',
    ['GET', `${own}/campaigns/none`],
    /CAMPAIGN_NOT_FOUND: campaign_id: campaign none was not found/,
    /Check campaign_id.*with_deleted=true/,
  ],
  ['an account out of reach', ['GET', '/12/accounts/abc1/campaigns'], /Account abc1 was not found/, /Check the account id/],
  ['a path that is not served', ['GET', '/12/nothing'], /ROUTE_NOT_FOUND/, /check version and path/],
  ['a method that is not served', ['POST', `${own}/campaigns/8wku2`], /METHOD_NOT_ALLOWED/, /Use another method/],
  ['an app-only token where a user is due', ['GET', `${own}/campaigns`, '--bearer'], /not properly authenticated/, /leave --bearer out/],
  ['a user without access', ['POST', `${own}/tweet`, '-F', 'as_user_id=5', '-F', 'text=x'], /USER_NOT_FOUND/, /as_user_id/],
] as const)('%s', async ([, args, error, hint]) => {
  const { code, stderr, stdout } = await call(args)
  expect(code).toBe(1)
  expect(/^error {2}(.*)$/m.exec(stderr)?.[1]).toMatch(error)
  expect(/^hint {3}(.*)$/m.exec(stderr)?.[1]).toMatch(hint)
  expect(/^where {2}(.*)$/m.exec(stderr)?.[1]).toContain(`${args[0]} /`)
  // The text of the service is passed through unchanged.
  expect(stdout).toMatch(/^\{"(errors|operation_errors)":\[/)
})

test('every rule of the contract, broken: the error names the parameter and the hint says its rule', { tags: ['long'] }, async () => {
  const wrong: unknown[] = []
  let broken = 0
  const signed = endpoints.filter(({ auth, host }) => auth === 'user' && host !== 'core')
  for (const endpoint of signed as readonly Endpoint[]) {
    for (const call of brokenCalls(endpoint)) {
      broken++
      const answer = await sandbox.call(endpoint.method, pathOf(endpoint), {
        query: call.query,
        ...(call.json === undefined ? {} : { json: call.json }),
      })
      const exchange = {
        kind: 'answer',
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: Buffer.from(answer.text),
        durationMs: 1,
      } as const
      const error = serviceError(exchange, { method: endpoint.method, path: pathOf(endpoint) }, Date.now())
      const { message, hint } = error as ServiceError
      if (!(error instanceof ServiceError) || !message.includes(call.parameter) || !hint.includes(call.parameter))
        wrong.push([endpoint.name, call.what, message, hint])
    }
  }
  expect(wrong).toEqual([])
  expect(broken).toBeGreaterThan(700)
})

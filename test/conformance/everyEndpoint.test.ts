/** Calls every endpoint in every way that the contract does not permit (spec 4, 7, 8; docs/spec-notes.md#signing). */
import { beforeEach, describe, expect, test } from 'vitest'
import type { Endpoint } from '../../src/service/contract/endpoint.ts'
import { creationParameters } from '../../src/service/contract/fieldAccess.ts'
import { endpoints } from '../../src/service/contract/index.ts'
import { authorization } from '../support/signer.ts'
import { brokenCalls, type BrokenCall } from '../support/brokenCalls.ts'
import { pathOf } from '../support/firstState.ts'
import { bearerOf, type CallOptions, type CallResult, type Loose } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const sandbox = sharedSandbox()
let bearer: string
beforeEach(async () => {
  await sandbox.control.switches({ rate_limits: 'off' })
  bearer = await bearerOf(sandbox)
})

const signed = endpoints.filter(
  ({ auth, stream }) => stream !== true && (auth === 'user' || auth === 'bearer' || auth === 'bearer-or-user'),
)
const ads = signed.filter(({ host }) => host !== 'core')
const v2 = signed.filter(({ path }) => path.startsWith('/2/'))
const named = (list: readonly Endpoint[]): (readonly [string, Endpoint])[] => list.map((endpoint) => [endpoint.name, endpoint])
const send = (endpoint: Endpoint, options: CallOptions, path = pathOf(endpoint)): Promise<CallResult> =>
  sandbox.call(endpoint.method, path, endpoint.auth === 'bearer' ? { bearer, ...options } : options)
const sendBroken = (endpoint: Endpoint, { query, json }: BrokenCall): Promise<CallResult> =>
  send(endpoint, { query, ...(json === undefined ? {} : { json }) })

test('the contract has enough rules to break', () => {
  const broken = signed.flatMap(brokenCalls)
  expect(broken.length).toBeGreaterThan(700)
  expect(new Set(broken.map(({ code }) => code))).toEqual(new Set(['INVALID_PARAMETER', 'MISSING_PARAMETER', 'EXCLUSIVE_PARAMETERS']))
})

describe('every parameter rule of an advertising endpoint is refused by code, parameter and echo', () => {
  test.for(named(ads))('%s', async ([, endpoint]) => {
    const wrong: unknown[] = []
    for (const broken of brokenCalls(endpoint)) {
      const { status, body, text } = await sendBroken(endpoint, broken)
      const errors: Loose[] = body?.errors ?? []
      const found = errors.find((error) => error.parameter === broken.parameter && error.code === broken.code)
      const shaped =
        errors.every((error) => typeof error.code === 'string' && typeof error.message === 'string' && error.message !== '') &&
        typeof body?.request?.params === 'object'
      if (status !== 400 || found === undefined || !shaped) wrong.push([broken.what, status, text.slice(0, 300)])
    }
    expect(wrong).toEqual([])
  })
})

describe('every parameter rule of a v2 endpoint is a problem that names the parameter', () => {
  test.for(named(v2))('%s', async ([, endpoint]) => {
    const wrong: unknown[] = []
    for (const broken of brokenCalls(endpoint)) {
      const { status, body, text } = await sendBroken(endpoint, broken)
      const errors: Loose[] = body?.errors ?? []
      const found = errors.some((error) => broken.parameter in (error.parameters ?? {}) && typeof error.message === 'string')
      if (status !== 400 || !found || body.title !== 'Invalid Request' || !String(body.type).endsWith('/2/problems/invalid-request'))
        wrong.push([broken.what, status, text.slice(0, 300)])
    }
    expect(wrong).toEqual([])
  })
})

test('a parameter given twice is refused unless both say the same or it is a list', async () => {
  const read = (query: string): Promise<Response> => {
    const url = `${sandbox.url}/12/accounts/18ce54d4x5t/campaigns?${query}`
    return fetch(url, { headers: { authorization: authorization({ method: 'GET', url }) } })
  }
  const refused = await read('count=1&count=2')
  const { errors } = (await refused.json()) as Loose
  expect([refused.status, errors[0].code, errors[0].parameter]).toEqual([400, 'INVALID_PARAMETER', 'count'])
  expect((await read('campaign_ids=8wku2&campaign_ids=8wku3')).status).toBe(200)
  expect((await read('count=1&count=1')).status).toBe(200)
})

describe('null in a required field of a JSON body is a missing parameter', () => {
  const fields = signed
    .filter(({ body, bodyIs }) => body === 'json' && bodyIs !== 'array')
    .flatMap((endpoint) => endpoint.parameters.flatMap((one) => (one.in === 'body' && one.required ? [[endpoint, one.name] as const] : [])))
  test.for(fields.map(([endpoint, name]) => [`${endpoint.name} ${name}`, endpoint, name] as const))('%s', async ([, endpoint, name]) => {
    const { json } = brokenCalls(endpoint).find(({ what }) => what === 'an unknown parameter')!
    const answer = await send(endpoint, { json: { ...json, [name]: null } })
    expect([answer.status, answer.body.errors.map(({ message }: Loose) => message)]).toEqual([
      400,
      expect.arrayContaining([`"${name}" is a required parameter`]),
    ])
  })
})

describe('an update does not empty the name that the creation requires', () => {
  const updates = ads.filter((one) => one.method === 'PUT' && creationParameters(one).get('name')?.required === true)
  test('there are such updates', () => expect(updates.length).toBeGreaterThan(4))
  test.for(named(updates))('%s', async ([, endpoint]) => {
    const answer = await send(endpoint, endpoint.body === 'json' ? { json: { name: '' } } : { query: { name: '' } })
    expect([answer.status, answer.body.errors?.[0].parameter], answer.text).toEqual([400, 'name'])
  })
})

test('the upload of audience users wants its content type', async () => {
  const upload = (type: string): Promise<CallResult> =>
    sandbox.call('POST', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users', { json: [], headers: { 'content-type': type } })
  for (const type of ['application/json', 'application/json; charset=utf-8']) expect((await upload(type)).status).toBe(200)
  const refused = await upload('text/plain')
  expect([refused.status, refused.body.errors[0].code, refused.body.errors[0].parameter]).toEqual([
    400,
    'INVALID_PARAMETER',
    'Content-Type',
  ])
})

describe('access', () => {
  test.for(named(ads))('%s is refused without a signature, with a bearer token and with a wrong secret', async ([, endpoint]) => {
    const wrongSecret = { ...sandbox.credentials, accessTokenSecret: 'wrong' }
    for (const options of [{ headers: { authorization: '' } }, { bearer }, { credentials: wrongSecret }]) {
      const { status, body } = await send(endpoint, options)
      expect([status, body]).toEqual([
        401,
        { errors: [{ code: 'UNAUTHORIZED_ACCESS', message: 'This request is not properly authenticated' }], request: { params: {} } },
      ])
    }
  })

  test.for(named(v2))('%s is refused without any credentials', async ([, endpoint]) => {
    const { status, body } = await send(endpoint, { headers: { authorization: '' } })
    expect(status).toBe(401)
    expect(body.errors[0].message).toEqual(expect.any(String))
  })

  test.for(named(ads.filter(({ path }) => path.includes(':account_id'))))(
    '%s is refused for an account out of reach',
    async ([, endpoint]) => {
      const [first] = brokenCalls(endpoint)
      const { no_such_parameter: _, ...query } = first?.query ?? {}
      const json = endpoint.bodyIs === 'array' ? [] : first?.json
      const { status, body } = await send(
        endpoint,
        { query, ...(json === undefined ? {} : { json }) },
        pathOf(endpoint, { account_id: 'abc1' }),
      )
      expect([status, body.errors[0].code, body.errors[0].message]).toEqual([403, 'ACCOUNT_NOT_FOUND', 'Account abc1 was not found'])
    },
  )

  test.for(named(ads.filter(({ auth }) => auth === 'user')))('%s is refused to an application without access', async ([, endpoint]) => {
    await sandbox.control.switches({ app_approved: 'no' })
    const { status, body } = await send(endpoint, {})
    expect([status, body.errors[0].code]).toEqual([403, 'UNAUTHORIZED_CLIENT_APPLICATION'])
  })
})

describe('paths', () => {
  test.for(named(ads))('below %s there is nothing, and another method is not served', async ([, endpoint]) => {
    const below = await send(endpoint, {}, `${pathOf(endpoint)}/no_such_part/x/y`)
    expect([below.status, below.body.errors[0].code]).toEqual([404, 'ROUTE_NOT_FOUND'])
    const other = await sandbox.call('PATCH', pathOf(endpoint))
    expect([other.status, other.body.errors[0].code]).toEqual([405, 'METHOD_NOT_ALLOWED'])
  })

  test('other versions than 11 and 12 are not served, but for the permissions of version 5', async () => {
    for (const version of ['5', '10', '13']) expect((await sandbox.call('GET', `/${version}/accounts`)).status).toBe(404)
    expect((await sandbox.call('GET', '/5/accounts/18ce54d4x5t/tailored_audiences/1nmth/permissions')).status).toBe(200)
    expect((await sandbox.call('GET', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/permissions')).status).toBe(200)
  })
})

describe('answers of every kind carry their headers', () => {
  test.for(named(ads.filter(({ method }) => method === 'GET')))('%s', async ([, endpoint]) => {
    const { headers } = await send(endpoint, {})
    expect(headers.get('x-current-api-version')).toBe('12')
    for (const name of ['limit', 'remaining', 'reset']) expect(headers.get(`x-rate-limit-${name}`)).toMatch(/^\d+$/)
  })
})

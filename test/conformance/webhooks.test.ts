/** Webhooks and activity as an outside caller sees them (spec 3.1, 4.7, 6; docs/spec-notes.md#webhooks). */
import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { bearerOf, withSandbox, type SandboxUnderTest } from '../support/sandbox.ts'
import { sandboxCredentials } from '../support/signer.ts'
import { webhookEndpoint, type WebhookEndpoint } from '../support/webhookEndpoint.ts'

const HOUR = 3600

interface Story {
  readonly sandbox: SandboxUnderTest
  readonly endpoint: WebhookEndpoint
  readonly bearer: string
  readonly id: string
  readonly isValid: () => Promise<boolean>
}

/** A sandbox with one registered webhook. */
async function story(run: (story: Story) => Promise<void>): Promise<void> {
  await using sandbox = await withSandbox()
  await using endpoint = await webhookEndpoint()
  await sandbox.control.switches({ webhook_dev_urls: 'on' })
  const bearer = await bearerOf(sandbox)
  const made = await sandbox.call('POST', '/2/webhooks', { json: { url: endpoint.url }, bearer })
  expect(made.status, made.text).toBe(200)
  const id = made.body.data.id as string
  const isValid = async () => (await sandbox.call('GET', '/2/webhooks', { bearer })).body.data[0].valid as boolean
  await run({ sandbox, endpoint, bearer, id, isValid })
}

const signatureOf = (body: string) => `sha256=${createHmac('sha256', sandboxCredentials.consumerSecret).update(body).digest('base64')}`

describe('registration', () => {
  test('a webhook is registered after a challenge, listed with its validity, and removed', () =>
    story(async ({ sandbox, endpoint, bearer, id }) => {
      expect(endpoint.challenges).toBe(1)
      const list = await sandbox.call('GET', '/2/webhooks', { bearer })
      expect(list.body).toEqual({
        data: [{ id, url: endpoint.url, valid: true, created_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) as string }],
        meta: { result_count: 1 },
      })
      expect(id).toMatch(/^[0-9]{1,19}$/)
      expect((await sandbox.call('DELETE', `/2/webhooks/${id}`, { bearer })).body).toEqual({ data: { deleted: true } })
      expect((await sandbox.call('GET', '/2/webhooks', { bearer })).body.data).toEqual([])
      const again = await sandbox.call('DELETE', `/2/webhooks/${id}`, { bearer })
      expect([again.status, again.body.errors[0].message]).toEqual([400, expect.stringMatching(/^WebhookIdInvalid: /)])
    }))

  test('a registration that a fault does not apply sends no challenge', () =>
    story(async ({ sandbox, endpoint, bearer }) => {
      await sandbox.control.fault({ path: '/2/webhooks' }, { kind: 'latency', ms: 1, apply: 'none' })
      const made = await sandbox.call('POST', '/2/webhooks', { json: { url: `${endpoint.url}/other` }, bearer })
      expect([made.status, made.body.data.valid]).toEqual([200, true])
      expect((await sandbox.call('GET', '/2/webhooks', { bearer })).body.meta.result_count).toBe(1)
      expect(endpoint.challenges).toBe(1)
    }))

  test.for([['wrong-token'], ['redirect'], ['error']] as const)(
    'an endpoint that answers the challenge with %s is not registered',
    async ([behaviour]) => {
      await using sandbox = await withSandbox()
      await using endpoint = await webhookEndpoint()
      endpoint.challenge = behaviour
      await sandbox.control.switches({ webhook_dev_urls: 'on' })
      const bearer = await bearerOf(sandbox)
      const made = await sandbox.call('POST', '/2/webhooks', { json: { url: endpoint.url }, bearer })
      expect([made.status, made.body.title, made.body.errors[0].message]).toEqual([
        400,
        'Invalid Request',
        expect.stringMatching(/^CrcValidationFailed: /),
      ])
      expect((await sandbox.call('GET', '/2/webhooks', { bearer })).body.data).toEqual([])
    },
  )

  test('without the developer switch only public https without a port is taken', async () => {
    await using sandbox = await withSandbox()
    const bearer = await bearerOf(sandbox)
    for (const url of [
      'http://hooks.example.com/a',
      'https://hooks.example.com:8443/a',
      'https://hooks.example.com:443/a',
      'https://127.0.0.1/a',
      'https://localhost/a',
      'not a url',
    ]) {
      const made = await sandbox.call('POST', '/2/webhooks', { json: { url }, bearer })
      expect([url, made.status, made.body.errors[0].message]).toEqual([url, 400, expect.stringMatching(/^UrlValidationFailed: /)])
    }
    expect((await sandbox.call('POST', '/2/webhooks', { json: {}, bearer })).status).toBe(400)
    expect((await sandbox.call('POST', '/2/webhooks', { json: { url: `https://example.com/${'a'.repeat(200)}` }, bearer })).status).toBe(
      400,
    )
  })

  test('the same url twice is a duplicate, and a user signature is no bearer token', () =>
    story(async ({ sandbox, endpoint, bearer }) => {
      const twice = await sandbox.call('POST', '/2/webhooks', { json: { url: endpoint.url }, bearer })
      expect(twice.body.errors[0].message).toMatch(/^DuplicateUrlFailed: /)
      expect((await sandbox.call('GET', '/2/webhooks')).status).toBe(403)
      expect((await sandbox.call('GET', '/2/webhooks', { bearer: 'unknown' })).status).toBe(401)
    }))

  test('of two registrations of one url that wait for their challenges, one is a duplicate', async () => {
    await using sandbox = await withSandbox()
    await using endpoint = await webhookEndpoint()
    endpoint.challenge = 'meet'
    await sandbox.control.switches({ webhook_dev_urls: 'on' })
    const bearer = await bearerOf(sandbox)
    const register = () => sandbox.call('POST', '/2/webhooks', { json: { url: endpoint.url }, bearer })
    const made = await Promise.all([register(), register()])
    expect(made.map(({ status }) => status).toSorted()).toEqual([200, 400])
    expect(made.find(({ status }) => status === 400)?.body.errors[0].message).toMatch(/^DuplicateUrlFailed: /)
    expect((await sandbox.call('GET', '/2/webhooks', { bearer })).body.data).toHaveLength(1)
  })
})

describe('validity by the clock', () => {
  test('a wrong token invalidates at the check that is due after a day, and PUT re-enables', () =>
    story(async ({ sandbox, endpoint, bearer, id, isValid }) => {
      await sandbox.control.advance(23 * HOUR)
      expect(endpoint.challenges).toBe(1)
      endpoint.challenge = 'wrong-token'
      await sandbox.control.advance(HOUR)
      expect([endpoint.challenges, await isValid()]).toEqual([2, false])
      // Invalid webhooks are not checked until a PUT.
      await sandbox.control.advance(48 * HOUR)
      expect(endpoint.challenges).toBe(2)
      const refused = await sandbox.call('PUT', `/2/webhooks/${id}`, { bearer })
      expect([refused.status, await isValid()]).toEqual([400, false])
      endpoint.challenge = 'good'
      expect((await sandbox.call('PUT', `/2/webhooks/${id}`, { bearer })).body).toEqual({ data: { valid: true } })
      expect(await isValid()).toBe(true)
    }))

  test('a redirect invalidates', () =>
    story(async ({ sandbox, endpoint, isValid }) => {
      endpoint.challenge = 'redirect'
      await sandbox.control.advance(24 * HOUR)
      expect(await isValid()).toBe(false)
    }))

  test('a stale read shows the result of a check only after its lag', () =>
    story(async ({ sandbox, endpoint, isValid }) => {
      endpoint.challenge = 'wrong-token'
      await sandbox.control.fault({ path: '/2/webhooks' }, { kind: 'stale' }, 'always')
      await sandbox.control.advance(24 * HOUR)
      expect(await isValid()).toBe(true)
      await sandbox.control.clearFaults()
      expect(await isValid()).toBe(false)
    }))

  test('transient failures are checked every 30 minutes and invalidate after more than 28 hours', () =>
    story(async ({ sandbox, endpoint, isValid }) => {
      endpoint.challenge = 'error'
      await sandbox.control.advance(24 * HOUR)
      expect([endpoint.challenges, await isValid()]).toEqual([2, true])
      await sandbox.control.advance(10 * 60)
      expect(endpoint.challenges).toBe(2)
      await sandbox.control.advance(20 * 60)
      expect([endpoint.challenges, await isValid()]).toEqual([3, true])
      await sandbox.control.advance(3 * HOUR + 25 * 60)
      expect(await isValid()).toBe(true)
      await sandbox.control.advance(6 * 60)
      expect(await isValid()).toBe(false)
    }))

  test('one success within the grace starts the day again', () =>
    story(async ({ sandbox, endpoint, isValid }) => {
      endpoint.challenge = 'error'
      await sandbox.control.advance(26 * HOUR)
      endpoint.challenge = 'good'
      await sandbox.control.advance(HOUR)
      endpoint.challenge = 'error'
      await sandbox.control.advance(25 * HOUR)
      expect(await isValid()).toBe(true)
    }))

  test('a TLS failure is distinguished from a transient one', async () => {
    await using sandbox = await withSandbox()
    await using endpoint = await webhookEndpoint()
    await sandbox.control.switches({ webhook_dev_urls: 'on' })
    const bearer = await bearerOf(sandbox)
    // It serves plain HTTP, so the handshake fails.
    const made = await sandbox.call('POST', '/2/webhooks', { json: { url: endpoint.url.replace('http:', 'https:') }, bearer })
    expect(made.body.errors[0].message).toBe('CrcValidationFailed: the TLS connection failed')
    expect(endpoint.challenges).toBe(0)
  })

  test('with the hourly switch a check goes out every hour', () =>
    story(async ({ sandbox, endpoint }) => {
      await sandbox.control.switches({ crc_period: 'hourly' })
      await sandbox.control.advance(HOUR)
      await sandbox.control.advance(HOUR)
      expect(endpoint.challenges).toBe(3)
    }))
})

describe('delivery', () => {
  test('an event arrives once, signed over its raw bytes', () =>
    story(async ({ sandbox, endpoint }) => {
      const made = await sandbox.control.request('POST', 'events', {
        event_type: 'profile.update.bio',
        user_id: '1001',
        payload: { before: 'Mögen', after: 'ü' },
        tag: 'bio',
      })
      expect(made.body.deliveries).toEqual({ delivered: 1, failed: 0 })
      const [event, ...more] = endpoint.events
      expect(more).toEqual([])
      expect(event?.headers['x-service-webhooks-signature']).toBe(signatureOf(event?.body ?? ''))
      expect(JSON.parse(event?.body ?? '')).toEqual({
        data: {
          event_uuid: made.body.events[0],
          filter: { user_id: '1001' },
          event_type: 'profile.update.bio',
          tag: 'bio',
          payload: { before: 'Mögen', after: 'ü' },
        },
      })
    }))

  test('forged and unsigned events can be created, to test a receiver', () =>
    story(async ({ sandbox, endpoint }) => {
      await sandbox.control.request('POST', 'events', [{ signature: 'bad' }, { signature: 'none' }])
      const [forged, unsigned] = endpoint.events
      expect(forged?.headers['x-service-webhooks-signature']).not.toBe(signatureOf(forged?.body ?? ''))
      expect(unsigned?.headers['x-service-webhooks-signature']).toBeUndefined()
    }))

  test('a slow event arrives late, complete and with a valid signature', () =>
    story(async ({ sandbox, endpoint }) => {
      const from = performance.now()
      await sandbox.control.request('POST', 'events', { bytes_per_s: 500, payload: { text: 'x'.repeat(100) } })
      expect(performance.now() - from).toBeGreaterThan(300)
      const [event] = endpoint.events
      expect(event?.headers['x-service-webhooks-signature']).toBe(signatureOf(event?.body ?? ''))
      expect(JSON.parse(event?.body ?? '').data.payload).toEqual({ text: 'x'.repeat(100) })
    }))

  test('a failed delivery is tried three times, 60 seconds apart', () =>
    story(async ({ sandbox, endpoint }) => {
      endpoint.eventStatus = 500
      expect((await sandbox.control.request('POST', 'events', {})).body.deliveries).toEqual({ delivered: 0, failed: 1 })
      await sandbox.control.advance(59)
      expect(endpoint.events.length).toBe(1)
      await sandbox.control.advance(2)
      expect(endpoint.events.length).toBe(2)
      await sandbox.control.advance(61)
      await sandbox.control.advance(61)
      expect(endpoint.events.length).toBe(3)
      expect(new Set(endpoint.events.map((event) => event.body)).size).toBe(1)
    }))

  test('events that are dropped because their webhook was deleted are not counted as delivered', () =>
    story(async ({ sandbox, endpoint, bearer, id }) => {
      const deleted = Promise.withResolvers<void>()
      endpoint.beforeAnswer = () => deleted.promise
      const emitted = sandbox.control.request('POST', 'events', { times: 40 })
      // At most 32 deliveries run at the same time.
      await expect.poll(() => endpoint.events.length).toBe(32)
      await sandbox.call('DELETE', `/2/webhooks/${id}`, { bearer })
      deleted.resolve()
      expect((await emitted).body.deliveries).toEqual({ delivered: 32, failed: 0 })
      expect(endpoint.events).toHaveLength(32)
    }))

  test('nothing is delivered to an invalid webhook, and a replay brings what was missed exactly once', () =>
    story(async ({ sandbox, endpoint, bearer, id, isValid }) => {
      endpoint.challenge = 'wrong-token'
      await sandbox.control.advance(24 * HOUR)
      expect(await isValid()).toBe(false)
      const missed = (await sandbox.control.request('POST', 'events', { times: 3 })).body.events as string[]
      expect(endpoint.events).toEqual([])
      endpoint.challenge = 'good'
      await sandbox.call('PUT', `/2/webhooks/${id}`, { bearer })
      const now = Date.parse((await sandbox.control.request('GET', 'clock')).body.now as string)
      const minute = (ms: number) => new Date(ms).toISOString().replaceAll(/[-T:]/g, '').slice(0, 12)
      const job = await sandbox.call('POST', '/2/webhooks/replay', {
        json: { webhook_id: id, from_date: minute(now - 600_000), to_date: minute(now) },
        bearer,
      })
      expect(job.body).toEqual({ data: { job_id: expect.stringMatching(/^\d+$/) as string, created_at: expect.any(String) as string } })
      await expect.poll(() => endpoint.events.length).toBe(4)
      const bodies = endpoint.events.map((event) => JSON.parse(event.body) as { data: { event_uuid: string } })
      expect(bodies.slice(0, 3).map((body) => body.data.event_uuid)).toEqual(missed)
      expect(bodies[3]).toEqual({
        replay_job_status: {
          webhook_id: id,
          job_state: 'Complete',
          job_state_description: expect.any(String) as string,
          job_id: job.body.data.job_id,
        },
      })
      await sandbox.control.advance(120)
      expect(endpoint.events.length).toBe(4)
    }))

  test.for([
    [{ from_date: '202601010000' }, 'from_date'],
    [{ to_date: '20260101' }, 'to_date'],
    [{ from_date: '209901010000', to_date: '209901020000' }, 'from_date'],
    [{ webhook_id: '7' }, 'webhook_id'],
  ] as const)('a replay with %o is refused by %s', ([change, parameter]) =>
    story(async ({ sandbox, bearer, id }) => {
      const now = Date.now()
      const minute = (ms: number) => new Date(ms).toISOString().replaceAll(/[-T:]/g, '').slice(0, 12)
      const answer = await sandbox.call('POST', '/2/webhooks/replay', {
        json: { webhook_id: id, from_date: minute(now - 600_000), to_date: minute(now), ...change },
        bearer,
      })
      expect([answer.status, Object.keys(answer.body.errors[0].parameters as object)]).toEqual([400, [parameter]])
    }),
  )
})

describe('activity', () => {
  test('a subscription decides what its webhook gets, and a made post is an event', () =>
    story(async ({ sandbox, endpoint, bearer, id }) => {
      const made = await sandbox.call('POST', '/2/activity/subscriptions', {
        json: { event_type: 'post.create', filter: { user_id: '1001' }, tag: 'mine', webhook_id: id },
        bearer,
      })
      expect(made.body.data.subscription).toMatchObject({
        event_type: 'post.create',
        filter: { user_id: '1001' },
        tag: 'mine',
        webhook_id: id,
        subscription_id: expect.stringMatching(/^\d+$/) as string,
      })
      await sandbox.control.request('POST', 'events', [{ event_type: 'post.delete' }, { event_type: 'post.create', user_id: '2001' }])
      expect(endpoint.events).toEqual([])
      await sandbox.call('POST', '/2/tweets', { json: { text: 'An event of its own' } })
      await expect.poll(() => endpoint.events.length).toBe(1)
      expect(JSON.parse(endpoint.events[0]?.body ?? '').data).toMatchObject({
        event_type: 'post.create',
        tag: 'mine',
        payload: { text: 'An event of its own' },
      })
    }))

  test('an event for a subscription with a keyword has the keyword in its filter', () =>
    story(async ({ sandbox, endpoint, bearer, id }) => {
      for (const [tag, keyword] of [
        ['mugs', { keyword: 'mug' }],
        ['all', {}],
      ] as const) {
        const json = { event_type: 'post.create', filter: { user_id: '1001', ...keyword }, tag, webhook_id: id }
        expect((await sandbox.call('POST', '/2/activity/subscriptions', { json, bearer })).status).toBe(200)
      }
      await sandbox.call('POST', '/2/tweets', { json: { text: 'A new mug' } })
      await expect.poll(() => endpoint.events.length).toBe(2)
      const data = endpoint.events.map(({ body }) => JSON.parse(body).data as { tag: string; filter: unknown })
      expect(Object.fromEntries(data.map(({ tag, filter }) => [tag, filter]))).toEqual({
        mugs: { user_id: '1001', keyword: 'mug' },
        all: { user_id: '1001' },
      })
    }))

  test.for([{ user_id: 1001 }, { filter: { user_id: 1001 } }])('the user of the event %j may be a number', (event) =>
    story(async ({ sandbox, endpoint, bearer, id }) => {
      const json = { event_type: 'post.create', filter: { user_id: '1001' }, webhook_id: id }
      expect((await sandbox.call('POST', '/2/activity/subscriptions', { json, bearer })).status).toBe(200)
      await sandbox.control.request('POST', 'events', event)
      expect(endpoint.events.map(({ body }) => JSON.parse(body).data.filter as unknown)).toEqual([{ user_id: '1001' }])
    }),
  )

  test('a deleted post is an event for those who subscribed to deletions', () =>
    story(async ({ sandbox, endpoint, bearer, id }) => {
      const json = { event_type: 'post.delete', filter: { user_id: '1001' }, webhook_id: id }
      expect((await sandbox.call('POST', '/2/activity/subscriptions', { json, bearer })).status).toBe(200)
      const post = (await sandbox.call('POST', '/2/tweets', { json: { text: 'Soon deleted' } })).body.data.id as string
      for (const deleted of ['99', post]) await sandbox.call('DELETE', `/2/tweets/${deleted}`)
      await expect.poll(() => endpoint.events.length).toBe(1)
      expect(JSON.parse(endpoint.events[0]?.body ?? '').data).toMatchObject({
        event_type: 'post.delete',
        filter: { user_id: '1001' },
        payload: { id: post, author_id: '1001' },
      })
    }))

  test.for([
    ['sent', 1],
    ['received', 0],
    ['both', 1],
    ['outbound', 1],
    ['inbound', 0],
  ] as const)('direction %s matches a sent message %i times', ([direction, times]) =>
    story(async ({ sandbox, endpoint, bearer, id }) => {
      const made = await sandbox.call('POST', '/2/activity/subscriptions', {
        json: { event_type: 'dm.sent', filter: { user_id: '1001', direction }, webhook_id: id },
        bearer,
      })
      expect(made.status, made.text).toBe(200)
      await sandbox.control.request('POST', 'events', { event_type: 'dm.sent', user_id: '1001' })
      expect(endpoint.events.length).toBe(times)
    }),
  )

  test.for([
    ['spec', 'sent', 'received'],
    ['documented', 'outbound', 'inbound'],
  ] as const)('with direction_values %s, a message of direction both shows %s or %s', ([values, sent, received]) =>
    story(async ({ sandbox, endpoint }) => {
      await sandbox.control.switches({ direction_values: values })
      const filter = { user_id: '1001', direction: 'both' }
      await sandbox.control.request('POST', 'events', { event_type: 'dm.sent', filter })
      await sandbox.control.request('POST', 'events', { event_type: 'dm.received', filter })
      expect(endpoint.events.map(({ body }) => JSON.parse(body).data.filter.direction as unknown)).toEqual([sent, received])
    }),
  )

  test.for([
    ['without subscriptions', false],
    ['with subscriptions', true],
  ] as const)('an event for one webhook reaches no stream %s', ([, subscribed]) =>
    story(async ({ sandbox, endpoint, bearer, id }) => {
      if (subscribed) {
        const json = { event_type: 'follow.follow', filter: { user_id: '1001' } }
        expect((await sandbox.call('POST', '/2/activity/subscriptions', { json, bearer })).status).toBe(200)
      }
      const stream = await fetch(`${sandbox.url}/2/activity/stream`, { headers: { authorization: `Bearer ${bearer}` } })
      await sandbox.control.request('POST', 'events', { event_type: 'follow.follow', payload: 'of the webhook', webhook_id: id })
      await sandbox.control.request('POST', 'events', { event_type: 'follow.follow', payload: 'of all' })
      expect(endpoint.events.map(({ body }) => JSON.parse(body).data.payload as unknown)).toEqual(['of the webhook', 'of all'])
      const reader = stream.body!.getReader()
      const { value } = await reader.read()
      const [line = ''] = Buffer.from(value!).toString().split('\r\n')
      expect(JSON.parse(line)).toMatchObject({ data: { payload: 'of all' } })
      await reader.cancel()
    }),
  )

  test.for([
    [{ event_type: 'nothing.known' }, 'event_type'],
    [{ filter: {} }, 'filter.user_id'],
    [{ filter: { user_id: '1001', direction: 'sent' } }, 'filter.direction'],
    [{ filter: { user_id: '1001', colour: 'red' } }, 'filter.colour'],
    [{ tag: 'a'.repeat(201) }, 'tag'],
    [{ webhook_id: '99' }, 'webhook_id'],
  ] as const)('a subscription with %o is refused', ([change, parameter]) =>
    story(async ({ sandbox, bearer, id }) => {
      const answer = await sandbox.call('POST', '/2/activity/subscriptions', {
        json: { event_type: 'post.create', filter: { user_id: '1001' }, webhook_id: id, ...change },
        bearer,
      })
      expect([answer.status, Object.keys(answer.body.errors[0].parameters as object)]).toEqual([400, [parameter]])
    }),
  )

  test('the stream stays open and carries events; beyond its limit the answer names TooManyConnections', async () => {
    await using sandbox = await withSandbox()
    const bearer = await bearerOf(sandbox)
    const open = () => fetch(`${sandbox.url}/2/activity/stream`, { headers: { authorization: `Bearer ${bearer}` } })
    const first = await open()
    const second = await open()
    const third = await open()
    expect([first.status, second.status, third.status]).toEqual([200, 200, 429])
    expect([first, second, third].map(({ headers }) => headers.get('x-rate-limit-remaining'))).toEqual(['49', '48', '47'])
    expect(await third.json()).toMatchObject({ connection_issue: 'TooManyConnections' })
    await sandbox.control.request('POST', 'events', { event_type: 'follow.follow' })
    const reader = first.body!.getReader()
    const { value } = await reader.read()
    expect(JSON.parse(Buffer.from(value!).toString())).toMatchObject({ data: { event_type: 'follow.follow' } })
    await reader.cancel()
    await second.body!.cancel()
  })

  test('closing the connections ends the streams, and others may open', async () => {
    await using sandbox = await withSandbox()
    const bearer = await bearerOf(sandbox)
    const open = () => fetch(`${sandbox.url}/2/activity/stream`, { headers: { authorization: `Bearer ${bearer}` } })
    const streams = [await open(), await open()]
    expect((await open()).status).toBe(429)
    const closed = await sandbox.call('DELETE', '/2/connections/all', { bearer })
    expect([closed.status, closed.body.data]).toMatchObject([
      200,
      { successful_kills: 2, failed_kills: 0, results: [{ success: true }, {}] },
    ])
    await Promise.all(streams.map((stream) => stream.text()))
    const next = await open()
    expect(next.status).toBe(200)
    expect((await sandbox.call('DELETE', '/2/connections/all', { bearer })).body.data.successful_kills).toBe(1)
    await next.text()
    expect((await sandbox.call('DELETE', '/2/connections/all')).status).toBe(403)
  })

  test('after a restore the stream carries events, its limit holds, and no delivery is sent twice', () =>
    story(async ({ sandbox, endpoint, bearer }) => {
      const { id } = (await sandbox.control.request('POST', 'snapshot')).body
      await sandbox.control.reset()
      await sandbox.control.request('POST', `restore/${id}`)
      const open = () => fetch(`${sandbox.url}/2/activity/stream`, { headers: { authorization: `Bearer ${bearer}` } })
      const [first, second, third] = [await open(), await open(), await open()]
      expect([first.status, second.status, third.status]).toEqual([200, 200, 429])
      const reader = first.body!.getReader()
      // Each PUT of the clock looks for due deliveries, while the first one is slow.
      const emitted = sandbox.control.request('POST', 'events', { event_type: 'follow.follow', bytes_per_s: 2000 })
      const { value } = await reader.read()
      expect(JSON.parse(Buffer.from(value!).toString())).toMatchObject({ data: { event_type: 'follow.follow' } })
      await sandbox.control.advance(0)
      await emitted
      expect(endpoint.events).toHaveLength(1)
      await reader.cancel()
      await second.body!.cancel()
    }))

  test('an event type is a name of the list, not a property of every object', async () => {
    await using sandbox = await withSandbox()
    const bearer = await bearerOf(sandbox)
    const json = { event_type: 'toString', filter: { user_id: '1001' } }
    expect((await sandbox.call('POST', '/2/activity/subscriptions', { json, bearer })).status).toBe(400)
  })
})

describe('a reset or restore ends what ran for the earlier state', () => {
  /** Returns a function that restores the present state, then calls `then`, at its first call. */
  const restoring = async (sandbox: SandboxUnderTest, then?: () => Promise<void>): Promise<() => Promise<void>> => {
    const { id } = (await sandbox.control.request('POST', 'snapshot')).body
    let isRestored = false
    return async () => {
      if (isRestored) return
      isRestored = true
      await sandbox.control.request('POST', `restore/${id}`)
      await then?.()
    }
  }

  test('deliveries are not sent, and the sending of one ends', () =>
    story(async ({ sandbox, endpoint }) => {
      endpoint.beforeAnswer = await restoring(sandbox)
      await sandbox.control.request('POST', 'events', [{ bytes_per_s: 100 }, {}])
      expect(endpoint.events).toHaveLength(1)
      // The sandbox sends 32 events at a time.
      endpoint.beforeAnswer = await restoring(sandbox)
      await sandbox.control.request('POST', 'events', { times: 40 })
      expect(endpoint.events.length).toBeLessThanOrEqual(1 + 32)
    }))

  test('a delivery of the restored state is sent, although it was being sent at the restore', () =>
    story(async ({ sandbox, endpoint }) => {
      endpoint.eventStatus = 500
      await sandbox.control.request('POST', 'events', {})
      endpoint.eventStatus = 200
      let sent = 0
      endpoint.beforeAnswer = await restoring(sandbox, async () => {
        await sandbox.control.advance(61)
        sent = endpoint.events.length
      })
      await sandbox.control.advance(61)
      await expect.poll(() => sent).toBe(3)
      await sandbox.control.advance(300)
      expect(endpoint.events).toHaveLength(3)
    }))

  test('a replay sends no further event', () =>
    story(async ({ sandbox, endpoint, bearer, id }) => {
      await sandbox.control.request('POST', 'events', { times: 3 })
      const minute = (ms: number) => new Date(ms).toISOString().replaceAll(/[-T:]/g, '').slice(0, 12)
      const json = { webhook_id: id, from_date: minute(Date.now() - 600_000), to_date: minute(Date.now() + 60_000) }
      const restored = Promise.withResolvers<void>()
      const restore = await restoring(sandbox)
      endpoint.beforeAnswer = async () => restored.resolve(await restore())
      await sandbox.call('POST', '/2/webhooks/replay', { json, bearer })
      await restored.promise
      await sandbox.control.advance(0)
      expect(endpoint.events).toHaveLength(4)
    }))

  test('a check that waits for its answer changes nothing, and its call is dropped', () =>
    story(async ({ sandbox, endpoint, bearer, id, isValid }) => {
      endpoint.challenge = 'wrong-token'
      endpoint.beforeAnswer = await restoring(sandbox)
      const checked = sandbox.call('PUT', `/2/webhooks/${id}`, { bearer }).catch(() => 'dropped')
      expect(await checked).toBe('dropped')
      expect(await isValid()).toBe(true)
    }))

  test('a check of a webhook that is deleted while its receiver answers is refused like that of an unknown webhook', () =>
    story(async ({ sandbox, endpoint, bearer, id }) => {
      const check = () => sandbox.call('PUT', `/2/webhooks/${id}`, { bearer })
      endpoint.beforeAnswer = async () => {
        expect((await sandbox.call('DELETE', `/2/webhooks/${id}`, { bearer })).status).toBe(200)
      }
      const checked = await check()
      expect([checked.status, checked.body]).toEqual([400, (await check()).body])
    }))

  test('a registration that waits for its challenge is dropped by a reset', () =>
    story(async ({ sandbox, endpoint, bearer }) => {
      endpoint.beforeAnswer = () => sandbox.control.reset()
      const made = sandbox.call('POST', '/2/webhooks', { json: { url: `${endpoint.url}/other` }, bearer }).catch(() => 'dropped')
      expect(await made).toBe('dropped')
    }))
})

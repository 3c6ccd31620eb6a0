/** Endpoints beyond the specification that official SDKs and common clients call first. */
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { endpoints } from '../../src/service/contract/index.ts'
import { retiredPaths } from '../../src/service/contract/retiredPaths.ts'
import { bearerOf, type CallResult, type Loose } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const sandbox = sharedSandbox()
const account = '/12/accounts/18ce54d4x5t'
const get = (path: string, query: Record<string, string> = {}): Promise<CallResult> => sandbox.call('GET', path, { query })

const figures = {
  entity: 'LINE_ITEM',
  entity_ids: '9cqi0,9cqi2',
  granularity: 'HOUR',
  metric_groups: 'ENGAGEMENT,BILLING,WEB_CONVERSION',
  placement: 'ALL_ON_SERVICE',
  start_time: '2026-02-01T00:00:00Z',
  end_time: '2026-02-03T00:00:00Z',
}
const stats = (more: Record<string, string> = {}): Promise<CallResult> => get('/12/stats/accounts/18ce54d4x5t', { ...figures, ...more })
const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0)

describe('statistics', () => {
  test('are a series for each metric: figures of what serves, zeros of what is paused, null for conversions', async () => {
    const { body } = await stats()
    expect([body.data_type, body.time_series_length]).toEqual(['stats', 48])
    const [serving, paused] = body.data.map((one: Loose) => one.id_data[0].metrics)
    expect(serving.impressions).toHaveLength(48)
    expect(sum(serving.impressions)).toBeGreaterThan(48 * 20)
    expect(sum(serving.billed_charge_local_micro)).toBeGreaterThan(0)
    expect(sum(paused.impressions)).toBe(0)
    expect(serving.conversion_purchases).toBeNull()
    expect((await stats()).body.data).toEqual(body.data)
  })

  test('add up alike by hour, by day and in total, and over the line items of a campaign', async () => {
    const totals = await Promise.all(
      ['HOUR', 'DAY', 'TOTAL'].map(async (granularity) => {
        const { body } = await stats({ granularity })
        return sum(body.data[0].id_data[0].metrics.impressions)
      }),
    )
    expect(new Set(totals).size).toBe(1)
    const items: Loose[] = (await get(`${account}/line_items`, { campaign_ids: '8wku2' })).body.data
    const own = await stats({ granularity: 'TOTAL', entity_ids: items.map(({ id }) => id).join(',') })
    const campaign = await stats({ granularity: 'TOTAL', entity: 'CAMPAIGN', entity_ids: '8wku2' })
    expect(campaign.body.data[0].id_data[0].metrics.impressions[0]).toBe(
      sum(own.body.data.map((one: Loose) => one.id_data[0].metrics.impressions[0])),
    )
  })

  test('are refused for an unknown entity, more than 7 days, and times that are no whole hours', async () => {
    const refused = [
      await stats({ entity_ids: 'none' }),
      await stats({ entity: 'ACCOUNT', entity_ids: '18ce55media' }),
      await stats({ end_time: '2026-02-09T00:00:00Z' }),
      await stats({ start_time: '2026-02-01T00:30:00Z' }),
    ]
    expect(refused.map(({ status, body }) => [status, body.errors[0].code])).toEqual([
      [404, 'LINE_ITEM_NOT_FOUND'],
      [403, 'ACCOUNT_NOT_FOUND'],
      [400, 'INVALID_TIME_WINDOW'],
      [400, 'INVALID_PARAMETER'],
    ])
  })

  test('of a job come as a gzipped file with the same figures, by the clock where the switch says so', async () => {
    await sandbox.control.switches({ processing_times: 'clock' })
    const made = (await sandbox.call('POST', '/12/stats/jobs/accounts/18ce54d4x5t', { query: figures })).body.data
    const job = async (): Promise<Loose> => (await get('/12/stats/jobs/accounts/18ce54d4x5t', { job_ids: made.id_str })).body.data[0]
    expect([made.status, made.url, (await job()).status]).toEqual(['PROCESSING', null, 'PROCESSING'])
    await sandbox.control.advance(60)
    const done = await job()
    expect(done).toMatchObject({ id_str: made.id_str, status: 'SUCCESS', entity_ids: ['9cqi0', '9cqi2'] })
    const file = await fetch(done.url)
    const content = JSON.parse(gunzipSync(await file.bytes()).toString()) as Loose
    expect(content.data).toEqual((await stats()).body.data)
    await sandbox.call('DELETE', `/12/stats/jobs/accounts/18ce54d4x5t/${made.id_str}`)
    expect([(await job()).status, (await fetch(done.url)).status]).toEqual(['CANCELLED', 404])
  })

  test('are of the placement: a line item placed only on the publisher network has no values on the service', async () => {
    const [item] = (await get(`${account}/line_items`)).body.data.filter(({ placements }: Loose) => !placements.includes('ALL_ON_SERVICE'))
    const on = async (placement: string): Promise<number> =>
      sum((await stats({ entity_ids: item.id, placement })).body.data[0].id_data[0].metrics.impressions)
    expect(await on('PUBLISHER_NETWORK')).toBeGreaterThan(0)
    expect([await on('ALL_ON_SERVICE'), await on('SPOTLIGHT'), await on('TREND')]).toEqual([0, 0, 0])
  })

  test('have values from the start to the end of serving, and none in the future', async () => {
    const active = async (): Promise<Loose[]> =>
      (
        await get('/12/stats/accounts/18ce54d4x5t/active_entities', {
          entity: 'LINE_ITEM',
          line_item_ids: '9cqi0',
          start_time: figures.start_time,
          end_time: figures.end_time,
        })
      ).body.data
    const hours = async (): Promise<number[]> =>
      (await stats()).body.data[0].id_data[0].metrics.impressions.flatMap((value: number, hour: number) => (value === 0 ? [] : [hour]))
    const setFlight = (start_time: string, end_time: string): Promise<CallResult> =>
      sandbox.call('PUT', `${account}/line_items/9cqi0`, { query: { start_time, end_time } })
    await sandbox.control.setClock('2026-02-01T02:30:00Z')
    expect(await hours()).toEqual([0, 1, 2])
    expect(await active()).toMatchObject([
      { activity_start_time: '2026-02-01T00:00:00Z', activity_end_time: expect.stringMatching(/^2026-02-01T02:3/) },
    ])
    await sandbox.control.setClock('2026-03-01T00:00:00Z')
    expect((await setFlight('2026-02-01T05:00:00Z', '2026-02-01T07:00:00Z')).status).toBe(200)
    expect(await hours()).toEqual([5, 6])
    expect(await active()).toMatchObject([{ activity_start_time: '2026-02-01T05:00:00Z', activity_end_time: '2026-02-01T07:00:00Z' }])
    await setFlight('2026-02-05T00:00:00Z', '2026-02-06T00:00:00Z')
    expect([await hours(), await active()]).toEqual([[], []])
  })

  test('of a finished job stay as they were when the line item is paused, and its deletion changes updated_at', async () => {
    const made = (await sandbox.call('POST', '/12/stats/jobs/accounts/18ce54d4x5t', { query: figures })).body.data
    const job = async (id: string): Promise<Loose> =>
      (await get('/12/stats/jobs/accounts/18ce54d4x5t')).body.data.find(({ id_str }: Loose) => id_str === id)
    const file = async (): Promise<Loose> => {
      const answer = await fetch((await job(made.id_str)).url)
      return JSON.parse(gunzipSync(await answer.bytes()).toString()) as Loose
    }
    const before = await file()
    await sandbox.call('PUT', `${account}/line_items/9cqi0`, { query: { entity_status: 'PAUSED' } })
    expect(await file()).toEqual(before)
    await sandbox.control.advance(3600)
    await sandbox.call('DELETE', `/12/stats/jobs/accounts/18ce54d4x5t/${made.id_str}`)
    const deleted = await job(made.id_str)
    expect(Date.parse(deleted.updated_at) - Date.parse(deleted.created_at)).toBeGreaterThanOrEqual(3_600_000)
  })

  test('name the entities that were active, and their placements', async () => {
    const { body } = await get('/12/stats/accounts/18ce54d4x5t/active_entities', {
      entity: 'CAMPAIGN',
      start_time: figures.start_time,
      end_time: figures.end_time,
    })
    expect(body.data.map((one: Loose) => [one.entity_id, one.placements])).toEqual([
      ['8wku2', ['ALL_ON_SERVICE', 'PUBLISHER_NETWORK']],
      ['8wku3', ['ALL_ON_SERVICE']],
    ])
  })
})

test.for([
  ['a deleted campaign', () => sandbox.call('DELETE', `${account}/campaigns/8wku2`)],
  ['a campaign whose funding was deleted', () => sandbox.call('DELETE', `${account}/funding_instruments/lygyi`)],
] as const)('statistics of line items in %s are zeros, and it is not active', async ([, change]) => {
  const active = async (): Promise<string[]> => {
    const { entity, start_time, end_time } = { ...figures, entity: 'CAMPAIGN' }
    const { body } = await get('/12/stats/accounts/18ce54d4x5t/active_entities', { entity, start_time, end_time })
    return body.data.map(({ entity_id: id }: Loose) => id)
  }
  expect(await active()).toContain('8wku2')
  expect((await change()).status).toBe(200)
  const [item] = (await stats()).body.data
  expect([sum(item.id_data[0].metrics.impressions), (await active()).includes('8wku2')]).toEqual([0, false])
})

describe('look-ups', () => {
  test('of targeting values are lists with q, paging and their own filters', async () => {
    const locations = await get('/12/targeting_criteria/locations', { country_code: 'DE', location_type: 'CITIES' })
    expect(locations.body.data).toEqual([
      {
        name: 'Munich, Bavaria, DE',
        country_code: 'DE',
        location_type: 'CITIES',
        targeting_type: 'LOCATION',
        targeting_value: 'e385d4d639c6a423',
      },
    ])
    const first = await get('/12/targeting_criteria/interests', { count: '2' })
    const next = await get('/12/targeting_criteria/interests', { count: '2', cursor: first.body.next_cursor })
    expect([...first.body.data, ...next.body.data].map(({ name }: Loose) => name)).toEqual([
      'Arts and crafts',
      'Cooking',
      'Home and garden',
      'Sports',
    ])
    expect((await get('/12/targeting_criteria/platforms', { q: 'and' })).body.data.map(({ name }: Loose) => name)).toEqual(['Android'])
  })

  test('of promotable users, content categories, settings and access answer in the shapes of the SDKs', async () => {
    const [user] = (await get(`${account}/promotable_users`)).body.data
    expect(user).toMatchObject({ user_id: '1001', promotable_user_type: 'FULL', account_id: '18ce54d4x5t' })
    expect((await get(`${account}/promotable_users/${user.id}`)).body.data).toEqual(user)
    expect((await get('/12/content_categories')).body.data[0]).toMatchObject({ id: expect.any(String), iab_categories: expect.any(Array) })
    expect((await get(`${account}/authenticated_user_access`)).body.data).toEqual({ user_id: '1001', permissions: ['ACCOUNT_ADMIN'] })
    await sandbox.call('PUT', `${account}/user_settings/1001`, { query: { subscribed_email_types: 'A,B' } })
    expect((await get(`${account}/user_settings/1001`)).body.data).toMatchObject({ user_id: '1001', subscribed_email_types: ['A', 'B'] })
  })

  test('of promotable users keep ids beyond 2^53 apart', async () => {
    for (const id of ['9007199254740992', '9007199254740993'])
      await sandbox.control.request('POST', 'users', { screen_name: `u${id.slice(-2)}`, id, accounts: ['18ce54d4x5t'] })
    const users: Loose[] = (await get(`${account}/promotable_users`)).body.data
    expect(new Set(users.map(({ id }) => id)).size).toBe(3)
    for (const user of users) expect((await get(`${account}/promotable_users/${user.id}`)).body.data).toEqual(user)
  })

  test('of tracking tags follow their line item', async () => {
    const tags = `${account}/tracking_tags`
    const made = await sandbox.call('POST', tags, {
      query: { line_item_id: '9cqi1', tracking_tag_type: 'CLICK_TAG', tracking_tag_url: 'https://tags.example.com/1' },
    })
    expect(made.body.data).toMatchObject({ line_item_id: '9cqi1', tracking_tag_type: 'CLICK_TAG', deleted: false })
    expect((await get(tags, { line_item_ids: '9cqi1' })).body.data).toHaveLength(1)
    await sandbox.call('DELETE', `${account}/line_items/9cqi1`)
    expect((await get(tags, { line_item_ids: '9cqi1' })).body.data).toEqual([])
    expect((await sandbox.call('DELETE', `${tags}/7035`)).body.data.deleted).toBe(true)
    expect((await get(`${tags}/7035`)).status).toBe(404)
  })
})

describe('permissions on the path of custom audiences', () => {
  test('are named by it: in the echo, in the query and in the records', async () => {
    const path = `${account}/custom_audiences/1nmth/permissions`
    const made = await sandbox.call('POST', path, {
      query: { custom_audience_id: '1nmth', granted_account_id: '18ce55media', permission_level: 'READ_ONLY' },
    })
    expect(made.body).toMatchObject({
      request: { params: { account_id: '18ce54d4x5t', custom_audience_id: '1nmth', granted_account_id: '18ce55media' } },
      data: { custom_audience_id: '1nmth', tailored_audience_id: '1nmth' },
    })
    const found = (await get(path, { custom_audience_permission_ids: made.body.data.id })).body
    expect([found.data.length, found.request.params]).toEqual([
      1,
      { account_id: '18ce54d4x5t', custom_audience_id: '1nmth', custom_audience_permission_ids: [made.body.data.id] },
    ])
    expect((await sandbox.call('DELETE', `${path}/${made.body.data.id}`)).body.data.deleted).toBe(true)
    const old = await get('/5/accounts/18ce54d4x5t/tailored_audiences/1nmth/permissions')
    expect(old.body.request.params).toEqual({ account_id: '18ce54d4x5t', tailored_audience_id: '1nmth' })
    expect(old.body.data[0]).not.toHaveProperty('custom_audience_id')
  })
})

describe('users and posts of the core host', () => {
  test('verify_credentials, users/show and users/lookup answer users of the core host', async () => {
    const me = (await get('/1.1/account/verify_credentials.json', { include_email: 'true', skip_status: 'true' })).body
    expect(me).toMatchObject({ id: 1001, id_str: '1001', screen_name: 'sandbox', followers_count: 120, email: 'sandbox@example.com' })
    expect((await get('/1.1/users/show.json', { screen_name: 'potter' })).body).toMatchObject({ id_str: '2001', name: 'A Potter' })
    expect((await get('/1.1/users/lookup', { user_id: '1001,2002', screen_name: 'runner' })).body.map((one: Loose) => one.id_str)).toEqual([
      '1001',
      '2002',
      '2003',
    ])
    const unknown = await get('/1.1/users/show', { user_id: '7' })
    expect([unknown.status, unknown.body.errors[0].code]).toEqual([404, 50])
  })

  test('users/me, by id and by handle answer users of v2, with partial errors', async () => {
    const fields = { 'user.fields': 'username,public_metrics', expansions: 'pinned_tweet_id' }
    const me = (await get('/2/users/me', fields)).body
    expect(me).toMatchObject({ data: { id: '1001', username: 'sandbox' }, includes: { tweets: [{ id: '1166476031668015106' }] } })
    const bearer = await bearerOf(sandbox)
    const read = async (path: string, query: Record<string, string> = {}): Promise<Loose> =>
      (await sandbox.call('GET', path, { query, bearer })).body
    expect((await read('/2/users/2001')).data).toEqual({ id: '2001', name: 'A Potter', username: 'potter' })
    expect((await read('/2/users/by/username/potter')).data.id).toBe('2001')
    const several = await read('/2/users', { ids: '1001,7' })
    expect([several.data.length, several.errors[0].value]).toEqual([1, '7'])
    expect((await read('/2/users/by', { usernames: 'potter,glazer' })).data.map((one: Loose) => one.id)).toEqual(['2001', '2002'])
  })

  test('a post has a poll and a place where common clients send them', async () => {
    const post = (json: unknown): Promise<CallResult> => sandbox.call('POST', '/2/tweets', { json })
    const poll = { options: ['Blue', 'Red'], duration_minutes: 60 }
    const made = await post({ text: 'Which glaze?', poll, geo: { place_id: '96683cc9126741d1' }, reply: undefined })
    const { body } = await get(`/2/tweets/${made.body.data.id}`, {
      expansions: 'attachments.poll_ids,geo.place_id',
      'poll.fields': 'duration_minutes,voting_status',
    })
    expect(body.includes).toMatchObject({
      polls: [{ options: [{ position: 1, label: 'Blue', votes: 0 }, { label: 'Red' }], duration_minutes: 60, voting_status: 'open' }],
      places: [{ full_name: 'United States' }],
    })
    for (const wrong of [
      { poll: { options: ['one'], duration_minutes: 60 } },
      { poll: { ...poll, duration_minutes: 1 } },
      { poll, media: { media_ids: ['1'] } },
      { geo: { place_id: 'none' } },
    ])
      expect((await post({ text: 'No', ...wrong })).status).toBe(400)
    const tagged = await post({ text: 'Tagged', media: { media_ids: ['1'], tagged_user_ids: ['2001'] } })
    expect(tagged.status, tagged.text).toBe(201)
    await sandbox.control.switches({ unknown_parameters: 'strict' })
    expect((await post({ text: 'Strict', poll })).status).toBe(400)
  })

  test('a post is read alone, found among the own ones, and deleted by its author', async () => {
    const made = (await sandbox.call('POST', '/2/tweets', { json: { text: 'Fresh mugs #glaze' } })).body.data
    const one = await get(`/2/tweets/${made.id}`, { 'tweet.fields': 'author_id' })
    expect(one.body.data).toEqual({ ...made, author_id: '1001' })
    expect((await get('/2/tweets/abc')).body.errors[0].parameters).toEqual({ id: ['abc'] })
    expect((await get('/2/tweets/1')).body.errors).toMatchObject([{ parameter: 'id', value: '1' }])
    const search = async (query: string): Promise<Loose> => (await get('/2/tweets/search/recent', { query })).body
    expect(await search('"fresh mugs" #glaze -kiln')).toMatchObject({ data: [{ id: made.id }], meta: { result_count: 1 } })
    expect((await search('mugs min_likes:40')).data.map(({ id }: Loose) => id)).toEqual(['1166476031668015106'])
    expect((await get('/2/tweets/search/recent', { query: 'place:berlin' })).status).toBe(400)
    for (const term of ['min_likes:abc', 'min_likes:', 'min_replies:-1', 'min_reposts:1.5', '-min_likes:1e3']) {
      const { status, body } = await get('/2/tweets/search/recent', { query: `mugs ${term}` })
      expect([status, body.errors?.[0].parameters], term).toEqual([400, { query: [term] }])
    }
    const found = async (query: string) => ((await search(query)).data ?? []).map(({ id }: Loose) => id)
    const seeded = '1166476031668015106'
    expect(await found('glaze OR min_likes:40')).toEqual([made.id, seeded])
    expect(await found('(glaze OR min_likes:40) -fresh')).toEqual([seeded])
    expect(await found('(min_likes:40 OR "fresh mugs") from:sandbox')).toEqual([made.id, seeded])
    expect(await found('mugs -(glaze OR kiln) OR glaze')).toEqual(expect.arrayContaining([made.id, seeded]))
    // `OR` binds weaker than two terms beside each other.
    expect(await found('kiln glaze OR fresh')).toEqual([made.id])
    for (const [query, part] of [
      ['from:', 'from:'],
      ['mugs from: sandbox', 'from:'],
      ['-from:', '-from:'],
      ['mugs - glaze', '-'],
      ['lang:', 'lang:'],
      ['mugs OR', 'OR'],
      ['OR mugs', 'OR'],
      ['mugs OR OR glaze', 'OR'],
      ['(mugs', '('],
      ['mugs)', ')'],
      ['()', ')'],
      ['"mugs', '"mugs'],
      ['mugs AND glaze', 'AND'],
    ] as const) {
      const { status, body } = await get('/2/tweets/search/recent', { query })
      expect([status, body.errors?.[0].parameters], query).toEqual([400, { query: [part] }])
    }
    expect((await sandbox.call('DELETE', '/2/tweets/1166476031668015107')).status).toBe(403)
    expect((await sandbox.call('DELETE', `/2/tweets/${made.id}`)).body).toEqual({ data: { deleted: true } })
    expect((await search('glaze')).meta).toEqual({ result_count: 0 })
  })
})

describe('retired paths', () => {
  const fill = (path: string): string => path.replace(':account_id', '18ce54d4x5t').replaceAll(/:\w+/g, 'x1')
  test.for(retiredPaths.map((one) => [one.path, one] as const))(
    '%s says what to call instead, or that it is not served',
    async ([path, retired]) => {
      const answer = await get(fill(path))
      const text: string = answer.body.errors?.[0].message ?? answer.body.detail
      expect(answer.headers.get('x-rate-limit-limit')).toMatch(/^\d+$/)
      if (retired.successor === undefined)
        expect([answer.status, text]).toEqual([404, expect.stringContaining('outside the specification')])
      else {
        expect(answer.status).toBe(410)
        const successor = /call (\S+)$/.exec(text)?.[1] ?? ''
        const patterns = endpoints
          .flatMap((one) => [one.path, ...(one.aliases ?? [])])
          .map((one) => new RegExp(`^${one.replaceAll(/:\w+/g, '[^/]+')}$`))
        expect(retired.successor.includes(':part') || patterns.some((pattern) => pattern.test(successor)), successor).toBe(true)
      }
    },
  )
})

/** Custom audiences and do-not-reach lists as an outside caller sees them (spec 2.3, 4.3; docs/spec-notes.md#audience-uploads). */
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { sha256 } from '../support/digests.ts'
import { withSandbox, type CallResult, type Loose } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const sandbox = sharedSandbox()

const account = '/12/accounts/18ce54d4x5t'
const email = (n: number | string): string => sha256(`person${n}@example.com`)
const phone = (n: number): string => sha256(`+1202555010${n}`)
const users = (operations: unknown): Promise<CallResult> =>
  sandbox.call('POST', `${account}/custom_audiences/1nmth/users`, { json: operations })
const doNotReach = (operations: unknown): Promise<CallResult> =>
  sandbox.call('POST', '/12/batch/accounts/18ce54d4x5t/do_not_reach_lists/2dnr/users', { json: operations })
const update = (list: unknown[], more: Record<string, unknown> = {}): unknown => ({
  operation_type: 'Update',
  params: { users: list, ...more },
})
const remove = (list: unknown[]): unknown => ({ operation_type: 'Delete', params: { users: list } })
const rules = async (): Promise<string[]> => (await sandbox.control.violations()).map(({ rule }) => rule)

describe('user uploads', () => {
  test('one result per operation, counting users, in request order; users are not echoed', async () => {
    await sandbox.control.switches({ audience_users_response: 'array' })
    const answer = await users([
      update([{ email: [email(1)] }, { email: [email(2)] }], { expires_at: '2027-06-01' }),
      remove([{ email: [email(9)] }]),
    ])
    expect(answer.body).toEqual({
      request: [
        {
          params: { custom_audience_id: '1nmth', account_id: '18ce54d4x5t', expires_at: '2027-06-01T00:00:00Z' },
          operation_type: 'Update',
        },
        { params: { custom_audience_id: '1nmth', account_id: '18ce54d4x5t' }, operation_type: 'Delete' },
      ],
      data: [
        { success_count: 2, total_count: 2 },
        { success_count: 1, total_count: 1 },
      ],
    })
    expect(await sandbox.control.audience()).toMatchObject({ members: 2, identifiers: { email: 2 } })
    expect(await rules()).toEqual([])
  })
  test.for([
    `${account}/custom_audiences/1nmth/users`,
    '/12/batch/accounts/18ce54d4x5t/do_not_reach_lists/2dnr/users',
    '/12/batch/accounts/18ce54d4x5t/campaigns',
  ])('POST %s refuses a request without a body', async (path) => {
    const answer = await sandbox.call('POST', path)
    expect([answer.status, answer.body.errors?.[0]?.code, answer.body.errors?.[0]?.parameter]).toEqual([400, 'INVALID_PARAMETER', 'body'])
  })
  test('answers as one object, as the official SDKs read it, or an array of one by choice', async () => {
    const operations = [update([{ email: [email(1)] }]), update([{ email: [email(2)] }, { email: [email(3)] }])]
    expect((await users(operations)).body).toEqual({
      request: { params: { account_id: '18ce54d4x5t', custom_audience_id: '1nmth' } },
      data: { success_count: 3, total_count: 3 },
    })
    await sandbox.control.switches({ '1': 'array of one', count_basis: 'operations' })
    expect((await users(operations)).body.data).toEqual([{ success_count: 2, total_count: 2 }])
  })
  test('the digest is what independent code makes of what is in force', async () => {
    await users([
      update([{ email: [email(1)], phone_number: [phone(1)], partner_user_id: ['vip-é', 'vip-1'] }]),
      update([{ device_id: [sha256('d')], handle: [sha256('h')], service_id: [sha256('7')] }]),
    ])
    const lines = [
      ['email', email(1)],
      ['phone_number', phone(1)],
      ['partner_user_id', 'vip-é'],
      ['partner_user_id', 'vip-1'],
      ['device_id', sha256('d')],
      ['handle', sha256('h')],
      ['service_id', sha256('7')],
    ]
      .map(([type, value]) => `${type}\t${value}\n`)
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    const found = await sandbox.control.audience()
    expect(found.digest).toBe(sha256(lines.join('')))
    expect(found.members).toBe(2)
    expect(
      (await sandbox.control.identifiers())
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split('\t').slice(0, 2).join('\t') + '\n'),
    ).toEqual(lines)
  })
  test('memberships begin and end by the sandbox clock, 13 months ahead by default', async () => {
    await sandbox.control.setClock('2027-01-31T12:00:00Z')
    await users([
      update([{ email: [email(1)] }]),
      update([{ email: [email(2)] }], { effective_at: '2027-02-02T00:00:00Z', expires_at: '2027-03-01T00:00:00+01:00' }),
    ])
    expect(await sandbox.control.identifiers()).toBe(`email\t${email(1)}\t2028-02-29T12:00:00Z\n`)
    await sandbox.control.advance(3 * 86_400)
    expect((await sandbox.control.audience()).members).toBe(2)
    await sandbox.control.advance(30 * 86_400)
    expect((await sandbox.control.audience()).members).toBe(1)
    await sandbox.control.setClock('2028-02-29T12:00:00Z')
    expect(await sandbox.control.audience()).toMatchObject({ members: 0, digest: sha256('') })
  })
  test('an effective_at after the default end is refused', async () => {
    const answer = await users([update([{ email: [email(1)] }], { effective_at: '2099-01-01T00:00:00Z' })])
    expect([answer.status, answer.body.operation_errors[0]]).toMatchObject([
      400,
      [{ code: 'INVALID_PARAMETER', parameter: 'effective_at', value: '2099-01-01T00:00:00Z' }],
    ])
    expect(await rules()).toEqual(['expires_before_effective'])
    expect((await users([update([{ email: [email(1)] }], { effective_at: '2099-01-01', expires_at: '2099-01-02' })])).status).toBe(200)
  })
  test('Update merges user objects; Delete by any key reaches the whole user', async () => {
    await users([
      update([{ email: [email(1)] }]),
      update([{ email: [email(1)], phone_number: [phone(1)] }]),
      update([{ phone_number: [phone(1)], handle: [sha256('h')] }]),
    ])
    expect(await sandbox.control.audience()).toMatchObject({ members: 1, identifiers: { email: 1, phone_number: 1, handle: 1 } })
    await users([remove([{ handle: [sha256('h')] }])])
    expect((await sandbox.control.audience()).members).toBe(0)
  })
  test('by choice Update replaces and Delete reaches that identifier only', async () => {
    await sandbox.control.switches({ audience_update: 'replace', delete_reach: 'identifier' })
    await users([update([{ email: [email(1)], phone_number: [phone(1)] }]), update([{ email: [email(1)], handle: [sha256('h')] }])])
    expect((await sandbox.control.audience()).identifiers).toMatchObject({ email: 1, phone_number: 0, handle: 1 })
    await users([remove([{ email: [email(1)] }])])
    expect((await sandbox.control.audience()).identifiers).toMatchObject({ email: 0, handle: 1 })
  })
  test.for([
    ['users missing', { operation_type: 'Update', params: {} }, 'users'],
    ['no params', { operation_type: 'Update' }, 'params'],
    ['an unknown operation', { operation_type: 'update', params: { users: [{ email: [email(2)] }] } }, 'operation_type'],
    ['no users in it', { operation_type: 'Update', params: { users: [] } }, 'users'],
    ['an empty user', { operation_type: 'Update', params: { users: [{}] } }, 'users'],
    ['an unknown key', { operation_type: 'Update', params: { users: [{ mail: [email(2)] }] } }, 'mail'],
    ['an unknown field', { operation_type: 'Update', params: { users: [{ email: [email(2)] }], ttl: 5 } }, 'ttl'],
    ['no digest', { operation_type: 'Update', params: { users: [{ email: ['abc'] }] } }, 'email'],
    [
      'expiry before effect',
      { operation_type: 'Update', params: { users: [{ email: [email(2)] }], effective_at: '2030-01-02', expires_at: '2030-01-01' } },
      'expires_at',
    ],
    [
      'expiry in the past',
      { operation_type: 'Update', params: { users: [{ email: [email(2)] }], expires_at: '2020-01-01' } },
      'expires_at',
    ],
    ['a wrong date', { operation_type: 'Update', params: { users: [{ email: [email(2)] }], expires_at: 'soon' } }, 'expires_at'],
  ] as const)('%s: operation_errors at the index of the operation, and nothing is applied', async ([, bad, parameter]) => {
    const answer = await users([update([{ email: [email(1)] }]), bad])
    expect(answer.status).toBe(400)
    expect(answer.body.errors).toBeUndefined()
    expect(answer.body.operation_errors[0]).toEqual([])
    expect(answer.body.operation_errors[1][0].parameter).toBe(parameter)
    expect((await sandbox.control.audience()).members).toBe(0)
  })
  test('operation_errors flat, and integer codes, by choice', async () => {
    const upload = [update([{ email: [email(1)] }]), { operation_type: 'Update', params: {} }]
    await sandbox.control.switches({ ads_error_codes: 'integer' })
    const missing = { code: 400, message: '"users" is a required parameter', parameter: 'users' }
    expect((await users(upload)).body.operation_errors).toEqual([[], [missing]])
    await sandbox.control.switches({ operation_errors: 'flat' })
    expect((await users(upload)).body.operation_errors).toEqual([null, missing])
    expect((await sandbox.call('GET', `${account}/custom_audiences/none`)).body.errors[0].code).toBe(404)
    const campaigns = `/12/batch${account.slice(3)}/campaigns`
    const unknown = { operation_type: 'Delete', params: { campaign_id: 'none' } }
    expect((await sandbox.call('POST', campaigns, { json: [unknown] })).body.operation_errors).toMatchObject([{ code: 404 }])
  })
  test('over 2,500 operations: 400; over 5,000,000 bytes: 413; both REQUEST_TOO_COMPLEX', async () => {
    const most = Array.from({ length: 2500 }, (_, n) => update([{ email: [email(n)] }]))
    expect((await users(most)).body.data.total_count).toBe(2500)
    const many = await users([...most, update([{ email: [email('x')] }])])
    expect([many.status, many.body.errors[0].code]).toEqual([400, 'REQUEST_TOO_COMPLEX'])
    const exact = JSON.stringify([update([{ email: [email(1)] }])])
    expect((await users(exact + ' '.repeat(5_000_000 - exact.length))).status).toBe(200)
    const large = await users(exact + ' '.repeat(5_000_001 - exact.length))
    expect([large.status, large.body.errors[0].code]).toEqual([413, 'REQUEST_TOO_COMPLEX'])
    expect(await rules()).toEqual(['over_2500_operations', 'over_5000000_bytes'])
  })
  test('raw values, junk digests and upper case are violations, and the value is not repeated', async () => {
    await users([update([{ email: ['jane@example.com'] }])])
    await users([update([{ phone_number: ['+12025550143'] }])])
    await users([update([{ email: [sha256('')] }])])
    await users([update([{ email: [sha256('').toUpperCase()] }])])
    await users([update([{ email: [email(1).toUpperCase()] }])])
    await users([update([{ partner_user_id: ['jane@example.com'] }])])
    await sandbox.call('GET', `${account}/custom_audiences`, { query: { q: 'jane@example.com' } })
    expect(await rules()).toEqual([
      'digest_not_64_lower_hex',
      'raw_identifier',
      'digest_not_64_lower_hex',
      'raw_identifier',
      'junk_digest',
      'digest_not_64_lower_hex',
      'junk_digest',
      'digest_not_64_lower_hex',
      'raw_identifier',
      'raw_identifier',
    ])
    expect((await sandbox.control.request('GET', 'violations')).text).not.toContain('jane')
    expect(await sandbox.control.identifiers()).toContain(email(1))
  })
  test('a raw identifier in the address or a header is reported with its place', async () => {
    const text = { query: { q: '+12025550143' }, headers: { 'x-note': 'jane@example.com' } }
    await sandbox.call('GET', `${account}/custom_audiences`, text)
    await sandbox.call('GET', `${account}/custom_audiences/jane@example.com`)
    expect((await sandbox.control.violations()).map(({ rule, detail }) => `${rule}: ${detail}`)).toEqual([
      'raw_identifier: looks like an email or phone in the query',
      'raw_identifier: looks like an email in the header x-note',
      'raw_identifier: looks like an email in the path',
    ])
  })
  test('a partner_user_id is plain text of 1 to 1,000 characters, so no rule about digests applies to it', async () => {
    for (const value of ['', 'v'.repeat(1001), 7]) {
      const { status, body } = await users([update([{ partner_user_id: [value] }])])
      expect([status, body.operation_errors[0][0]]).toEqual([
        400,
        {
          code: 'INVALID_PARAMETER',
          message: 'Expected text of 1 to 1,000 characters for partner_user_id',
          parameter: 'partner_user_id',
          details: 'invalid partner_user_id',
          value: '',
        },
      ])
    }
    expect((await users([update([{ partner_user_id: ['v'.repeat(1000)] }])])).status).toBe(200)
    expect(await rules()).toEqual([])
  })
  test('a raw value under an unknown key or without its array is seen too', async () => {
    await users([update([{ mail: ['jane@example.com'] }]), update([{ phone_number: '+1 202 555 0143' }])])
    expect(await rules()).toEqual(['raw_identifier', 'raw_identifier'])
  })
  test.for(['+12025550143', '12025550143', '(202) 555-0143', 'jane@example.com', 'jane@example'])(
    'the error of an unknown field does not repeat %s',
    async (name) => {
      for (const operation of [
        update([{ [name]: [email(1)] }]),
        update([], { [name]: 1 }),
        { operation_type: 'Update', params: { users: [] }, [name]: 1 },
      ]) {
        const { status, text } = await users([operation])
        expect([status, text.includes('is not a field of this operation'), text.includes(name)]).toEqual([400, true, false])
      }
    },
  )
  test('a raw identifier as the name of a field is seen too, and a misspelled name is shown', async () => {
    const { body } = await users([update([{ '+12025550143': [email(1)] }, { emial: [email(1)] }])])
    expect(body.operation_errors[0].find(({ parameter }: Loose) => parameter === 'emial').message).toContain('"emial"')
    expect(await rules()).toEqual(['raw_identifier'])
  })
  test('only JSON is read, and an array', async () => {
    expect((await users('{}')).body.errors[0].code).toBe('INVALID_PARAMETER')
    expect((await users('[')).status).toBe(400)
  })
})

describe('do-not-reach lists', () => {
  test('the answer echoes each operation without users', async () => {
    await sandbox.control.setClock('2026-06-01T00:00:00Z')
    const answer = await doNotReach([update([{ email: [email(1)] }, { phone_number: [phone(1)] }], { expires_at: '2027-01-22T00:00:00Z' })])
    expect(answer.body).toEqual({
      request: [
        {
          params: { do_not_reach_list_id: '2dnr', account_id: '18ce54d4x5t', expires_at: '2027-01-22T00:00:00Z' },
          operation_type: 'Update',
        },
      ],
      data: [{ success_count: 2, total_count: 2 }],
    })
    expect((await sandbox.control.audience('2dnr')).members).toBe(2)
  })
  test('only email and phone, no effective_at, expiry under 13 months ahead', async () => {
    for (const bad of [
      update([{ handle: [sha256('h')] }]),
      update([{ email: [email(1)] }], { effective_at: '2030-01-01' }),
      update([{ email: [email(1)] }], { expires_at: '2099-01-01' }),
    ])
      expect((await doNotReach([bad])).status).toBe(400)
    await sandbox.control.switches({ dnr_expires_at: 'required' })
    expect((await doNotReach([update([{ email: [email(1)] }])])).body.operation_errors[0][0].parameter).toBe('expires_at')
  })
  test('an expiry of exactly 13 months ahead is refused, a second less is accepted', async () => {
    const stopped = Date.now()
    await using own = await withSandbox({ clock: { ...systemClock, now: () => stopped } })
    await own.control.setClock('2027-01-31T12:00:00Z')
    const upload = async (expiry: string): Promise<number> =>
      (
        await own.call('POST', '/12/batch/accounts/18ce54d4x5t/do_not_reach_lists/2dnr/users', {
          json: [update([{ email: [email(1)] }], { expires_at: expiry })],
        })
      ).status
    expect([await upload('2028-02-29T12:00:00Z'), await upload('2028-02-29T11:59:59Z')]).toEqual([400, 200])
  })
  test('adding a suppressed person to an audience is a violation', async () => {
    await doNotReach([update([{ email: [email(1)] }])])
    await users([update([{ email: [email(1)] }])])
    expect(await rules()).toEqual(['update_of_suppressed'])
  })
  test('one list per account, deleted once, then another can be made', async () => {
    expect((await sandbox.call('POST', `${account}/do_not_reach_lists`)).status).toBe(403)
    expect((await sandbox.call('DELETE', `${account}/do_not_reach_lists/2dnr`)).body.data).toMatchObject({ id: '2dnr', deleted: true })
    expect((await sandbox.call('DELETE', `${account}/do_not_reach_lists/2dnr`)).status).toBe(404)
    expect((await sandbox.call('POST', `${account}/do_not_reach_lists`, { form: { description: 'new' } })).body.data).toMatchObject({
      name: 'Do Not Reach List',
      description: 'new',
      list_size: null,
      targetable: false,
    })
    expect((await sandbox.call('GET', `${account}/do_not_reach_lists`, { query: { with_deleted: true } })).body.data).toHaveLength(2)
  })
})

describe('audiences, permissions, insights', () => {
  test('audiences are made with a unique name, changed, listed and deleted', async () => {
    const made = (await sandbox.call('POST', `${account}/custom_audiences`, { query: { name: 'Buyers', description: 'all' } })).body.data
    expect(made).toMatchObject({
      name: 'Buyers',
      description: 'all',
      owner_account_id: '18ce54d4x5t',
      targetable: false,
      reasons_not_targetable: ['TOO_SMALL'],
      deleted: false,
    })
    expect((await sandbox.call('POST', `${account}/custom_audiences`, { query: { name: 'Buyers' } })).status).toBe(400)
    expect(
      (await sandbox.call('PUT', `${account}/custom_audiences/${made.id}`, { query: { description: '' } })).body.data.description,
    ).toBeNull()
    const listed = await sandbox.call('GET', `${account}/custom_audiences`, {
      query: { with_total_count: true, count: 1, sort_by: 'name-desc' },
    })
    expect(listed.body).toMatchObject({
      total_count: 2,
      data: [{ name: 'Sandbox audience' }],
      request: { params: { account_id: '18ce54d4x5t', with_total_count: true, count: 1, sort_by: ['name-desc'] } },
    })
    const next = await sandbox.call('GET', `${account}/custom_audiences`, {
      query: { count: 1, sort_by: 'name-desc', cursor: listed.body.next_cursor },
    })
    expect(next.body.data[0].name).toBe('Buyers')
    expect(
      (await sandbox.call('GET', `${account}/custom_audiences`, { query: { with_total_count: true, cursor: 'x' } })).body.errors[0].code,
    ).toBe('EXCLUSIVE_PARAMETERS')
    expect((await sandbox.call('GET', `${account}/custom_audiences`, { query: { sort_by: 'id-asc' } })).status).toBe(400)
    expect((await sandbox.call('DELETE', `${account}/custom_audiences/${made.id}`)).body.data.deleted).toBe(true)
    expect((await sandbox.call('GET', `${account}/custom_audiences/${made.id}`)).body.errors[0].code).toBe('TAILORED_AUDIENCE_NOT_FOUND')
    expect((await sandbox.call('GET', `${account}/custom_audiences/${made.id}`, { query: { with_deleted: true } })).status).toBe(200)
    expect((await sandbox.call('DELETE', `${account}/custom_audiences/${made.id}`)).status).toBe(404)
  })
  test('an audience is targetable from 100 members', async () => {
    await users([update(Array.from({ length: 100 }, (_, n) => ({ email: [email(n)] })))])
    expect((await sandbox.call('GET', `${account}/custom_audiences/1nmth`)).body.data).toMatchObject({
      targetable: true,
      audience_size: 100,
      reasons_not_targetable: [],
    })
  })
  test('targeted names campaigns and line items, servable ones unless asked otherwise', async () => {
    const active = (await sandbox.call('GET', `${account}/custom_audiences/1nmth/targeted`)).body.data
    expect(active[0].line_items.every(({ servable }: Loose) => servable)).toBe(true)
    const all = (await sandbox.call('GET', `${account}/custom_audiences/1nmth/targeted`, { query: { with_active: false } })).body.data
    expect(all[0].line_items.length).toBeGreaterThan(active[0].line_items.length)
  })
  test('targeted has each line item once, for each type of audience criterion, and no exclusions', async () => {
    const { id } = (await sandbox.call('POST', `${account}/custom_audiences`, { query: { name: 'Buyers' } })).body.data
    const target = (item: string, type: string, more: Record<string, string> = {}): Promise<CallResult> =>
      sandbox.call('POST', `${account}/targeting_criteria`, {
        query: { line_item_id: item, targeting_type: type, targeting_value: id, ...more },
      })
    await target('9cqi0', 'CUSTOM_AUDIENCE')
    await target('9cqi0', 'CUSTOM_AUDIENCE')
    await target('9cqi3', 'CUSTOM_AUDIENCE_EXPANDED')
    await target('9cqi4', 'CUSTOM_AUDIENCE', { operator_type: 'NE' })
    const { data } = (await sandbox.call('GET', `${account}/custom_audiences/${id}/targeted`, { query: { with_active: false } })).body
    expect(data.flatMap(({ line_items: items }: Loose) => items.map((item: Loose) => item.id)).toSorted()).toEqual(['9cqi0', '9cqi3'])
  })
  test('targeted does not count as servable what its campaign cannot serve', async () => {
    const targeted = async (): Promise<Loose[]> =>
      (await sandbox.call('GET', `${account}/custom_audiences/1nmth/targeted`, { query: { with_active: false } })).body.data
    const [first] = await targeted()
    await sandbox.call('DELETE', `${account}/funding_instruments/lygyi`)
    expect((await targeted())[0].line_items.map(({ servable }: Loose) => servable)).not.toContain(true)
    await sandbox.call('DELETE', `${account}/campaigns/${first.campaign_id}`)
    expect((await targeted()).map(({ campaign_id }) => campaign_id)).not.toContain(first.campaign_id)
  })
  test('targeted counts a line item as servable only between its start and its end', async () => {
    const servable = async (): Promise<Record<string, boolean>> => {
      const { data } = (await sandbox.call('GET', `${account}/custom_audiences/1nmth/targeted`, { query: { with_active: false } })).body
      return Object.fromEntries(data[0].line_items.map((item: Loose) => [item.id, item.servable]))
    }
    expect(await servable()).toEqual({ '9cqi0': true, '9cqi2': false })
    await sandbox.call('PUT', `${account}/line_items/9cqi0`, { query: { start_time: '2035-01-01', end_time: '2035-02-01' } })
    expect(await servable()).toMatchObject({ '9cqi0': false })
    await sandbox.control.setClock('2035-01-01T00:00:00Z')
    expect(await servable()).toMatchObject({ '9cqi0': true })
    await sandbox.control.setClock('2035-02-01T00:00:00Z')
    expect(await servable()).toMatchObject({ '9cqi0': false })
    expect((await sandbox.call('GET', `${account}/custom_audiences/1nmth/targeted`)).body.data).toEqual([])
  })
  test('targeted of a shared audience has the line items of the calling account only', async () => {
    const other = '/12/accounts/18ce55media'
    const post = async (path: string, query: Record<string, string>): Promise<Loose> =>
      (await sandbox.call('POST', path, { query })).body.data
    const permission = await post(`${account}/custom_audiences/1nmth/permissions`, {
      granted_account_id: '18ce55media',
      permission_level: 'READ_ONLY',
    })
    const { id: campaign } = await post(`${other}/campaigns`, { funding_instrument_id: 'lygyj', name: 'Films' })
    const { id: item } = await post(`${other}/line_items`, {
      campaign_id: campaign,
      objective: 'REACH',
      placements: 'ALL_ON_SERVICE',
      product_type: 'PROMOTED_TWEETS',
      start_time: '2026-01-15',
      end_time: '2036-01-01',
    })
    await post(`${other}/targeting_criteria`, { line_item_id: item, targeting_type: 'CUSTOM_AUDIENCE', targeting_value: '1nmth' })
    const targeted = `${other}/custom_audiences/1nmth/targeted`
    expect((await sandbox.call('GET', targeted)).body.data).toEqual([
      { campaign_id: campaign, campaign_name: 'Films', line_items: [{ id: item, name: null, servable: true }] },
    ])
    const own = (await sandbox.call('GET', `${account}/custom_audiences/1nmth/targeted`)).body.data
    expect(own.map((entry: Loose) => entry.campaign_id)).toEqual(['8wku2'])
    await sandbox.call('DELETE', `${account}/custom_audiences/1nmth/permissions/${permission.id}`)
    expect((await sandbox.call('GET', targeted)).status).toBe(404)
  })
  test('a shared audience is listed with the level of its permission', async () => {
    const permission = { granted_account_id: '18ce55media', permission_level: 'READ_ONLY' }
    const { id } = (await sandbox.call('POST', `${account}/custom_audiences/1nmth/permissions`, { query: permission })).body.data
    const shared = { permission_scope: 'SHARED' }
    const list = await sandbox.call('GET', '/12/accounts/18ce55media/custom_audiences', { query: shared })
    expect(list.body.data).toMatchObject([{ id: '1nmth', permission_level: 'READ_ONLY', owner_account_id: '18ce54d4x5t' }])
    expect((await sandbox.call('GET', `${account}/custom_audiences/1nmth`)).body.data.permission_level).toBe('READ_WRITE')
    const path = '/12/accounts/18ce55media/custom_audiences/1nmth'
    expect((await sandbox.call('GET', path)).body.data).toEqual(list.body.data[0])
    expect([(await sandbox.call('PUT', path, { query: { name: 'a' } })).status, (await sandbox.call('DELETE', path)).status]).toEqual([
      404, 404,
    ])
    await sandbox.call('DELETE', `${account}/custom_audiences/1nmth/permissions/${id}`)
    expect((await sandbox.call('GET', path)).status).toBe(404)
  })
  test('an account changes a shared audience only with READ_WRITE, and never deletes it', async () => {
    const path = '/12/accounts/18ce55media/custom_audiences/1nmth'
    const share = (level: string) =>
      sandbox.call('POST', `${account}/custom_audiences/1nmth/permissions`, {
        query: { granted_account_id: '18ce55media', permission_level: level },
      })
    const write = async () => [
      (await sandbox.call('PUT', path, { query: { description: 'Buyers' } })).status,
      (await sandbox.call('POST', `${path}/users`, { json: [update([{ email: [email(1)] }])] })).status,
      (await sandbox.call('DELETE', path)).status,
    ]
    await share('READ_ONLY')
    expect(await write()).toEqual([404, 404, 404])
    await share('READ_WRITE')
    expect(await write()).toEqual([200, 200, 404])
    expect((await sandbox.control.audience('1nmth')).members).toBe(1)
    expect((await sandbox.call('GET', `${account}/custom_audiences/1nmth`)).body.data.description).toBe('Buyers')
  })
  test('accounts without a business name are of different businesses', async () => {
    const [from, to] = [
      (await sandbox.call('POST', '/12/accounts')).body.data[0].id as string,
      (await sandbox.call('POST', '/12/accounts')).body.data[0].id as string,
    ]
    const made = await sandbox.call('POST', `/12/accounts/${from}/custom_audiences`, { query: { name: 'Buyers' } })
    const share = async (choice: string): Promise<Loose> => {
      await sandbox.control.switches({ share_outside_business: choice })
      const query = { granted_account_id: to, permission_level: 'READ_ONLY' }
      return (await sandbox.call('POST', `/12/accounts/${from}/custom_audiences/${made.body.data.id}/permissions`, { query })).body
    }
    expect((await share('by_feature')).errors).toMatchObject([
      { code: 'FEATURE_NOT_AVAILABLE', message: 'The account needs the feature SHARE_AUDIENCE_OUTSIDE_BUSINESS' },
    ])
    expect((await share('denied')).errors).toMatchObject([
      { code: 'FEATURE_NOT_AVAILABLE', message: 'The audience cannot be shared with an account of another business' },
    ])
    expect((await share('granted')).data.granted_account_id).toBe(to)
  })
  test('a refused upload starts no processing', async () => {
    await sandbox.control.switches({ processing_times: 'clock' })
    const wrong = { operation_type: 'Update', params: {} }
    expect((await users([wrong])).status).toBe(400)
    expect((await doNotReach([wrong])).status).toBe(400)
    const { data } = (await sandbox.call('GET', `${account}/custom_audiences/1nmth`)).body
    const lists = (await sandbox.call('GET', `${account}/do_not_reach_lists`)).body.data
    expect([data, lists[0]].map(({ reasons_not_targetable: reasons }) => reasons)).toEqual([['TOO_SMALL'], ['TOO_SMALL']])
  })
  test.for(['/5/accounts/18ce54d4x5t/tailored_audiences/1nmth/permissions', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/permissions'])(
    'permissions at %s',
    async (path) => {
      const made = (await sandbox.call('POST', path, { query: { granted_account_id: '18ce54zzz', permission_level: 'READ_WRITE' } })).body
        .data
      expect(made).toMatchObject({
        tailored_audience_id: '1nmth',
        granted_account_id: '18ce54zzz',
        permission_level: 'READ_WRITE',
        deleted: false,
      })
      expect((await sandbox.call('GET', path, { query: { granted_account_ids: '18ce54zzz' } })).body.data).toHaveLength(1)
      expect((await sandbox.call('DELETE', `${path}/${made.id}`)).body.data.deleted).toBe(true)
      expect((await sandbox.call('DELETE', `${path}/${made.id}`)).status).toBe(404)
      expect(
        (await sandbox.call('POST', path, { query: { granted_account_id: 'x', permission_level: 'ALL' } })).body.errors[0],
      ).toMatchObject({ code: 'INVALID_PARAMETER', parameter: 'permission_level' })
    },
  )
  test('keyword insights: 30 related keywords, a volume a day, 7 days and 10 keywords at most', async () => {
    const search = (query: Record<string, string>): Promise<CallResult> =>
      sandbox.call('GET', '/12/insights/keywords/search', {
        query: { granularity: 'DAY', keywords: 'mugs,cups', start_time: '2026-01-01', end_time: '2026-01-04', ...query },
      })
    const { data } = (await search({})).body
    expect(data.related_keywords).toHaveLength(30)
    expect(data.tweet_volume).toHaveLength(3)
    expect((await search({ end_time: '2026-01-09' })).status).toBe(400)
    expect((await search({ negative_keywords: 'a,b,c,d,e,f,g,h,i' })).status).toBe(400)
    expect((await search({ granularity: 'WEEK' })).status).toBe(400)
    expect((await search({ start_time: '' })).body.errors[0]).toEqual({
      parameter: 'start_time',
      details: 'invalid date',
      code: 'INVALID_PARAMETER',
      value: '',
      message: 'Expected time, got "" for start_time',
    })
  })
  test('keyword insights count a keyword once, without the negative ones, and fewer posts in one country', async () => {
    const volume = async (query: Record<string, string>): Promise<number[]> => {
      const times = { start_time: '2026-01-01', end_time: '2026-01-04' }
      const answer = await sandbox.call('GET', '/12/insights/keywords/search', { query: { granularity: 'DAY', ...times, ...query } })
      return answer.body.data.tweet_volume as number[]
    }
    const mugs = await volume({ keywords: 'mugs' })
    expect(await volume({ keywords: 'mugs,Mugs' })).toEqual(mugs)
    expect(await volume({ keywords: 'mugs,cups', negative_keywords: 'Cups' })).toEqual(mugs)
    expect(await volume({ keywords: 'mugs', negative_keywords: 'mugs' })).toEqual([0, 0, 0])
    const others = await volume({ keywords: 'mugs', negative_keywords: 'tea' })
    const country = await volume({ keywords: 'mugs', location: '96683cc9126741d1' })
    for (const fewer of [others, country]) {
      expect(fewer).not.toEqual(mugs)
      expect(fewer.every((count, index) => Number.isInteger(count) && count >= 0 && count <= (mugs[index] ?? 0))).toBe(true)
    }
  })
  test('an estimate takes the object and the bare array', async () => {
    const criteria = [{ targeting_type: 'LOCATION', targeting_value: '96683cc9126741d1', operator_type: 'EQ' }]
    for (const json of [{ targeting_criteria: criteria }, criteria]) {
      const { data } = (await sandbox.call('POST', `${account}/audience_estimate`, { json })).body
      expect(data.audience_size.min).toBeLessThan(data.audience_size.max)
    }
  })
})

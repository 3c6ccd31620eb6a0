/** Posts as an outside caller sees them: v2 look-up and creation, and posts for advertisers (spec 2.4, 2.6, 4.4, 4.7, 9; docs/spec-notes.md#endpoints). */
import { beforeEach, describe, expect, test } from 'vitest'
import {
  mediaFields,
  placeFields,
  pollFields,
  postExpansions,
  postFields,
  postResources,
  userFields,
} from '../../src/service/contract/postResources.ts'
import type { Field } from '../../src/service/contract/resource.ts'
import { accountCalls, expectRefusal } from '../support/account.ts'
import { bearerOf, type CallResult, type Loose } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'
import { target } from '../support/target.ts'

const sandbox = sharedSandbox()
const account = accountCalls(sandbox)
let bearer: string
beforeEach(async () => {
  bearer = await bearerOf(sandbox)
})

const FILM = '1166476031668015106'
const MENTION = '1166476031668015107'
const REPLY = '1166476031668015108'
const QUIET = '1166476031668015109'
const look = (query: Record<string, string>) => sandbox.call('GET', '/2/tweets', { query, bearer })
const make = (json: unknown) => sandbox.call('POST', '/2/tweets', { json })

function hasType(value: unknown, type: Field['type'] | undefined): boolean {
  switch (type) {
    case 'boolean':
      return typeof value === 'boolean'
    case 'integer':
      return Number.isInteger(value)
    case 'integers':
      return Array.isArray(value) && value.every(Number.isInteger)
    case 'strings':
      return Array.isArray(value) && value.every((one) => typeof one === 'string')
    case 'objects':
      return Array.isArray(value) && value.every((one) => typeof one === 'object')
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    default:
      return (type === 'string' || type === 'timestamp') && typeof value === 'string'
  }
}

function expectBadParameter(answer: CallResult, parameter: string): void {
  expect([answer.status, answer.body.title, answer.body.detail], answer.text).toEqual([
    400,
    'Invalid Request',
    'One or more parameters to your request was invalid.',
  ])
  expect(answer.body.type).toMatch(/\/2\/problems\/invalid-request$/)
  expect(answer.body.errors.map((error: { parameters: object }) => Object.keys(error.parameters)[0])).toContain(parameter)
}

describe('look-up', () => {
  test('by default there are only id and text', async () => {
    expect((await look({ ids: FILM })).body).toEqual({ data: [{ id: FILM, text: 'See how our mugs are made' }] })
  })

  test('fields come when asked for', async () => {
    const post = (await look({ ids: REPLY, 'tweet.fields': postFields.join(',') })).body.data[0]
    expect(post).toMatchObject({
      id: REPLY,
      author_id: '1001',
      created_at: expect.stringMatching(/\.\d{3}Z$/) as string,
      conversation_id: MENTION,
      in_reply_to_user_id: '2001',
      paid_partnership: false,
      referenced_tweets: [{ type: 'replied_to', id: MENTION }],
      entities: { mentions: [{ start: 0, end: 7, username: 'potter' }] },
      lang: 'en',
      possibly_sensitive: false,
      public_metrics: { retweet_count: 0, reply_count: 0, like_count: 0, quote_count: 0 },
    })
  })

  test('a mention or hashtag inside a link is none, and those after it keep their places', async () => {
    const text = 'See https://example.com/@ann/#tea?x=🍵 by @potter #mugs'
    const { id } = (await sandbox.call('POST', '/2/tweets', { json: { text } })).body.data
    const { entities } = (await look({ ids: id, 'tweet.fields': 'entities' })).body.data[0]
    expect(entities.mentions).toEqual([{ start: 41, end: 48, username: 'potter' }])
    expect(entities.hashtags).toEqual([{ start: 49, end: 54, tag: 'mugs' }])
  })

  test('expansions come under includes, each object once and with the fields asked for', async () => {
    const answer = await look({
      ids: `${FILM},${REPLY}`,
      expansions: postExpansions.join(','),
      'tweet.fields': 'attachments',
      'user.fields': 'verified,public_metrics,affiliation',
      'media.fields': 'duration_ms,public_metrics',
      'place.fields': placeFields.join(','),
      'poll.fields': pollFields.join(','),
    })
    const { includes } = answer.body
    expect(Object.keys(includes).toSorted()).toEqual(['media', 'places', 'tweets', 'users'])
    expect(includes.users.map((user: { id: string }) => user.id).toSorted()).toEqual(['1001', '2001'])
    expect(includes.users[0]).toMatchObject({
      id: '1001',
      name: 'Sandbox',
      username: 'sandbox',
      verified: true,
      affiliation: { user_id: ['2001'] },
    })
    expect(includes.users[0]).not.toHaveProperty('description')
    expect(includes.media).toEqual([
      { media_key: '7_1146654567674912772', type: 'video', duration_ms: 15_000, public_metrics: { view_count: 310 } },
    ])
    expect(includes.tweets.map((post: { id: string }) => post.id)).toContain(MENTION)
    expect(includes.places[0]).toMatchObject({ id: '96683cc9126741d1', country_code: 'US' })
    expect(
      (await look({ ids: '1166476031668015105', expansions: 'attachments.poll_ids', 'poll.fields': 'voting_status' })).body.includes
        .polls[0],
    ).toMatchObject({ voting_status: 'closed' })
  })

  test('every field has the type of the contract', async () => {
    const { body } = await look({
      ids: `${FILM},${REPLY},${MENTION},1166476031668015104,1166476031668015105`,
      expansions: postExpansions.join(','),
      'tweet.fields': postFields.filter((name) => !/^(?:non_public|organic|promoted)_/.test(name)).join(','),
      'user.fields': userFields.join(','),
      'media.fields': mediaFields.filter((name) => !/^(?:non_public|organic|promoted)_/.test(name)).join(','),
      'place.fields': placeFields.join(','),
      'poll.fields': pollFields.join(','),
    })
    for (const [records, { fields }] of [
      [[...body.data, ...body.includes.tweets], postResources.post],
      [body.includes.users, postResources.postUser],
      [body.includes.media, postResources.postMedia],
      [body.includes.places, postResources.postPlace],
      [body.includes.polls, postResources.postPoll],
    ] as const) {
      const known = new Map(fields.map((one: Field) => [one.name, one.type]))
      for (const record of records as Loose[])
        for (const [name, value] of Object.entries(record))
          // The form of a subscription is not specified.
          if (name !== 'subscription') expect([name, hasType(value, known.get(name))]).toEqual([name, true])
    }
  })

  test('every user, media, place and poll field is a field that may be asked for', async () => {
    const answer = await look({
      ids: FILM,
      'user.fields': userFields.join(','),
      'media.fields': mediaFields.join(','),
      'place.fields': placeFields.join(','),
      'poll.fields': pollFields.join(','),
    })
    expect(answer.status, answer.text).toBe(200)
  })

  test('what is missing is a partial error beside the data', async () => {
    const answer = await look({ ids: `${FILM},99` })
    expect(answer.status).toBe(200)
    expect(answer.body.data.length).toBe(1)
    expect(answer.body.errors).toEqual([
      {
        resource_id: '99',
        resource_type: 'tweet',
        parameter: 'ids',
        value: '99',
        title: 'Not Found Error',
        detail: expect.any(String) as string,
        type: expect.stringMatching(/resource-not-found$/) as string,
      },
    ])
    const none = await look({ ids: '99' })
    expect([none.status, none.body.data, none.body.errors.length]).toEqual([200, undefined, 1])
  })

  test('private metrics are for the author', async () => {
    const query = { ids: FILM, 'tweet.fields': 'non_public_metrics' }
    expect((await look(query)).body).toMatchObject({
      data: [{ id: FILM }],
      errors: [{ value: 'non_public_metrics', type: expect.stringMatching(/not-authorized-for-field$/) as string }],
    })
    expect((await sandbox.call('GET', '/2/tweets', { query })).body.data[0]).toHaveProperty('non_public_metrics')
  })

  test.for([
    [{}, 'ids'],
    [{ ids: 'x' }, 'ids'],
    [{ ids: Array.from({ length: 101 }, (_, index) => index + 1).join(',') }, 'ids'],
    [{ ids: FILM, 'tweet.fields': 'colour' }, 'tweet.fields'],
    [{ ids: FILM, expansions: 'author' }, 'expansions'],
    [{ ids: FILM, colour: 'red' }, 'colour'],
    [{ ids: FILM, 'post.fields': 'lang' }, 'post.fields'],
  ] as const)('%j is refused as a bad parameter', async ([query, parameter]) => {
    expectBadParameter(await look(query), parameter)
  })

  test('the newest names are a switch', async () => {
    await sandbox.control.switches({ v2_names: 'post', edit_history: 'on' })
    expect((await look({ ids: FILM, 'post.fields': 'lang' })).body.data[0]).toEqual({
      id: FILM,
      text: expect.any(String) as string,
      lang: 'en',
      edit_history_post_ids: [FILM],
    })
    expectBadParameter(await look({ ids: FILM, 'tweet.fields': 'lang' }), 'tweet.fields')
    await sandbox.control.switches({ edit_history: 'off' })
    const query = { ids: FILM, 'post.fields': 'edit_history_post_ids', expansions: 'edit_history_post_ids' }
    const { body } = await look(query)
    expect([body.data[0].edit_history_post_ids, body.includes.posts[0].id]).toEqual([[FILM], FILM])
    await sandbox.control.switches({ v2_names: 'tweet' })
    expectBadParameter(await look({ ids: FILM, 'tweet.fields': 'edit_history_post_ids' }), 'tweet.fields')
    expectBadParameter(await look({ ids: FILM, expansions: 'edit_history_post_ids' }), 'expansions')
  })

  test('without a good token there is no answer', async () => {
    expect((await sandbox.call('GET', '/2/tweets', { query: { ids: FILM }, bearer: 'unknown' })).body).toEqual({
      errors: [{ code: 89, message: expect.any(String) as string }],
    })
    expect((await sandbox.call('POST', '/2/tweets', { json: { text: 'a' }, bearer })).status).toBe(403)
  })
})

describe('creation', () => {
  test('answers 201 with id and text, and the post can be read', async () => {
    const made = await make({
      text: 'Fresh from the kiln',
      paid_partnership: true,
      community_id: '1758000000000000001',
      share_with_followers: true,
    })
    expect([made.status, made.body]).toEqual([
      201,
      { data: { id: expect.stringMatching(/^\d{19}$/) as string, text: 'Fresh from the kiln' } },
    ])
    expect((await look({ ids: made.body.data.id, 'tweet.fields': 'paid_partnership,community_id,author_id' })).body.data[0]).toMatchObject({
      paid_partnership: true,
      community_id: '1758000000000000001',
      author_id: '1001',
    })
  })

  test('media of the library keep their type in a post, and count as used', async () => {
    const key = '13_1146655105555005441'
    const made = await make({ text: 'A film', media: { media_ids: ['1146655105555005441'] } })
    const { data, includes } = (await look({ ids: made.body.data.id, 'tweet.fields': 'attachments', expansions: 'attachments.media_keys' }))
      .body
    expect([data[0].attachments, includes.media]).toEqual([{ media_keys: [key] }, [{ media_key: key, type: 'video' }]])
    expect((await account.get(`media_library/${key}`)).body.data.tweeted).toBe(true)
  })

  test('media of a new post have the requested fields', async () => {
    const mediaOf = async (key: string): Promise<Loose> => {
      const query = { as_user_id: '1001', text: `Media ${key}`, media_keys: key }
      const { id_str: id } = (await sandbox.call('POST', '/12/accounts/18ce54d4x5t/tweet', { query })).body.data
      const fields = 'duration_ms,public_metrics,url,preview_image_url,variants'
      return (await look({ ids: id, expansions: 'attachments.media_keys', 'media.fields': fields })).body.includes.media[0]
    }
    const place = (key: string): string => `https://media.example.com/${key}`
    expect(await mediaOf('13_1146655105555005441')).toEqual({
      media_key: '13_1146655105555005441',
      type: 'video',
      duration_ms: 20_000,
      public_metrics: { view_count: 0 },
      preview_image_url: place('13_1146655105555005441-poster.png'),
      variants: [{ content_type: 'video/mp4', url: place('13_1146655105555005441.mp4') }],
    })
    expect(await mediaOf('16_1146654567674912771')).toEqual({
      media_key: '16_1146654567674912771',
      type: 'animated_gif',
      preview_image_url: place('16_1146654567674912771-poster.png'),
      variants: [{ content_type: 'video/mp4', url: place('16_1146654567674912771.mp4') }],
    })
    expect(await mediaOf('3_1146654567674912770')).toEqual({
      media_key: '3_1146654567674912770',
      type: 'photo',
      url: place('3_1146654567674912770.png'),
    })
  })

  test('an own post can be edited for an hour, and keeps its history', async () => {
    const first = (await make({ text: 'Frist' })).body.data.id as string
    await sandbox.control.advance(3590)
    const second = (await make({ text: 'First', edit_options: { previous_post_id: first } })).body.data.id as string
    expect((await look({ ids: second, 'tweet.fields': 'edit_history_tweet_ids' })).body.data[0].edit_history_tweet_ids).toEqual([
      first,
      second,
    ])
    const controls = (await look({ ids: `${first},${second}`, 'tweet.fields': 'edit_controls,created_at' })).body.data
    const until = new Date(Date.parse(controls[0].created_at) + 3_600_000).toISOString()
    expect(controls.map(({ edit_controls: { editable_until, is_edit_eligible } }: Loose) => [editable_until, is_edit_eligible])).toEqual([
      [until, true],
      [until, true],
    ])
    const { edit_controls: others } = (await look({ ids: QUIET, 'tweet.fields': 'edit_controls' })).body.data[0]
    expect(others.is_edit_eligible).toBe(false)
    await sandbox.control.advance(20)
    expectBadParameter(await make({ text: 'Too late', edit_options: { previous_post_id: first } }), 'edit_options.previous_post_id')
    expect((await make({ text: 'Not mine', edit_options: { previous_post_id: QUIET } })).body).toMatchObject({
      status: 403,
      type: expect.stringMatching(/not-authorized-for-resource$/) as string,
    })
  })

  test('a post can be edited as often as edits_remaining allows', async () => {
    let id = (await make({ text: 'Version 0' })).body.data.id as string
    const edit = (n: number): Promise<CallResult> => make({ text: `Version ${n}`, edit_options: { previous_post_id: id } })
    const remaining = async (): Promise<number> =>
      (await look({ ids: id, 'tweet.fields': 'edit_controls' })).body.data[0].edit_controls.edits_remaining
    const left: number[] = [await remaining()]
    while ((left.at(-1) ?? 0) > 0) {
      id = (await edit(left.length)).body.data.id
      left.push(await remaining())
    }
    expect(left).toEqual([5, 4, 3, 2, 1, 0])
    expectBadParameter(await edit(6), 'edit_options.previous_post_id')
  })

  test('the hour of an edit begins with the first version, also after that version was deleted', async () => {
    const first = (await make({ text: 'Frist' })).body.data.id as string
    const until = async (id: string): Promise<string> =>
      (await look({ ids: id, 'tweet.fields': 'edit_controls' })).body.data[0].edit_controls.editable_until
    const end = await until(first)
    await sandbox.control.advance(3000)
    const second = (await make({ text: 'First', edit_options: { previous_post_id: first } })).body.data.id as string
    await sandbox.call('DELETE', `/2/tweets/${first}`)
    expect(await until(second)).toBe(end)
    const third = (await make({ text: 'The first', edit_options: { previous_post_id: second } })).body.data.id as string
    await sandbox.call('DELETE', `/2/tweets/${second}`)
    expect(await until(third)).toBe(end)
    await sandbox.control.advance(601)
    expectBadParameter(await make({ text: 'Too late', edit_options: { previous_post_id: third } }), 'edit_options.previous_post_id')
  })

  test('an edited reply is still a reply', async () => {
    const reply = (await make({ text: 'Yse', reply: { in_reply_to_tweet_id: MENTION } })).body.data.id as string
    const edited = (await make({ text: 'Yes', edit_options: { previous_post_id: reply } })).body.data.id as string
    const fields = 'referenced_tweets,in_reply_to_user_id,conversation_id'
    expect((await look({ ids: edited, 'tweet.fields': fields })).body.data[0]).toMatchObject({
      referenced_tweets: [{ type: 'replied_to', id: MENTION }],
      in_reply_to_user_id: '2001',
      conversation_id: MENTION,
    })
  })

  test('a clock that was set back by more than a day does not make an equal post a duplicate', async () => {
    await sandbox.control.setClock('2026-03-10T00:00:00Z')
    await make({ text: 'Words again' })
    await sandbox.control.setClock('2026-03-09T12:00:00Z')
    expect((await make({ text: 'Words again' })).status).toBe(403)
    await sandbox.control.setClock('2026-03-01T00:00:00Z')
    expect((await make({ text: 'Words again' })).status).toBe(201)
  })
  test('a reply needs that the author mentioned the replier', async () => {
    const made = await make({ text: 'Yes', reply: { in_reply_to_tweet_id: MENTION } })
    expect((await look({ ids: made.body.data.id, 'tweet.fields': 'referenced_tweets,conversation_id' })).body.data[0]).toMatchObject({
      conversation_id: MENTION,
      referenced_tweets: [{ type: 'replied_to', id: MENTION }],
    })
    expect((await make({ text: 'Uninvited', reply: { in_reply_to_tweet_id: QUIET } })).body).toMatchObject({
      status: 403,
      type: 'about:blank',
    })
  })

  test('a post that is not shared with followers needs no community', async () => {
    expect((await make({ text: 'For all', share_with_followers: false })).status).toBe(201)
  })

  test.for([
    [{}, 'text'],
    [{ text: ' ' }, 'text'],
    [{ text: ' ', card_uri: null }, 'text'],
    [{ text: 'a', share_with_followers: true }, 'community_id'],
    [{ text: 'a', colour: 'red' }, 'colour'],
    [{ text: 'a', paid_partnership: 'perhaps' }, 'paid_partnership'],
    [{ text: 'a', paid_partnership: 'true' }, 'paid_partnership'],
    [{ text: 'a', paid_partnership: 1 }, 'paid_partnership'],
    [{ card_uri: '' }, 'card_uri'],
    [{ text: 'a', card_uri: 'card://1' }, 'card_uri'],
    [{ text: 'a', community_id: '' }, 'community_id'],
    [{ text: 'a', edit_options: {} }, 'edit_options.previous_post_id'],
    [{ text: 'a', edit_options: { previous_post_id: '99' } }, 'edit_options.previous_post_id'],
    [{ text: 'a', reply: { in_reply_to_tweet_id: '99' } }, 'reply.in_reply_to_tweet_id'],
    [{ text: 'a', media: { media_ids: [] } }, 'media.media_ids'],
    [{ text: 'a', quote_tweet_id: '99' }, 'quote_tweet_id'],
    [{ text: 'a', geo: { place_id: '96683cc9126741d1', lat: '1' } }, 'geo.lat'],
  ] as const)('%j is refused as a bad parameter', async ([json, parameter]) => {
    expectBadParameter(await make(json), parameter)
  })
})

describe('a refusal shows the value as it was sent', () => {
  test.for([
    [{ edit_options: {} }, 'edit_options.previous_post_id', ''],
    [{ edit_options: { previous_post_id: { id: '1' } } }, 'edit_options.previous_post_id', '{"id":"1"}'],
    [{ reply: {} }, 'reply.in_reply_to_tweet_id', ''],
    [{ reply: { in_reply_to_tweet_id: 7 } }, 'reply.in_reply_to_tweet_id', '7'],
    [{ media: {} }, 'media.media_ids', ''],
    [{ media: { media_ids: [7] } }, 'media.media_ids', '[7]'],
    [{ poll: {} }, 'poll.options', ''],
    [{ poll: { options: ['a', 'b'] } }, 'poll.duration_minutes', ''],
    [{ geo: {} }, 'geo.place_id', ''],
    [{ geo: { place_id: 7 } }, 'geo.place_id', '7'],
  ] as const)('of a post: %j', async ([json, parameter, value]) => {
    expect((await make({ text: 'a', ...json })).body.errors[0].parameters).toEqual({ [parameter]: [value] })
  })

  test.for([
    [{ user_id: { id: '1' } }, 'filter.user_id', '{"id":"1"}'],
    [{ user_id: '1001', keyword: ['a'] }, 'filter.keyword', '["a"]'],
  ] as const)('of a filter: %j', async ([filter, parameter, value]) => {
    const answer = await sandbox.call('POST', '/2/activity/subscriptions', { json: { event_type: 'post.create', filter }, bearer })
    expect(answer.body.errors[0].parameters).toEqual({ [parameter]: [value] })
  })
})

describe('posts for an advertiser', () => {
  const post = { as_user_id: '1001', text: 'Dogs, Cats & Mice ☃' }

  test('ids are exact integers beside their texts, unset fields null', async () => {
    const made = await account.post('tweet', { ...post, trim_user: true, name: 'Animals' })
    const { id_str: id } = made.body.data as { id_str: string }
    expect(made.text).toContain(`"id":${id},"id_str":"${id}"`)
    expect(BigInt(id)).toBeGreaterThan(2n ** 53n)
    expect(made.text).toContain('"as_user_id":1001')
    expect(made.body.data).toMatchObject({
      text: post.text,
      name: 'Animals',
      truncated: false,
      user: { id: 1001, id_str: '1001' },
      retweet_count: 0,
      favorite_count: 0,
      geo: null,
      coordinates: null,
      place: null,
      in_reply_to_status_id: null,
      created_at: expect.stringMatching(/Z$/) as string,
    })
    expect(Object.keys(made.body.data.user as object)).toEqual(['id', 'id_str'])
    expect(made.body.data).not.toHaveProperty('conversation_settings')
    const read = (await account.get('tweets', { tweet_type: 'PUBLISHED', tweet_ids: id })).body.data[0]
    expect(read).toMatchObject({
      tweet_type: 'PUBLISHED',
      nullcast: true,
      conversation_settings: 'EVERYONE',
      full_text: post.text,
      display_text_range: [0, 19],
      tweet_id: id,
      scheduled_at: null,
    })
  })

  test.skipIf(target !== undefined)('shows a user that the control API added as /1.1 and v2 do', async () => {
    const added = { screen_name: 'Anna', premium: true, accounts: ['18ce54d4x5t'] }
    const { user_id: id } = (await sandbox.control.request('POST', 'users', added)).body
    const { user, entities } = (await account.post('tweet', { as_user_id: id, text: 'Hello @anna' })).body.data
    expect(user).toMatchObject({ id_str: id, screen_name: 'Anna', verified: true })
    expect(entities.user_mentions).toMatchObject([{ id_str: id, name: 'Anna', screen_name: 'anna' }])
  })

  test('options show where the specification says', async () => {
    const made = await account.post('tweet', {
      ...post,
      media_keys: '7_1146654567674912772',
      card_uri: 'card://1503831318555086849',
      conversation_settings: 'FOLLOWING',
      nullcast: false,
      tweet_mode: 'extended',
      video_cta: 'WATCH_NOW',
      video_cta_value: 'https://shop.example',
      video_title: 'T'.repeat(70),
      video_description: 'D'.repeat(200),
    })
    expect(made.body.data).toMatchObject({ full_text: post.text, user: { screen_name: 'sandbox' } })
    expect((await account.get('tweets', { tweet_type: 'PUBLISHED', tweet_ids: made.body.data.id_str })).body.data[0]).toMatchObject({
      conversation_settings: 'FOLLOWING',
      nullcast: false,
    })
    expect((await account.get('media_library/7_1146654567674912772')).body.data.tweeted).toBe(true)
  })

  test.for([
    [{ as_user_id: '' }, [400, 'INVALID_PARAMETER', 'as_user_id']],
    [{ as_user_id: '77' }, [403, 'USER_NOT_FOUND', 'as_user_id']],
    [{ as_user_id: '2001' }, [403, 'ACTION_NOT_ALLOWED', 'as_user_id']],
    [{ text: ' ' }, [400, 'TWEET_CANNOT_BE_BLANK', 'text']],
    [{ media_keys: '3_1,3_2,3_3,3_4,3_5' }, [400, 'INVALID_PARAMETER', 'media_keys']],
    [{ media_keys: '3_1,7_2' }, [400, 'INVALID_MEDIA', 'media_keys']],
    [{ media_keys: '16_1,16_2' }, [400, 'INVALID_MEDIA', 'media_keys']],
    [{ media_keys: 'x' }, [400, 'INVALID_MEDIA_ID', 'media_keys']],
    [{ card_uri: 'card://1' }, [404, 'CARD_NOT_FOUND', 'card_uri']],
    [{ conversation_settings: 'NOBODY' }, [400, 'INVALID_PARAMETER', 'conversation_settings']],
    [{ name: 'a'.repeat(81) }, [400, 'INVALID_PARAMETER', 'name']],
    [{ video_title: 'a'.repeat(71) }, [400, 'INVALID_PARAMETER', 'video_title']],
    [{ video_description: 'a'.repeat(201) }, [400, 'INVALID_PARAMETER', 'video_description']],
    [{ video_cta: 'BUY' }, [400, 'INVALID_PARAMETER', 'video_cta']],
    [{ tweet_mode: 'long' }, [400, 'INVALID_PARAMETER', 'tweet_mode']],
    [{ nullcast: 'perhaps' }, [400, 'INVALID_PARAMETER', 'nullcast']],
  ] as const)('%j is refused', async ([change, expected]) => {
    expectRefusal(await account.post('tweet', { ...post, ...change }), expected)
  })

  test('text or media is required, and the advertiser', async () => {
    expectRefusal(await account.post('tweet', { as_user_id: '1001' }), [400, 'MISSING_PARAMETER', 'text'])
    expectRefusal(await account.post('tweet', { text: 'a' }), [400, 'MISSING_PARAMETER', 'as_user_id'])
    expect((await account.post('tweet', { as_user_id: '1001', media_keys: '3_1,3_2,3_3,3_4' })).status).toBe(200)
  })

  test('a post is renamed', async () => {
    expect((await account.put(`tweets/${FILM}/name`, { name: 'Film' })).body.data).toMatchObject({ name: 'Film', id_str: FILM })
    expectRefusal(await account.put('tweets/99/name', { name: 'Film' }), [404, 'TWEET_NOT_FOUND', 'tweet_id'])
    expectRefusal(await account.put(`tweets/${FILM}/name`, { name: 'a'.repeat(81) }), [400, 'INVALID_PARAMETER', 'name'])
  })

  test('the list is by type', async () => {
    const texts = async (type: string) =>
      (await account.get('tweets', { tweet_type: type })).body.data.map((one: { text: string }) => one.text) as string[]
    expect([(await texts('PUBLISHED')).length, await texts('DRAFT'), await texts('SCHEDULED')]).toEqual([
      3,
      ['An idea for summer'],
      ['New glaze next month'],
    ])
    expectRefusal(await account.get('tweets'), [400, 'MISSING_PARAMETER', 'tweet_type'])
    expectRefusal(await account.get('tweets', { tweet_type: 'LOST' }), [400, 'INVALID_PARAMETER', 'tweet_type'])
    expectRefusal(await account.get('tweets', { tweet_type: 'DRAFT', count: 201 }), [400, 'INVALID_PARAMETER', 'count'])
  })
})

describe('scheduled and drafted posts', () => {
  test('a scheduled post is published when its time comes by the sandbox clock', async () => {
    const at = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d{3}Z$/, 'Z')
    const made = (await account.post('scheduled_tweets', { as_user_id: '1001', text: 'In an hour', scheduled_at: at })).body.data
    expect(made).toMatchObject({
      user_id: '1001',
      text: 'In an hour',
      nullcast: true,
      media_keys: [],
      scheduled_at: at,
      scheduled_status: 'SCHEDULED',
      completed_at: null,
      tweet_id: null,
    })
    const path = `scheduled_tweets/${made.id_str}`
    expect((await account.put(path, { text: 'In one hour', name: 'Soon' })).body.data).toMatchObject({
      text: 'In one hour',
      name: 'Soon',
      scheduled_at: at,
    })
    await sandbox.control.advance(3601)
    const done = (await account.get(path)).body.data
    expect(done).toMatchObject({ scheduled_status: 'SUCCEEDED', completed_at: at, tweet_id: expect.stringMatching(/^\d+$/) as string })
    expect((await look({ ids: done.tweet_id })).body.data[0].text).toBe('In one hour')
    expectRefusal(await account.put(path, { text: 'Too late' }), [403, 'ACTION_NOT_ALLOWED'])
  })

  test.for([
    ['scheduled_tweets', { scheduled_at: '2099-01-01T00:00:00Z' }],
    ['draft_tweets', {}],
  ] as const)('%s are kept, changed and deleted for good', async ([path, more]) => {
    const made = (await account.post(path, { as_user_id: '1001', media_keys: '3_1', ...more })).body.data
    expect(made).toMatchObject({ text: '', media_keys: ['3_1'] })
    expect((await account.put(`${path}/${made.id_str}`, { text: 'Words', media_keys: '', nullcast: false })).body.data).toMatchObject({
      text: 'Words',
      media_keys: [],
      nullcast: false,
    })
    expectRefusal(await account.put(`${path}/${made.id_str}`, { text: '' }), [400, 'TWEET_CANNOT_BE_BLANK', 'text'])
    expect((await account.get(path)).body.data.length).toBe(2)
    expect((await account.del(`${path}/${made.id_str}`)).status).toBe(200)
    expect((await account.get(`${path}/${made.id_str}`)).status).toBe(404)
    expect((await account.get(path)).body.data.length).toBe(1)
    expectRefusal(await account.post(path, { as_user_id: '1001', ...more }), [400, 'MISSING_PARAMETER', 'text'])
    expectRefusal(await account.get(path, { count: 201 }), [400, 'INVALID_PARAMETER', 'count'])
  })

  test('a time that has passed is refused', async () => {
    expectRefusal(await account.post('scheduled_tweets', { as_user_id: '1001', text: 'a', scheduled_at: '2020-01-01' }), [
      400,
      'INVALID_PARAMETER',
      'scheduled_at',
    ])
    expectRefusal(await account.post('scheduled_tweets', { as_user_id: '1001', text: 'a' }), [400, 'MISSING_PARAMETER', 'scheduled_at'])
  })
})

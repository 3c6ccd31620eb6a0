/** Creatives as an outside caller sees them (spec 2.4, 3.3, 4.4, 8; docs/spec-notes.md#endpoints Cards). */
import { describe, expect, test } from 'vitest'
import { componentCardTypes } from '../../src/service/contract/creativeResources.ts'
import { accountCalls, expectRefusal } from '../support/account.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const sandbox = sharedSandbox()
const account = accountCalls(sandbox)

const IMAGE = '3_1146654567674912769'
const SQUARE = '3_1146654567674912770'
const VIDEO = '7_1146654567674912772'
const image = { type: 'MEDIA', media_key: IMAGE }
const video = { type: 'MEDIA', media_key: VIDEO }
const details = { type: 'DETAILS', title: 'Mugs', destination: { type: 'WEBSITE', url: 'https://shop.example/' } }
const app = { type: 'APP', country_code: 'US', googleplay_app_id: 'com.example.mugs' }
const button = { type: 'BUTTON', label: { type: 'ENUM', value: 'INSTALL' }, destination: app }
const swipe = (...keys: readonly string[]) => ({ type: 'SWIPEABLE_MEDIA', media_keys: keys })

describe('lists', () => {
  test.for([
    ['account_media', 200, 1000],
    ['cards', 100, 200],
    ['media_library', 20, 50],
    ['cards/poll', 200, 1000],
    ['cards/video_conversation', 200, 1000],
  ] as const)('%s refuses a count of 0 and one over %i', async ([path, , max]) => {
    expect((await account.get(path, { count: max })).status).toBe(200)
    expectRefusal(await account.get(path, { count: 0 }), [400, 'INVALID_PARAMETER', 'count'])
    expectRefusal(await account.get(path, { count: max + 1 }), [400, 'INVALID_PARAMETER', 'count'])
    expectRefusal(await account.get(path, { colour: 'red' }), [400, 'INVALID_PARAMETER', 'colour'])
    expectRefusal(await account.get(path, { cursor: '!' }), [400, 'INVALID_PARAMETER', 'cursor'])
  })

  test.for([['account_media'], ['cards/poll'], ['cards/video_conversation']] as const)(
    '%s counts on request, but not together with a cursor',
    async ([path]) => {
      const all = await account.get(path, { with_total_count: true, with_deleted: true })
      expect(all.body.total_count).toBe(all.body.data.length)
      expect((await account.get(path)).body).not.toHaveProperty('total_count')
      expectRefusal(await account.get(path, { with_total_count: true, cursor: 'x' }), [400, 'EXCLUSIVE_PARAMETERS'])
    },
  )

  test('pages join to the whole, in the order asked for', async () => {
    const names: string[] = []
    let cursor: string | undefined
    do {
      const page = await account.get('cards', { count: 5, sort_by: 'name-desc', ...(cursor === undefined ? {} : { cursor }) })
      names.push(...page.body.data.map((card: { name: string }) => card.name))
      cursor = page.body.next_cursor ?? undefined
    } while (cursor !== undefined)
    expect(names).toEqual(names.toSorted().toReversed())
    expect(names.length).toBe(13)
    expectRefusal(await account.get('cards', { sort_by: 'id-asc' }), [400, 'INVALID_PARAMETER', 'sort_by'])
  })

  test('a filter takes 200 ids and no more', async () => {
    const ids = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`).join(',')
    expect((await account.get('account_media', { account_media_ids: ids(200) })).body.data).toEqual([])
    expectRefusal(await account.get('account_media', { account_media_ids: ids(201) }), [400, 'INVALID_PARAMETER', 'account_media_ids'])
    expectRefusal(await account.get('cards', { card_id: ids(201) }), [400, 'INVALID_PARAMETER', 'card_id'])
    expectRefusal(await account.get('cards', { card_uris: ids(201) }), [400, 'INVALID_PARAMETER', 'card_uris'])
    expectRefusal(await account.get('cards/poll', { card_ids: ids(201) }), [400, 'INVALID_PARAMETER', 'card_ids'])
  })
})

describe('account media', () => {
  test('is filtered, read and deleted', async () => {
    expect((await account.get('account_media', { creative_types: 'BANNER,PREROLL' })).body.data.length).toBe(2)
    expect((await account.get('account_media', { account_media_ids: 'amed2' })).body.data).toMatchObject([
      { id: 'amed2', video_id: null, creative_type: 'BANNER', deleted: false },
    ])
    expectRefusal(await account.get('account_media', { creative_types: 'POSTER' }), [400, 'INVALID_PARAMETER', 'creative_types'])
    expect((await account.del('account_media/amed2')).body.data).toMatchObject({ id: 'amed2', deleted: true })
    expectRefusal(await account.get('account_media/amed2'), [404, 'ACCOUNT_MEDIA_NOT_FOUND', 'account_media_id'])
    expect((await account.get('account_media/amed2', { with_deleted: true })).body.data.deleted).toBe(true)
    expectRefusal(await account.del('account_media/amed2'), [404, 'ACCOUNT_MEDIA_NOT_FOUND'])
  })
})

describe('cards', () => {
  test.for([
    ['IMAGE_WEBSITE', [image, details]],
    ['VIDEO_WEBSITE', [video, details]],
    ['IMAGE_APP', [image, button]],
    ['VIDEO_APP', [video, button]],
    ['IMAGE_CAROUSEL_WEBSITE', [swipe(IMAGE, SQUARE), details]],
    ['VIDEO_CAROUSEL_WEBSITE', [swipe(VIDEO, VIDEO), details]],
    ['MIXED_MEDIA_SINGLE_DEST_CAROUSEL_WEBSITE', [swipe(IMAGE, VIDEO), details]],
    ['IMAGE_CAROUSEL_APP', [swipe(IMAGE, SQUARE), button]],
    ['VIDEO_CAROUSEL_APP', [swipe(VIDEO, VIDEO), button]],
    ['MIXED_MEDIA_SINGLE_DEST_CAROUSEL_APP', [swipe(VIDEO, IMAGE), button]],
  ] as const)('components make a card of type %s', async ([type, components]) => {
    const made = await account.json('POST', 'cards', { name: 'A card', components })
    expect(made.body.data).toMatchObject({
      name: 'A card',
      card_type: type,
      components,
      card_uri: `card://${made.body.data.id}`,
      deleted: false,
    })
    expect((await account.get(`cards/${made.body.data.id}`)).body.data).toEqual(made.body.data)
  })

  test.for([
    ['IMAGE_MULTI_DEST_CAROUSEL_WEBSITE', [image, image]],
    ['VIDEO_MULTI_DEST_CAROUSEL_WEBSITE', [video, video]],
    ['MIXED_MEDIA_MULTI_DEST_CAROUSEL_WEBSITE', [image, video]],
  ] as const)('slides make a card of type %s', async ([type, media]) => {
    const made = await account.json('POST', 'cards', { name: 'A card', slides: media.map((one) => [one, details]) })
    expect(made.body.data).toMatchObject({ card_type: type })
  })

  test.for([
    [{ components: [image, details] }, 'MISSING_PARAMETER', 'name'],
    [{ name: 'a'.repeat(81), components: [image, details] }, 'INVALID_PARAMETER', 'name'],
    [{ name: 'a' }, 'MISSING_PARAMETER', 'components'],
    [
      {
        name: 'a',
        components: [image, details],
        slides: [
          [image, details],
          [image, details],
        ],
      },
      'EXCLUSIVE_PARAMETERS',
      'components',
    ],
    [{ name: 'a', components: [image] }, 'INVALID_PARAMETER', 'components'],
    [{ name: 'a', components: [details] }, 'INVALID_PARAMETER', 'components'],
    [{ name: 'a', components: [image, details, button] }, 'INVALID_PARAMETER', 'components'],
    [{ name: 'a', components: [image, video, details] }, 'INVALID_PARAMETER', 'components'],
    [{ name: 'a', components: [{ type: 'MEDIA' }, details] }, 'MISSING_PARAMETER', 'components[0].media_key'],
    [{ name: 'a', components: [{ media_key: IMAGE }, details] }, 'MISSING_PARAMETER', 'components[0].type'],
    [{ name: 'a', components: [{ type: 'POSTER' }, details] }, 'INVALID_PARAMETER', 'components[0].type'],
    [{ name: 'a', components: [swipe(IMAGE), details] }, 'INVALID_PARAMETER', 'components[0].media_keys'],
    [{ name: 'a', components: [swipe(...Array<string>(7).fill(IMAGE)), details] }, 'INVALID_PARAMETER', 'components[0].media_keys'],
    [{ name: 'a', components: [image, { ...details, title: undefined }] }, 'MISSING_PARAMETER', 'components[1].title'],
    [{ name: 'a', components: [image, { ...details, destination: app }] }, 'INVALID_PARAMETER', 'components[1].destination'],
    [{ name: 'a', components: [image, { ...button, destination: details.destination }] }, 'INVALID_PARAMETER', 'components[1].destination'],
    [
      { name: 'a', components: [image, { ...button, label: { type: 'TEXT', value: 'OPEN' } }] },
      'INVALID_PARAMETER',
      'components[1].label.type',
    ],
    [
      { name: 'a', components: [image, { ...button, label: { type: 'ENUM', value: 'BUY' } }] },
      'INVALID_PARAMETER',
      'components[1].label.value',
    ],
    [
      { name: 'a', components: [image, { ...button, destination: { type: 'APP', country_code: 'US' } }] },
      'MISSING_PARAMETER',
      'components[1].destination.googleplay_app_id',
    ],
    [
      { name: 'a', components: [image, { ...button, destination: { ...app, country_code: 'USA' } }] },
      'INVALID_PARAMETER',
      'components[1].destination.country_code',
    ],
    [
      { name: 'a', components: [image, { ...button, destination: { ...app, ios_deep_link: 'mugs://' } }] },
      'INCLUSIVE_PARAMETERS',
      'components[1].destination.ios_deep_link',
    ],
    [{ name: 'a', components: [image, { ...details, colour: 'red' }] }, 'INVALID_PARAMETER', 'components[1].colour'],
    [{ name: 'a', colour: 'red', components: [image, details] }, 'INVALID_PARAMETER', 'colour'],
    [{ name: 'a', slides: [[image, details]] }, 'INVALID_PARAMETER', 'slides'],
    [{ name: 'a', slides: [] }, 'INVALID_PARAMETER', 'slides'],
    [
      {
        name: 'a',
        slides: [
          [image, details],
          [swipe(IMAGE, IMAGE), details],
        ],
      },
      'INVALID_PARAMETER',
      'slides[1]',
    ],
  ] as const)('a card %j is refused with %s for %s', async ([body, code, parameter]) => {
    expectRefusal(await account.json('POST', 'cards', body), [400, code, parameter])
  })

  test('each field given replaces the stored value, and the type follows', async () => {
    const { id } = (await account.json('POST', 'cards', { name: 'Old', components: [image, details] })).body.data as { id: string }
    expect((await account.json('PUT', `cards/${id}`, { name: 'New' })).body.data).toMatchObject({
      name: 'New',
      components: [image, details],
      card_type: 'IMAGE_WEBSITE',
    })
    expect((await account.json('PUT', `cards/${id}`, { components: [video, button] })).body.data).toMatchObject({
      name: 'New',
      components: [video, button],
      card_type: 'VIDEO_APP',
    })
    expectRefusal(await account.json('PUT', `cards/${id}`, { components: [video] }), [400, 'INVALID_PARAMETER', 'components'])
    expect((await account.get(`cards/${id}`)).body.data.components).toEqual([video, button])
  })

  test('one of each type is there, legacy ones only when asked for', async () => {
    const types = (await account.get('cards')).body.data.map((card: { card_type: string }) => card.card_type) as string[]
    expect(types.toSorted()).toEqual([...componentCardTypes].toSorted())
    expect((await account.get('cards', { include_legacy_cards: true, card_types: 'IMAGE_CONVERSATION' })).body.data.length).toBe(1)
    expect((await account.get('cards', { q: 'IMAGE App' })).body.data).toMatchObject([{ card_type: 'IMAGE_APP' }])
    expect((await account.get('cards', { q: 'app card' })).body.data).toEqual([])
    expectRefusal(await account.get('cards', { q: 'a'.repeat(81) }), [400, 'INVALID_PARAMETER', 'q'])
    expectRefusal(await account.get('cards', { card_types: 'POSTER' }), [400, 'INVALID_PARAMETER', 'card_types'])
  })

  test('cards of all kinds are found by their URIs', async () => {
    const uris = ['card://1503831318555086849', 'card://1503831318555086900', 'card://1503831318555087000', 'card://1']
    expect(
      (await account.get('cards/all', { card_uris: uris.join(',') })).body.data.map((card: { card_type: string }) => card.card_type),
    ).toEqual(['IMAGE_WEBSITE', 'TEXT_POLLS', 'VIDEO_CONVERSATION'])
    expectRefusal(await account.get('cards/all'), [400, 'MISSING_PARAMETER', 'card_uris'])
  })

  test('cards and legacy cards are deleted by their own paths', async () => {
    expect((await account.del('cards/1503831318555086849')).body.data.deleted).toBe(true)
    expectRefusal(await account.get('cards/1503831318555086849'), [404, 'CARD_NOT_FOUND', 'card_id'])
    expect((await account.get('cards/1503831318555086849', { with_deleted: true })).body.data.deleted).toBe(true)
    expect((await account.del('cards/image_conversation/1503831318555086800')).body.data).toMatchObject({
      card_type: 'IMAGE_CONVERSATION',
      deleted: true,
    })
    expectRefusal(await account.del('cards/image_conversation/1503831318555086800'), [404, 'CARD_NOT_FOUND'])
    expectRefusal(await account.del('cards/brochure/1'), [400, 'UNKNOWN_CARD_TYPE', 'card_type'])
  })
})

describe('media library', () => {
  test('terms are found in name, title, file name and description', async () => {
    const found = async (q: string) =>
      (await account.get('media_library', { q })).body.data.map((media: { name: string }) => media.name) as string[]
    expect(await found('SPRING')).toEqual(['Spring sale', 'Spring film'])
    expect(await found('film spring')).toEqual(['Spring film'])
    expect(await found('mp4 mug')).toEqual(['Spinning mug', 'Mug in use'])
    expect((await account.get('media_library', { media_type: 'GIF' })).body.data).toMatchObject([
      { media_category: 'TWEET_GIF', media_status: 'TRANSCODE_COMPLETED', duration: expect.any(Number) as number },
    ])
    expect((await account.get('media_library', { q: '*' })).body.data).toEqual([])
    expectRefusal(await account.get('media_library', { q: '' }), [400, 'INVALID_PARAMETER', 'q'])
    expectRefusal(await account.get('media_library', { q: 'a'.repeat(256) }), [400, 'INVALID_PARAMETER', 'q'])
    expectRefusal(await account.get('media_library', { media_type: 'AUDIO' }), [400, 'INVALID_PARAMETER', 'media_type'])
  })

  test('an amplify video in the library becomes pre-roll account media', async () => {
    const made = await account.post('media_library', {
      media_key: '13_1234567890123456789',
      name: 'Film',
      title: 'A film',
      description: 'Of mugs',
      poster_media_key: IMAGE,
    })
    expect(made.body.data).toMatchObject({
      media_type: 'VIDEO',
      media_category: 'AMPLIFY_VIDEO',
      title: 'A film',
      poster_media_key: IMAGE,
      aspect_ratio: '16:9',
      tweeted: false,
    })
    const prerolls = async (): Promise<string[]> =>
      (await account.get('account_media', { creative_types: 'PREROLL' })).body.data.map((media: { video_id: string }) => media.video_id)
    const before = await prerolls()
    expect(before).toContain('13_1234567890123456789')
    expectRefusal(await account.post('media_library', { media_key: '13_1234567890123456789' }), [400, 'INVALID_PARAMETER', 'media_key'])
    await account.del('media_library/13_1234567890123456789')
    expect((await account.post('media_library', { media_key: '13_1234567890123456789' })).status).toBe(200)
    expect(await prerolls()).toEqual(before)
  })

  test.for([
    [{}, 'MISSING_PARAMETER', 'media_key'],
    [{ media_key: 'x' }, 'INVALID_MEDIA_ID', 'media_key'],
    [{ media_key: '3_1', title: 'a' }, 'INVALID_PARAMETER', 'title'],
    [{ media_key: '3_1', description: 'a' }, 'INVALID_PARAMETER', 'description'],
    [{ media_key: '16_1', poster_media_key: IMAGE }, 'INVALID_PARAMETER', 'poster_media_key'],
    [{ media_key: '7_1', description: 'a'.repeat(201) }, 'INVALID_PARAMETER', 'description'],
    [{ media_key: '7_1', file_name: 'a'.repeat(256) }, 'INVALID_PARAMETER', 'file_name'],
    [{ media_key: '7_1', name: 'a'.repeat(101) }, 'INVALID_PARAMETER', 'name'],
    [{ media_key: '7_1', title: 'a'.repeat(71) }, 'INVALID_PARAMETER', 'title'],
    [{ media_key: '7_1', poster_media_key: VIDEO }, 'INVALID_IMAGE', 'poster_media_key'],
  ] as const)('adding %j is refused with %s for %s', async ([query, code, parameter]) => {
    expectRefusal(await account.post('media_library', query), [400, code, parameter])
  })

  test('objects are changed, unset by an empty value, and deleted', async () => {
    expect((await account.put(`media_library/${VIDEO}`, { title: 'T'.repeat(70), name: 'N' })).body.data).toMatchObject({
      title: 'T'.repeat(70),
      name: 'N',
    })
    expect((await account.put(`media_library/${VIDEO}`, { title: '' })).body.data).toMatchObject({ title: null, name: 'N' })
    expectRefusal(await account.put(`media_library/${IMAGE}`, { title: 'a' }), [400, 'INVALID_PARAMETER', 'title'])
    expect((await account.del(`media_library/${VIDEO}`)).body.data.deleted).toBe(true)
    expectRefusal(await account.get(`media_library/${VIDEO}`), [404, 'MEDIA_NOT_FOUND', 'media_key'])
  })
})

describe('poll cards', () => {
  const poll = { name: 'Poll', duration_in_minutes: 60, first_choice: 'Yes', second_choice: 'No' }

  test('closes after its duration, counted from its creation', async () => {
    const made = (await account.post('cards/poll', { ...poll, third_choice: 'Maybe' })).body.data
    expect(made).toMatchObject({
      card_type: 'TEXT_POLLS',
      first_choice: 'Yes',
      second_choice: 'No',
      third_choice: 'Maybe',
      duration_in_minutes: 60,
      card_uri: `card://${made.id}`,
    })
    expect(made).not.toHaveProperty('fourth_choice')
    expect([made.start_time, Date.parse(made.end_time) - Date.parse(made.start_time)]).toEqual([made.created_at, 3_600_000])
    expect((await account.get(`cards/poll/${made.id}`)).body.data).toEqual(made)
  })

  test.for([
    [{ duration_in_minutes: 4 }, 'INVALID_PARAMETER', 'duration_in_minutes'],
    [{ duration_in_minutes: 10_081 }, 'INVALID_PARAMETER', 'duration_in_minutes'],
    [{ first_choice: 'a'.repeat(26) }, 'INVALID_PARAMETER', 'first_choice'],
    [{ fourth_choice: 'd' }, 'MISSING_PARAMETER', 'third_choice'],
    [{ third_choice: '', fourth_choice: 'd' }, 'MISSING_PARAMETER', 'third_choice'],
    [{ name: 'a'.repeat(81) }, 'INVALID_PARAMETER', 'name'],
    [{ media_key: IMAGE }, 'FEATURE_NOT_AVAILABLE', 'media_key'],
  ] as const)('a poll with %j is refused with %s for %s', async ([change, code, parameter]) => {
    expectRefusal(await account.post('cards/poll', { ...poll, ...change }), [400, code, parameter])
  })

  test('an empty choice or media key is none', async () => {
    const made = await account.post('cards/poll', { ...poll, third_choice: '', fourth_choice: '', media_key: '' })
    expect(made.body.data, made.text).toMatchObject({ card_type: 'TEXT_POLLS', third_choice: null, fourth_choice: null })
  })

  test.for(['duration_in_minutes', 'first_choice', 'second_choice', 'name'] as const)('a poll without %s is refused', async (name) => {
    const { [name]: _, ...rest } = poll
    expectRefusal(await account.post('cards/poll', rest), [400, 'MISSING_PARAMETER', name])
  })

  test('media polls need the feature and a wide image of ratio 1.91:1', async () => {
    const media = accountCalls(sandbox, '18ce55media')
    await media.post('media_library', { media_key: IMAGE })
    await media.post('media_library', { media_key: VIDEO })
    expect((await media.post('cards/poll', { ...poll, media_key: IMAGE })).body.data).toMatchObject({
      media_key: IMAGE,
      media_url: expect.stringContaining(IMAGE) as string,
    })
    expectRefusal(await media.post('cards/poll', { ...poll, media_key: VIDEO }), [400, 'INVALID_IMAGE', 'media_key'])
    expectRefusal(await media.post('cards/poll', { ...poll, media_key: SQUARE }), [404, 'MEDIA_NOT_FOUND', 'media_key'])
  })

  test('cannot be updated', async () => {
    expect((await account.put('cards/poll/1503831318555086900', { name: 'a' })).status).toBe(405)
    expect((await account.del('cards/poll/1503831318555086900')).body.data.deleted).toBe(true)
    expect((await account.get('cards/poll', { q: 'BREAK' })).body.data).toEqual([])
    expect((await account.get('cards/poll', { q: 'BREAK', with_deleted: true })).body.data.length).toBe(1)
  })
})

describe('video conversation cards', () => {
  const card = {
    first_cta: `#${'a'.repeat(20)}`,
    first_cta_tweet: 'One',
    media_key: VIDEO,
    name: 'Talk',
    thank_you_text: 'Thanks',
    title: 'Which?',
  }

  test('is created, changed, unset and deleted', async () => {
    const made = (await account.post('cards/video_conversation', { ...card, unlocked_image_media_key: IMAGE })).body.data
    expect(made).toMatchObject({
      ...card,
      card_type: 'VIDEO_CONVERSATION',
      second_cta: null,
      media_url: expect.any(String) as string,
      video_owner_id: '1001',
    })
    expect(made).not.toHaveProperty('unlocked_image_media_key')
    const path = `cards/video_conversation/${made.id}`
    expect((await account.put(path, { second_cta: '#b', second_cta_tweet: 'Two', title: '' })).body.data).toMatchObject({
      second_cta: '#b',
      title: null,
      first_cta_tweet: 'One',
    })
    expectRefusal(await account.put(path, { second_cta: '', second_cta_tweet: '' }), [400, 'MISSING_PARAMETER', 'title'])
    expect((await account.del(path)).body.data.deleted).toBe(true)
    expectRefusal(await account.del(path), [404, 'CARD_NOT_FOUND', 'card_id'])
  })

  test.for(['first_cta', 'first_cta_tweet', 'media_key', 'name', 'thank_you_text', 'title'] as const)('%s is required', async (name) => {
    const { [name]: _, ...rest } = card
    expectRefusal(await account.post('cards/video_conversation', rest), [400, 'MISSING_PARAMETER', name])
  })

  test.for([
    [{ first_cta: 'a'.repeat(21) }, [400, 'INVALID_PARAMETER', 'first_cta']],
    [{ title: 'a'.repeat(24) }, [400, 'INVALID_PARAMETER', 'title']],
    [{ thank_you_text: 'a'.repeat(24) }, [400, 'INVALID_PARAMETER', 'thank_you_text']],
    [{ second_cta: '#b' }, [400, 'MISSING_PARAMETER', 'second_cta_tweet']],
    [{ third_cta: '#b' }, [400, 'MISSING_PARAMETER', 'third_cta_tweet']],
    [{ fourth_cta: '#b' }, [400, 'MISSING_PARAMETER', 'fourth_cta_tweet']],
    [{ media_key: '7_99' }, [404, 'MEDIA_NOT_FOUND', 'media_key']],
    [{ media_key: IMAGE }, [400, 'INVALID_MEDIA', 'media_key']],
  ] as const)('%j is refused', async ([change, expected]) => {
    expectRefusal(await account.post('cards/video_conversation', { ...card, ...change }), expected)
  })
})

test('creatives of another account are out of reach', async () => {
  const other = await sandbox.call('GET', '/12/accounts/abc1/cards')
  expectRefusal(other, [403, 'ACCOUNT_NOT_FOUND'])
  expect(other.body.errors[0].message).toBe('Account abc1 was not found')
  expect((await accountCalls(sandbox, '18ce55media').get('cards')).body.data).toEqual([])
})

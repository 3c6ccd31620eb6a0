/** The typed client against the sandbox in creatives, campaigns, posts and webhooks: client, sandbox and contract agree. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, type Client } from '../../src/service/client/index.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'
import { webhookEndpoint } from '../support/webhookEndpoint.ts'

const account_id = '18ce54d4x5t'

const sandbox = sharedSandbox()
let client: Client
beforeAll(() => {
  client = createClient({ baseUrl: sandbox.url, ...sandbox.credentials })
})
afterAll(() => client.close())

test('lists are read over all their pages', async () => {
  const names: (string | null)[] = []
  for await (const item of client.lineItems.list({ account_id, count: 4, sort_by: ['name-asc'] })) names.push(item.name)
  expect(names.length).toBe(11)
  expect(names).toEqual(names.toSorted())
  expect(await client.cards.list({ account_id, count: 5, include_legacy_cards: true }).toArray()).toHaveLength(14)
})

test('a refusal names the parameter and the rule', async () => {
  await expect(client.lineItems.update({ account_id, line_item_id: '9cqi0', bid_strategy: 'MAX' })).rejects.toMatchObject({
    code: 'SERVICE_INVALID_PARAMETER',
    status: 400,
    hint: expect.stringContaining('bid_amount_local_micro') as string,
  })
  await expect(client.lineItems.get({ account_id, line_item_id: 'none' })).rejects.toMatchObject({ code: 'SERVICE_NOT_FOUND' })
})

test('cards, media and posts are created and read', async () => {
  const card = await client.cards.create({
    account_id,
    name: 'A card',
    components: [
      { type: 'MEDIA', media_key: '3_1146654567674912769' },
      { type: 'DETAILS', title: 'Mugs', destination: { type: 'WEBSITE', url: 'https://shop.example' } },
    ],
  })
  expect(card).toMatchObject({ card_type: 'IMAGE_WEBSITE' })
  const post = await client.advertiserPosts.create({ account_id, as_user_id: '1001', text: 'Dogs, Cats & Mice ☃', card_uri: card.card_uri })
  const found = await client.posts.lookup({ ids: [post.id_str], 'tweet.fields': ['card_uri'], expansions: ['author_id'] })
  expect(found).toMatchObject({
    data: [{ id: post.id_str, text: 'Dogs, Cats & Mice ☃', card_uri: card.card_uri }],
    includes: { users: [{ id: '1001' }] },
  })
})

test('a post that the user may not make is not blamed on the application', async () => {
  await expect(client.posts.create({ text: 'Uninvited', reply: { in_reply_to_tweet_id: '1166476031668015109' } })).rejects.toMatchObject({
    code: 'SERVICE_FORBIDDEN',
    message: expect.stringContaining('the author of the post has not mentioned you') as string,
  })
  const { body: user } = await sandbox.control.request('POST', 'users', { screen_name: 'writer', premium: false })
  const writer = createClient({
    baseUrl: sandbox.url,
    ...sandbox.credentials,
    accessToken: user.oauth_token,
    accessTokenSecret: user.oauth_token_secret,
  })
  const first = await writer.posts.create({ text: 'Frist' })
  await expect(writer.posts.create({ text: 'First', edit_options: { previous_post_id: first.data?.id ?? '' } })).rejects.toMatchObject({
    code: 'SERVICE_FORBIDDEN',
    message: expect.stringContaining('premium') as string,
  })
  await writer.close()
})

test('batches are all or nothing', async () => {
  const body = [
    { operation_type: 'Update', params: { campaign_id: '8wku2', name: 'Changed' } },
    { operation_type: 'Delete', params: { campaign_id: 'none' } },
  ] as const
  await expect(client.campaigns.batch({ account_id, body })).rejects.toMatchObject({ issues: [expect.objectContaining({ index: 1 })] })
  expect(await client.campaigns.get({ account_id, campaign_id: '8wku2' })).toMatchObject({ name: 'Spring mugs' })
  expect(await client.campaigns.batch({ account_id, body: body.slice(0, 1) })).toMatchObject([{ name: 'Changed' }])
})

test('webhooks are registered, checked and removed with the app-only token', async () => {
  await using endpoint = await webhookEndpoint()
  await sandbox.control.switches({ webhook_dev_urls: 'on' })
  // The reset gave the sandbox new tokens, so this client must fetch one.
  const own = createClient({ baseUrl: sandbox.url, adsBaseUrl: sandbox.url, adsVersion: '12', ...sandbox.credentials })
  const webhook = await own.webhooks.create({ url: endpoint.url })
  expect(webhook).toMatchObject({ data: { url: endpoint.url, valid: true } })
  expect(await own.webhooks.check({ webhook_id: String((webhook as { data: { id: string } }).data.id) })).toEqual({ data: { valid: true } })
  endpoint.challenge = 'wrong-token'
  await expect(own.webhooks.check({ webhook_id: String((webhook as { data: { id: string } }).data.id) })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('CrcValidationFailed') as string,
  })
  await own.close()
})

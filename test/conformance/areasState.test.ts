/** `--state FILE`: what was written in creatives, campaigns, posts and webhooks is the same after a restart. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { accountCalls } from '../support/account.ts'
import { bearerOf, withSandbox, type SandboxUnderTest } from '../support/sandbox.ts'
import { webhookEndpoint } from '../support/webhookEndpoint.ts'
import { target } from '../support/target.ts'

async function everything(sandbox: SandboxUnderTest): Promise<Record<string, unknown>> {
  const account = accountCalls(sandbox)
  const paths = [
    'account_media',
    'cards',
    'media_library',
    'cards/poll',
    'cards/video_conversation',
    'campaigns',
    'line_items',
    'funding_instruments',
    'promoted_tweets',
    'features',
    'scheduled_tweets',
    'draft_tweets',
  ]
  const answers = await Promise.all(
    paths.map(
      async (path) =>
        [
          path,
          (
            await account.get(
              path,
              path === 'features' ||
                path === 'media_library' ||
                path === 'cards' ||
                (path.endsWith('_tweets') && path !== 'promoted_tweets')
                ? {}
                : { with_deleted: true },
            )
          ).text,
        ] as const,
    ),
  )
  const posts = (await account.get('tweets', { tweet_type: 'PUBLISHED' })).text
  const accounts = (await sandbox.call('GET', '/12/accounts', { query: { with_deleted: true } })).text
  const webhooks = (await sandbox.call('GET', '/2/webhooks', { bearer: await bearerOf(sandbox) })).text
  return { ...Object.fromEntries(answers), posts, accounts, webhooks }
}

test.skipIf(target !== undefined)('a restart keeps every record, and continues the ids', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-sandbox-'))
  await using endpoint = await webhookEndpoint()
  try {
    const stateFile = join(directory, 'state')
    const first = await withSandbox({ stateFile })
    const account = accountCalls(first)
    await first.control.switches({ webhook_dev_urls: 'on' })
    const bearer = await bearerOf(first)
    const webhook = await first.call('POST', '/2/webhooks', { json: { url: endpoint.url }, bearer })
    await account.post('campaigns', { funding_instrument_id: 'lygyi', name: 'Kept', total_budget_amount_local_micro: '9007199254740995' })
    await account.put('line_items/9cqi0', { name: 'Kept too' })
    await account.del('line_items/9cqi1')
    await account.post('media_library', { media_key: '13_77' })
    await account.json('POST', 'cards', {
      name: 'Kept card',
      components: [
        { type: 'MEDIA', media_key: '3_77' },
        { type: 'DETAILS', title: 'a', destination: { type: 'WEBSITE', url: 'https://shop.example' } },
      ],
    })
    await account.batch('campaigns', [
      { operation_type: 'Create', params: { funding_instrument_id: 'lygyi', name: 'x' } },
      { operation_type: 'Create', params: {} },
    ])
    await account.post('tweet', { as_user_id: '1001', text: 'Kept post' })
    await account.post('scheduled_tweets', { as_user_id: '1001', text: 'Soon', scheduled_at: new Date(Date.now() + 60_000).toISOString() })
    await first.control.advance(61)
    await first.call('POST', '/12/accounts')
    endpoint.challenge = 'wrong-token'
    await first.call('PUT', `/2/webhooks/${webhook.body.data.id}`, { bearer })
    const before = await everything(first)
    await first.close()

    await using second = await withSandbox({ stateFile })
    expect(await everything(second)).toEqual(before)
    expect(JSON.parse(String(before['webhooks'])).data[0].valid).toBe(false)
    const made = (await accountCalls(second).post('tweet', { as_user_id: '1001', text: 'Later' })).body.data.id_str as string
    expect(String(before['posts'])).not.toContain(made)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})

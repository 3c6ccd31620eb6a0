/** Calls as official SDKs send them, against a sandbox with its default switches. */
import { beforeEach, describe, expect, test } from 'vitest'
import { sdkCalls, type SdkCall } from '../support/sdkCalls.ts'
import { authorization } from '../support/signer.ts'
import { readAnswer, type CallResult, type Loose } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const sandbox = sharedSandbox()
const account = '/12/accounts/18ce54d4x5t'
const HOUR = 3_600_000
const words: Record<string, string> = { account: '18ce54d4x5t' }

const timeIn = (hours: number): string =>
  encodeURIComponent(new Date(Math.floor(Date.now() / HOUR) * HOUR + hours * HOUR).toISOString().replace('.000Z', 'Z'))

beforeEach(async () => {
  const make = async (path: string, query: Record<string, string>): Promise<string> => {
    const { body } = await sandbox.call('POST', `${account}/${path}`, { query })
    return String(body.data.id_str ?? body.data.id)
  }
  const inTwoDays = decodeURIComponent(timeIn(48))
  Object.assign(words, {
    campaign: await make('campaigns', {
      funding_instrument_id: 'lygyi',
      name: 'my first campaign',
      daily_budget_amount_local_micro: '1000000',
      entity_status: 'PAUSED',
    }),
    audience: await make('custom_audiences', { name: 'theirs' }),
    scheduled: await make('scheduled_tweets', { as_user_id: '1001', text: 'Future', scheduled_at: inTwoDays }),
    draft: await make('draft_tweets', { as_user_id: '1001', text: 'draft' }),
    poll: await make('cards/poll', { duration_in_minutes: '60', first_choice: 'a', second_choice: 'b', name: 'poll' }),
    conversation: await make('cards/video_conversation', {
      name: 'vc',
      title: 'Cups',
      first_cta: '#mugs',
      first_cta_tweet: 'I like mugs',
      thank_you_text: 'Thanks',
      media_key: '13_1146655105555005441',
    }),
    in1day: timeIn(24),
    in2days: timeIn(48),
    in5days: timeIn(120),
    weekAgo: timeIn(-168),
    thisHour: timeIn(0),
  })
})

async function send({ method, target, json }: SdkCall): Promise<CallResult> {
  const url = `${sandbox.url}${target.replaceAll(/\{(\w+)\}/g, (_, word: string) => words[word] ?? word)}`
  const headers = { authorization: authorization({ method, url }), ...(json === undefined ? {} : { 'content-type': 'application/json' }) }
  return readAnswer(await fetch(url, { method, headers, ...(json === undefined ? {} : { body: JSON.stringify(json) }) }))
}

const named = sdkCalls.map((call, index) => [`${index + 1}: ${call.method} ${call.target.split('?')[0]}`, call] as const)

describe('a call of an official SDK works', () => {
  test.for(named.filter(([, call]) => call.refused === undefined))('%s', async ([, call]) => {
    const answer = await send(call)
    expect(answer.status, answer.text).toBe(200)
  })
})

describe('what is not served is refused by name', () => {
  test.for(named.filter(([, call]) => call.refused !== undefined))('%s', async ([, call]) => {
    const answer = await send(call)
    const [error]: Loose[] = answer.body.errors
    expect([answer.status, error.code]).toEqual(call.refused)
    expect(error.message).toMatch(/required|Expected|need|not allowed|not found|outside the specification|deprecated: call \//)
  })
})

/** Texts of alerts for Slack. */
import { expect, test } from 'vitest'
import { slackBody } from '../../../src/alerts/message.ts'

const alert = {
  event: 'failed' as const,
  state: 'firing' as const,
  pipeline: 'shop',
  runId: null,
  planId: null,
  code: 'X',
  message: '',
  hint: '',
  counts: {},
  link: 'https://ops.example.com/',
  at: '2026-01-01T00:00:00.000Z',
  service: null,
  credentials: null,
}

test('a section of Slack has at most 3,000 characters, also with a long link and environment', () => {
  const link = `https://ops.example.com/${'p'.repeat(150)}`
  const body = { ...alert, link, service: 'https://ads.example.com', credentials: `user 7 of application aa in /srv/${'f'.repeat(120)}` }
  const text = `FAILED shop: ${'x'.repeat(5_000)}`
  const { blocks } = slackBody({ subject: 'FAILED shop', text, link, body }) as { blocks: [{ text: { text: string } }] }
  expect(blocks[0].text.text).toHaveLength(3_000)
  expect(blocks[0].text.text).toContain(body.credentials)
})

test('a long text for Slack ends with a whole character', () => {
  const body = alert
  for (let start = 0; start < 5; start++) {
    const text = `FAILED shop${' '.repeat(start)}${'&'.repeat(2_000)}`
    const sent = JSON.stringify(slackBody({ subject: 'FAILED shop', text, link: body.link, body }))
    expect(sent.replaceAll('&amp;', '')).not.toContain('&')
    const pairs = `FAILED shop${' '.repeat(start)}${'😀'.repeat(2_000)}`
    expect(JSON.stringify(slackBody({ subject: 'FAILED shop', text: pairs, link: body.link, body }))).not.toContain(String.raw`\ud83d`)
  }
})

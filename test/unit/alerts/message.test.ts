/** Texts of alerts for Slack. */
import { expect, test } from 'vitest'
import { slackBody } from '../../../src/alerts/message.ts'

test('a long text for Slack ends with a whole character', () => {
  const body = {
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
  for (let start = 0; start < 5; start++) {
    const text = `FAILED shop${' '.repeat(start)}${'&'.repeat(2_000)}`
    const sent = JSON.stringify(slackBody({ subject: 'FAILED shop', text, link: body.link, body }))
    expect(sent.replaceAll('&amp;', '')).not.toContain('&')
    const pairs = `FAILED shop${' '.repeat(start)}${'😀'.repeat(2_000)}`
    expect(JSON.stringify(slackBody({ subject: 'FAILED shop', text: pairs, link: body.link, body }))).not.toContain(String.raw`\ud83d`)
  }
})

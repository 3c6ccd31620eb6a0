/** Texts of alerts for Slack. */
import { expect, test } from 'vitest'
import { alertMessage, slackBody } from '../../../src/alerts/message.ts'

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
  const environment = `https://ads.example.com as user 7 of application aa in /srv/${'f'.repeat(120)}`
  const text = `FAILED shop: ${'x'.repeat(5_000)}`
  const { blocks } = slackBody({ subject: 'FAILED shop', text, link, environment, body: alert }) as { blocks: [{ text: { text: string } }] }
  expect(blocks[0].text.text).toHaveLength(3_000)
  expect(blocks[0].text.text).toContain(environment)
})

test('messages name their environment only if the schema has several; the body always does', () => {
  const detail = { code: 'X', message: 'no file', hint: '', counts: {} }
  const delivery = { id: 1, alertId: '1', receiver: 'ops', state: 'firing' as const, event: 'failed', attempts: 1, recoveredAt: null }
  const of = { ...delivery, service: 'https://ads.example.com', credentials: 'user 7', pipeline: 'shop', detail, firedAt: new Date(0) }
  const messages = [false, true].map((hasSeveralEnvironments) => alertMessage({ ...of, hasSeveralEnvironments }, 'https://ops.example.com'))
  const sections = messages.map((message) => (slackBody(message) as { blocks: [{ text: { text: string } }] }).blocks[0].text.text)
  expect(sections).toEqual([
    '*FAILED shop*: no file\n<https://ops.example.com/|Open shop>',
    '*FAILED shop*: no file\n<https://ops.example.com/|Open shop> · https://ads.example.com as user 7',
  ])
  for (const { body } of messages) expect(body).toMatchObject({ service: 'https://ads.example.com', credentials: 'user 7' })
})

test('a long text for Slack ends with a whole character', () => {
  const body = alert
  for (let start = 0; start < 5; start++) {
    const text = `FAILED shop${' '.repeat(start)}${'&'.repeat(2_000)}`
    const sent = JSON.stringify(slackBody({ subject: 'FAILED shop', text, link: body.link, environment: '', body }))
    expect(sent.replaceAll('&amp;', '')).not.toContain('&')
    const pairs = `FAILED shop${' '.repeat(start)}${'😀'.repeat(2_000)}`
    expect(JSON.stringify(slackBody({ subject: 'FAILED shop', text: pairs, link: body.link, environment: '', body }))).not.toContain(
      String.raw`\ud83d`,
    )
  }
})

/** Real files (test/fixtures/inputs/README.md) through whole runs. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { catalogYaml, engineUnderTest, imbalance } from '../../support/engine.ts'

const fixture = (name: string) => readFileSync(new URL(`../../fixtures/inputs/${name}`, import.meta.url))

test('two exports of a real shop are a first sync and a changed second one', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml.gz'))
  engine.write('feed.xml.gz', fixture('mevlana-source.xml.gz'))
  const first = await engine.run('shop')
  expect(first).toMatchObject({ status: 'succeeded', counts: { read: 218, rejected: 6, valid: 212, confirmed: 212 } })
  expect(imbalance(first.counts)).toEqual([])

  engine.write('feed.xml.gz', fixture('mevlana-tr.xml.gz'))
  const second = await engine.run('shop')
  expect(second.counts).toMatchObject({ read: 216, rejected: 6, valid: 210 })
  expect(imbalance(second.counts)).toEqual([])
  expect(second.warnings?.map(({ code }) => code)).toContain('BRAND_SAME')
  expect(await engine.sandbox.control.violations()).toEqual([])
})

test('members have all their emails and phones as identifiers', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'crm',
    'source: { url: "{folder}/members.csv" }\nmap: { key: email_1, email: [email_1, email_2, email_3], phone_number: [phone_1, phone_2, phone_3] }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n',
  )
  engine.write('members.csv', fixture('members.csv'))
  const report = await engine.run('crm')
  expect(report).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } })
  expect(imbalance(report.counts)).toEqual([])
  expect((await engine.sandbox.control.audience()).members).toBe(report.counts.valid)
})

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dueTicks } from '../../../src/jobs/cronTicks.ts'
import { resolvePipeline } from '../../../src/pipeline/resolve.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { audience, csvOf, goodProduct, through } from '../../support/through.ts'

test('case 136: a column with a name like SQL is an ordinary column', async () => {
  const name = 'id"; DROP TABLE x; --'
  const { id, ...others } = goodProduct
  expect((await through(csvOf([{ [name]: id, ...others }]), { map: { id: name } })).products[0]?.['id']).toBe('SKU-1')
})

test('case 136: a text with characters of a pattern is replaced as plain text', async () => {
  const map = { title: { column: 'title', transform: { replace: { from: '(a+)+$', to: '$&' } } } }
  const { products } = await through(csvOf([{ ...goodProduct, title: `${'a'.repeat(60)}! (a+)+$` }]), { map })
  expect(products[0]?.['title']).toBe(`${'a'.repeat(60)}! $&`)
})

test('case 139: a schedule of every second has a bounded number of due ticks after a day of downtime', () => {
  expect(
    dueTicks({ cron: '* * * * * *', timezone: 'UTC' }, new Date('2026-01-01T00:00:00Z'), new Date('2026-01-02T00:00:00Z')),
  ).toHaveLength(1_000)
})

test('case 140: names of prototypes in a mapping are unknown fields, and no property is inherited', () => {
  const input = JSON.parse(
    '{"source":"a.csv","map":{"key":"id","email":"email","__proto__":{"polluted":"yes"},"constructor":"x"},"destination":{}}',
  ) as Record<string, unknown>
  const { problems } = resolvePipeline({ ...input, destination: audience }, 'crm', 'crm.yaml')
  expect(problems.map(({ path }) => path)).toContain('map.constructor')
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test('case 140: a pipeline file above 10 MB is rejected', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-hostile-'))
  try {
    writeFileSync(join(folder, 'big.yaml'), `# ${'x'.repeat(10 * 1024 * 1024)}\n`)
    await expect(loadPipeline(folder, 'big')).rejects.toThrow(/10/)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

/** A plan that can be reviewed: every key with its action, what changes, and why something is deleted. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { customersYaml, feed, json, product, shopYaml, workspace } from './workspace.ts'

test('plan writes every change with fields before and after, and show lists them for the plan id', async () => {
  await using space = await workspace()
  space.write('pipelines/shop.yaml', shopYaml)
  space.write('feed.csv', feed(3))
  await space.here(['run', 'shop'])
  // SKU-1 costs more, SKU-3 is missing, SKU-9 is new.
  const [header = ''] = feed(0).split('\n')
  space.write('feed.csv', [header, product(1, '29.99 EUR'), product(2), product(9), ''].join('\n'))
  expect((await space.here(['plan', 'shop', '--out', 'plan.json'])).code).toBe(0)
  const { planId, changes } = JSON.parse(readFileSync(join(space.folder, 'plan.json'), 'utf8'))
  expect(changes).toEqual([
    { key: 'SKU-3', action: 'delete', fields: [], reason: 'its row is not in the source', line: 4 },
    { key: 'SKU-1', action: 'update', fields: [{ field: 'price', before: '19.99 EUR', after: '29.99 EUR' }], line: 2 },
    { key: 'SKU-9', action: 'create', fields: expect.arrayContaining([{ field: 'price', before: null, after: '19.99 EUR' }]), line: 4 },
  ])
  expect(json(await space.here(['show', planId, '--changes', '--json'])).changes).toEqual(changes)
  const shown = (await space.here(['show', planId, '--changes'])).stdout
  expect(shown).toMatch(/^~ update {3}SKU-1 {2}price: 19\.99 EUR → 29\.99 EUR {3}line 2$/m)
  expect((await space.here(['show', planId, '--markdown'])).stdout).toContain('| update | SKU-1 | price: 19.99 EUR → 29.99 EUR |')
  expect((await space.here(['show', planId])).stdout).toMatch(/^ {2}not sent +3$/m)
  // After it was sent, the plan shows the run that sent it, and still its changes.
  await space.here(['apply', planId])
  expect((await space.here(['show', planId])).stdout).toMatch(/^shop r_3 .* apply [^]*^ {2}confirmed +3$/m)
  expect((await space.here(['show', planId, '--changes'])).stdout).toContain('price: 19.99 EUR → 29.99 EUR')
}, 60_000)

test('show --changes says why it lists no change', async () => {
  await using space = await workspace()
  space.write('pipelines/shop.yaml', shopYaml)
  const failed = json(await space.here(['run', 'shop', '--json']))
  const shown = await space.here(['show', failed.runId, '--changes'])
  expect(shown).toMatchObject({
    code: 0,
    stdout: `${failed.runId} has no plan, so it has no changes\nNext  sluice show ${failed.runId}\n`,
  })
  space.write('feed.csv', feed(1))
  await space.here(['run', 'shop'])
  const { runId, planId } = json(await space.here(['run', 'shop', '--json']))
  expect((await space.here(['show', runId, '--changes'])).stdout).toBe(`plan ${planId} has no changes\nNext  sluice show ${runId}\n`)
}, 60_000)

test('several pipelines and globs are planned in one call; people are shown by shortened digests only', async () => {
  await using space = await workspace()
  space.write('pipelines/shop.yaml', shopYaml)
  space.write('pipelines/customers.yaml', customersYaml)
  space.write('feed.csv', feed(1))
  space.write('crm.csv', 'customer_id,email,phone\nc1,ann@example.com,+1-212-555-0101\nc2,bob@example.com,\n')
  await space.here(['run', 'customers'])
  space.write('crm.csv', 'customer_id,email,phone\nc1,ann@example.com,+1-212-555-0102\n')

  const { code, stdout } = await space.here(['plan', '*', '--out', 'plans.json', '--json'])
  expect([code, json({ code, stdout, stderr: '' }).map(({ pipeline }: { pipeline: string }) => pipeline)]).toEqual([
    0,
    ['customers', 'shop'],
  ])
  const text = readFileSync(join(space.folder, 'plans.json'), 'utf8')
  const [people] = JSON.parse(text)
  const masked = expect.stringMatching(/^(email|phone_number) [0-9a-f]{12}…$/) as string
  expect(people.changes).toEqual(
    expect.arrayContaining([
      {
        key: expect.stringMatching(/^[0-9a-f]{32}$/),
        action: 'delete',
        fields: [{ field: 'identifiers', before: [masked], after: [] }],
        reason: 'its row has other identifiers now',
        line: 2,
      },
      expect.objectContaining({
        action: 'delete',
        reason: 'no row that may be sent has these identifiers (row missing, or without consent)',
      }),
      expect.objectContaining({ action: 'update', fields: [{ field: 'identifiers', before: [masked, masked], after: [masked, masked] }] }),
    ]),
  )
  expect(text).not.toMatch(/@example|555/)
  const markdown = (await space.here(['plan', 'shop', 'customers', '--markdown', '--out', 'plans.md'])).stdout
  expect(markdown.match(/^### /gm)).toHaveLength(2)
  expect(readFileSync(join(space.folder, 'plans.md'), 'utf8').match(/^### /gm)).toHaveLength(2)
}, 60_000)

/** `sluice audit` as a process: output, exit code, and what `show`, `runs` and `explain` report afterwards. */
import { expect, test } from 'vitest'
import { product } from '../../support/product.ts'
import { putBehind, removeBehind } from '../../support/thirdParty.ts'
import { customersYaml, feed, json, shopYaml, workspace, type Workspace } from './workspace.ts'

async function shop(): Promise<Workspace> {
  const there = await workspace()
  there.write('pipelines/shop.yaml', shopYaml)
  there.write('feed.csv', feed(4))
  expect((await there.here(['run', 'shop'])).code).toBe(0)
  return there
}

async function meddle(there: Workspace): Promise<void> {
  const [first] = await there.sandbox.control.products()
  const { product_key: _, ...fields } = first
  await putBehind(there, { ...fields, price: '0.99 EUR' }, product('STRANGER'))
  await removeBehind(there, 'SKU-3')
}

test('an unchanged catalog exits 0; a changed one exits 3 and shows product, field and the next command', async () => {
  await using there = await shop()
  const same = await there.here(['audit', 'shop'])
  expect(same.code).toBe(0)
  expect(same.stdout).toMatch(
    /^shop r_2 {3}4 products listed in 1 request {3}\S+ s\n {2}= same {8}4\n {2}~ changed {5}0\n {2}- not listed  0\n$/,
  )

  await meddle(there)
  const found = await there.here(['audit', 'shop'])
  expect(found.code).toBe(3)
  expect(found.stdout.split('\n').slice(1)).toEqual([
    '  = same        2',
    '  ~ changed     1  price 1',
    '  - not listed  1  confirmed before',
    '  + unmanaged   1  not written by this pipeline; never touched',
    'changed  SKU-1  price  confirmed "19.99 EUR", listed "0.99 EUR"',
    'not listed  SKU-3',
    'unmanaged  STRANGER',
    'Next  sluice audit shop --repair',
    '',
  ])
})

test('apply sends the plan of a repair; runs and explain report it', async () => {
  await using there = await shop()
  await meddle(there)
  const repair = await there.here(['audit', 'shop', '--repair', '--json'])
  expect(repair.code).toBe(3)
  const report = json(repair)
  expect(report).toMatchObject({
    trigger: 'audit',
    status: 'partial',
    drift: { listed: 4, same: 2, changed: 1, notListed: 1, hidden: 0, unmanaged: 1, unresolved: 0, waiting: 0 },
    counts: { creates: 1, updates: 1, deletes: 0, pending: 2, requests: 0 },
    requests: 1,
  })
  const shown = (await there.here(['show', report.runId])).stdout
  expect(shown).toMatch(/^shop r_2 {2}partial {2}audit /)
  expect(shown).toContain('  ~ changed     1\n')
  expect(shown).toContain('= 1 creates + 1 updates + 0 deletes')
  expect(shown).toMatch(new RegExp(`\nNext {2}sluice apply ${report.planId}\n$`))
  expect((await there.here(['runs', 'shop'])).stdout).toMatch(/^r_2 .* audit .* listed 4 {2}changed 1 {2}not listed 1$/m)

  const [changed, gone] = [await there.here(['explain', 'shop', 'SKU-1']), await there.here(['explain', 'shop', 'SKU-3'])]
  expect(changed.stdout).toMatch(/^Live: .*was listed with another content.* \(r_2\)/)
  expect(gone.stdout).toMatch(/^Not live: .*was no longer listed.* \(r_2\)/)

  const said = await there.here(['audit', 'shop', '--repair'])
  const [, planId = ''] = /^Next {2}sluice apply (p_\w+)$/m.exec(said.stdout) ?? []
  expect((await there.here(['apply', planId])).code).toBe(0)
  expect((await there.here(['explain', 'shop', 'SKU-1'])).stdout).toMatch(/^Live: /)
  expect((await there.here(['audit', 'shop'])).code).toBe(0)
  expect((await there.sandbox.control.products()).map(({ id }) => id)).toEqual(['SKU-1', 'SKU-2', 'SKU-3', 'SKU-4', 'STRANGER'])
})

test('an audience or a list cannot be read back: exit 2, without a call of database or service', async () => {
  await using there = await workspace()
  there.write('pipelines/customers.yaml', customersYaml)
  there.write(
    'pipelines/optouts.yaml',
    'source: { url: crm.csv }\nmap: { email: email }\ndestination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }\n',
  )
  for (const [name, what] of [
    ['customers', 'audience 1nmth'],
    ['optouts', 'do-not-reach list 2dnr'],
  ] as const) {
    const said = await there.here(['audit', name, '--json'], { env: { DATABASE_URL: 'postgres://127.0.0.1:9/none' } })
    expect(said.code).toBe(2)
    expect(json(said).error).toMatchObject({
      code: 'CANNOT_READ_BACK',
      message: `${what} cannot be read back: the service lists no members. Nothing was read or sent.`,
      hint: `sluice run ${name} --full   (sends all members again)`,
    })
  }
})

test('a run in progress locks the pipeline: exit 5', async () => {
  await using there = await shop()
  const { control } = there.sandbox
  await control.fault({ method: 'GET', path: '/12/product_catalogs/4001/products' }, { kind: 'hold', name: 'page', stage: 'before_apply' })
  const first = there.run(['audit', 'shop', '--json'])
  while ((await control.holds()).length === 0) await new Promise((resolve) => setImmediate(resolve))
  const second = await there.here(['audit', 'shop'])
  expect(second.code).toBe(5)
  expect(second.stderr).toContain('error  PIPELINE_HELD')
  await control.release('page')
  expect((await first).code).toBe(0)
})

test('a service that does not list to the end: exit 1, and nothing was changed', async () => {
  await using there = await shop()
  await there.sandbox.control.fault(
    { method: 'GET', path: '/12/product_catalogs' },
    { kind: 'status', status: 404, body: { errors: [{ code: 'NOT_FOUND', message: 'no such catalog' }] } },
    'always',
  )
  const failed = await there.here(['audit', 'shop', '--repair', '--json'])
  expect(failed.code).toBe(1)
  expect(json(failed).error).toMatchObject({
    code: 'CATALOG_UNREADABLE',
    message: 'catalog 4001 could not be read back (NOT_FOUND: no such catalog). Nothing was changed or sent.',
    where: 'shop',
    hint: 'sluice doctor',
  })
})

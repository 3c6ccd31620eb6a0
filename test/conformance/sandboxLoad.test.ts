/** Many clients at the same time. Nothing that was answered is lost, and only real overlaps are violations. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { product } from '../support/product.ts'
import { withSandbox, type CallResult, type SandboxUnderTest } from '../support/sandbox.ts'
import { target } from '../support/target.ts'

const put = (sandbox: SandboxUnderTest, id: string): Promise<CallResult> =>
  sandbox.call('PUT', '/12/product_catalogs/4001/products', { json: { products: [product(id)] } })

test('the same bytes are a violation while the first request is on its way, not after its answer', async () => {
  await using sandbox = await withSandbox()
  const rules = async (): Promise<string[]> => (await sandbox.control.violations()).map(({ rule }) => rule)
  for (let n = 0; n < 20; n++) await put(sandbox, 'a')
  expect(await rules()).toEqual([])
  await sandbox.control.fault({ method: 'PUT' }, { kind: 'hold', name: 'first' })
  const first = put(sandbox, 'a')
  while ((await sandbox.control.holds()).length === 0);
  await put(sandbox, 'a')
  await sandbox.control.release('first')
  await first
  expect(await rules()).toContain('same_body_at_once')
})

test('a violation of same_body_at_once names a request that is in flight, also if the first one has ended', async () => {
  await using sandbox = await withSandbox()
  const holdNext = async (name: string, count: number): Promise<{ readonly answer: Promise<CallResult>; readonly seq: number }> => {
    await sandbox.control.fault({ method: 'PUT' }, { kind: 'hold', name })
    const answer = put(sandbox, 'a')
    await expect.poll(async () => (await sandbox.control.holds()).length).toBe(count)
    return { answer, seq: (await sandbox.control.ledger()).at(-1).seq }
  }
  const first = await holdNext('first', 1)
  const second = await holdNext('second', 2)
  await sandbox.control.release('first')
  await first.answer
  await put(sandbox, 'a')
  await sandbox.control.release('second')
  await second.answer
  const violations = (await sandbox.control.violations()).filter(({ rule }) => rule === 'same_body_at_once')
  expect(violations.map(({ detail }) => detail)).toEqual(
    [first.seq, second.seq].map((seq) => `the same bytes as request ${seq}, which is still in flight`),
  )
})

test.skipIf(target !== undefined)(
  '50 clients with 50 requests each lose nothing, also behind a restart',
  { tags: ['long'], timeout: 120_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-sandbox-'))
    try {
      const stateFile = join(folder, 'state.jsonl')
      const before = await withSandbox({ stateFile })
      await before.control.switches({ rate_limits: 'off' })
      const statuses = await Promise.all(
        Array.from({ length: 50 }, async (_, client) => {
          const own: number[] = []
          for (let n = 0; n < 50; n++) own.push((await put(before, `c${client}-${n}`)).status)
          return own
        }),
      )
      expect(statuses.flat().filter((status) => status !== 200)).toEqual([])
      expect(await before.control.violations()).toEqual([])
      expect((await before.control.stats())['products.put']).toMatchObject({ requests: 2_500, items: 2_500, by_status: { 200: 2_500 } })
      const kept = await before.control.catalog()
      expect(kept.products).toBe(2_500)
      await before.close()
      await using after = await withSandbox({ stateFile })
      expect(await after.control.catalog()).toEqual(kept)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
)

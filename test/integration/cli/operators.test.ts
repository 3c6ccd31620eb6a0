/** Pause, resume and cancel from the command line, and who did what in `show`. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { feed, json, shopYaml, workspace } from './workspace.ts'

const { username } = userInfo()

// Ten processes, one after the other.
test('a paused pipeline skips its runs with the reason, and show names who ran and who approved', { timeout: 150_000 }, async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(60))
  expect(json(await shop.here(['pause', 'shop', '--reason', 'feed is rebuilt', '--json']))).toEqual([
    { pipeline: 'shop', state: 'paused', changed: true },
  ])
  const skipped = await shop.here(['run', 'shop'])
  expect(skipped.code).toBe(5)
  expect(skipped.stdout).toContain('feed is rebuilt')
  expect(skipped.stdout).toContain('sluice resume shop')
  expect((await shop.here(['resume', 'shop'])).stdout).toBe('shop is resumed   sluice run shop\n')
  expect((await shop.here(['run', 'shop'])).code).toBe(0)
  shop.write('feed.csv', feed(40))
  expect((await shop.here(['run', 'shop'])).code).toBe(4)
  const approved = json(await shop.here(['run', 'shop', '--approve-deletes', '20', '--json']))
  expect(approved.counts.deletes).toBe(20)
  expect((await shop.here(['show', approved.runId])).stdout).toContain(`deletes.approved   ${username}`)
  expect(json(await shop.here(['show', approved.runId, '--json'])).actions).toMatchObject([
    { actor: expect.stringContaining(username), what: 'deletes.approved', detail: { approveDeletes: 20 } },
  ])
})

test('a long reason is not cut within a surrogate pair', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  expect((await shop.here(['pause', 'shop', '--reason', `${'x'.repeat(499)}😀`])).code).toBe(0)
  expect(await shop.db.query('select reason from sluice.pipeline_pause')).toEqual([{ reason: 'x'.repeat(499) }])
})

test('serve is not started for other machines without a token', async () => {
  await using shop = await workspace()
  const { code, stdout } = await shop.run(['serve', '--host', '0.0.0.0', '--port', '0', '--json'])
  expect([code, JSON.parse(stdout)]).toMatchObject([2, { error: { code: 'TOKEN_REQUIRED', where: '--host 0.0.0.0' } }])
  // Pasted into a shell, the hint writes a token that cannot be guessed.
  const [command = ''] = JSON.parse(stdout).error.hint.split('   (')
  execFileSync('sh', ['-c', command], { cwd: shop.folder })
  expect(readFileSync(join(shop.folder, '.env'), 'utf8')).toMatch(/^SLUICE_API_TOKEN=[0-9a-f]{64}$/m)
})

/** Recorded approvals of deletes: user, number, time. */
import { hostname, userInfo } from 'node:os'
import { expect, test } from 'vitest'
import { feed, json, shopYaml, workspace } from './workspace.ts'

test('an approval is recorded with number, user, host and time, and the result says how many were deleted', async () => {
  await using space = await workspace()
  space.write('pipelines/shop.yaml', shopYaml)
  space.write('feed.csv', feed(40))
  await space.here(['run', 'shop'])
  space.write('feed.csv', feed(20))
  const run = await space.here(['run', 'shop', '--approve-deletes', '25'])
  expect([run.code, run.stdout]).toEqual([0, expect.stringMatching(/succeeded confirmed=20 deleted=20\n/)])
  const who = `${userInfo().username}@${hostname()}`
  expect((await space.here(['show', 'r_2'])).stdout).toMatch(
    new RegExp(`^deletes\\.approved {3}${who} {3}\\d{4}-\\S+Z {3}up to 25 deletes$`, 'm'),
  )
  expect(json(await space.here(['show', 'r_2', '--json'])).actions).toEqual([
    expect.objectContaining({ what: 'deletes.approved', actor: who, detail: { approveDeletes: 25 } }),
  ])
}, 30_000)

import { expect, test } from 'vitest'
import { actionsOf, type FaultHooks, type HitRequest } from '../../../src/sandbox/faults/faultActions.ts'

test('a skewed clock ends with its request, even if the sandbox fails on it', async () => {
  const world = { skewMs: 0, machineNow: () => 0 }
  const seen: number[] = []
  const hooks = {
    apply: () => {
      seen.push(world.skewMs)
      throw new Error('a mistake in a handler')
    },
  }
  const request = { fault: { kind: 'clock_skew', s: 60 }, tools: { world } }
  const applied = actionsOf('clock_skew').apply?.(request as unknown as HitRequest, hooks as unknown as FaultHooks)
  await expect(applied).rejects.toThrow('a mistake in a handler')
  expect([seen, world.skewMs]).toEqual([[60_000], 0])
})

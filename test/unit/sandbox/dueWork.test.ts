import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { silentLogger } from '../../../src/log.ts'
import { fixedCredentials } from '../../../src/sandbox/area.ts'
import { areas } from '../../../src/sandbox/areas.ts'
import { namesOf } from '../../../src/sandbox/names.ts'
import { runDueWork } from '../../../src/sandbox/start.ts'
import { WorldState } from '../../../src/sandbox/state/world.ts'

test.for([
  [
    'throws',
    () => {
      throw new Error('broken')
    },
  ],
  ['rejects', () => Promise.reject(new Error('broken'))],
] as const)('an area whose due work %s is logged, and the work of the next area starts', async ([, onClock]) => {
  const [first, second] = areas
  if (first === undefined || second === undefined) throw new Error('the sandbox has areas')
  const logged: unknown[] = []
  let started = 0
  const world = new WorldState({
    areas: [
      { ...first, onClock },
      { ...second, onClock: () => void started++ },
    ],
    credentials: fixedCredentials,
    machineNow: () => 0,
    seed: 1,
    log: { ...silentLogger, error: (fields) => logged.push(fields) },
    names: namesOf(),
    reportViolation: () => undefined,
    staleLagMs: () => 0,
    onEvent: () => undefined,
  })
  runDueWork(world)
  await setImmediate()
  expect([started, logged]).toEqual([1, [{ area: first.ref.name, error: 'Error: broken' }]])
})

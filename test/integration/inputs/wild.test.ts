/** Every file of wildFeeds.ts through the mapper and through a whole plan: the accepted records and the counts. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { audience, catalog, through } from '../../support/through.ts'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { wildFeeds } from '../../support/wildFeeds.ts'

let engine: EngineUnderTest
beforeAll(async () => {
  engine = await engineUnderTest()
})
afterAll(() => engine[Symbol.asyncDispose]())

test('there are at least forty feeds and exports', () => expect(wildFeeds.length).toBeGreaterThanOrEqual(40))

describe('feeds and exports as they come', () => {
  test.for(wildFeeds.map((wild) => [wild.name, wild] as const))('%s', async ([, wild]) => {
    const { name: _, source = {}, destination = catalog, ...rest } = wild.settings ?? {}
    const { rejected = 0, duplicates = 0, suppressed = 0 } = wild
    engine.write(wild.file, wild.content)
    // One pipeline of one destination after the other; JSON is YAML.
    engine.pipeline(
      'wild',
      JSON.stringify({
        ...rest,
        source: { url: join(engine.folder, wild.file), ...source },
        destination,
        guards: { max_reject_percent: 100 },
      }),
    )
    const { counts, status } = await engine.plan('wild', { full: true })
    const valid = counts.read - rejected - duplicates - suppressed
    expect({ status, ...counts }).toMatchObject({ rejected, duplicates, suppressed, valid })
    expect(valid).toBeGreaterThan(0)

    const outcome = await through(wild.content, { ...wild.settings, name: wild.file })
    expect(outcome.refused).toBeUndefined()
    expect(outcome.read).toBe(counts.read)
    const seen = new Map<string, number>()
    for (const product of outcome.products) seen.set(String(product['id']), (seen.get(String(product['id'])) ?? 0) + 1)
    const contradicting = new Set(
      destination['kind'] === catalog.kind && rejected > outcome.rejects.length
        ? [...seen]
            .filter(([id]) => new Set(outcome.products.filter((p) => p['id'] === id).map((p) => JSON.stringify(p))).size > 1)
            .map(([id]) => id)
        : [],
    )
    const accepted =
      destination['kind'] === audience.kind
        ? [...new Set(outcome.members.filter(({ desired }) => desired).flatMap(({ identifiers }) => identifiers))]
        : [...seen.keys()].filter((id) => !contradicting.has(id))
    expect(accepted).toEqual(wild.accepted)
  })
})

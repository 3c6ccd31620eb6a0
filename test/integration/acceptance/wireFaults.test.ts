/** Faults of connections, certificates, reads and clocks: the final content is right after each, and no rule is broken. */
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { createTransport } from '../../../src/service/client/index.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { engineUnderTest } from '../../support/agreement.ts'
import { imbalance } from '../../support/engine.ts'
import { eachWave, people, shop } from './targets.ts'

const faults: readonly (readonly [name: string, fault: Record<string, unknown>])[] = [
  ['interim answers', { kind: 'interim', statuses: [100, 102, 103] }],
  ['HTTP/1.0', { kind: 'http10' }],
  ['half open after the answer', { kind: 'half_open' }],
  ['half open instead of the answer', { kind: 'half_open', stage: 'after_apply' }],
  ['half open before anything was applied', { kind: 'half_open', stage: 'after_read', apply: 'none' }],
  ['W9: idle connection closed immediately', { kind: 'idle_close', ms: 0 }],
  ['W9: idle connection closed as it is used again', { kind: 'idle_close', ms: 3 }],
  ['W7: connections refused', { kind: 'refuse', ms: 30 }],
  ['connections accepted and closed', { kind: 'accept_close', ms: 30 }],
  ['a body read slowly, beyond the deadline', { kind: 'slow_upload', bytes_per_s: 2_000 }],
  ['Connection: close', { kind: 'delay', ms: 1, close: true }],
]

// Eight attempts take longer than a service that accepts no connection for twice 30 ms, on any machine.
const settings = { httpTimeoutMs: 400, horizonMs: 500, backoffMinMs: 40, backoffMaxMs: 200 }

describe.for([
  ['products', shop],
  ['users', people],
] as const)('%s', ([, open]) => {
  const playNext = eachWave(open, settings, async ({ sandbox: { control } }) => control.switches({ values_recur: 'never' }))
  test.for(faults)('%s: the destination has the content of the file', ([, fault]) =>
    playNext(async ({ engine, target: under, expected, before }) => {
      const { control } = engine.sandbox
      for (const nth of [1, 2]) await control.fault({ path: under.path, nth }, fault)
      const report = await engine.run(under.name)
      expect(report.error).toBeUndefined()
      expect(report).toMatchObject({ status: 'succeeded', counts: { refused: 0, ambiguous: 0, pending: 0 } })
      expect(imbalance(report.counts)).toEqual([])
      expect((await control.ledger(before)).filter((line) => line.fault === fault['kind']).length, 'the fault was met').toBeGreaterThan(0)
      expect(await under.digest()).toBe(expected)
      expect(await control.violations()).toEqual([])
    }),
  )
  test('401 for the first request of a connection: the destination has the content of the file', async () => {
    await using engine = await engineUnderTest({ settings })
    const { control } = engine.sandbox
    const under = open(engine)
    await control.fault({ path: under.path, first_of_connection: true }, { kind: 'status', status: 401 })
    const expected = under.wave(0)
    expect(await engine.run(under.name)).toMatchObject({ status: 'succeeded', counts: { refused: 0, ambiguous: 0, pending: 0 } })
    expect((await control.ledger()).filter(({ fault }) => fault === 'status').length, 'the fault was met').toBeGreaterThan(0)
    expect(await under.digest()).toBe(expected)
    expect(await control.violations()).toEqual([])
  })
})

test('W10: interim answers cause no extra request and no ambiguous operation', async () => {
  await using engine = await engineUnderTest({ settings })
  const { control } = engine.sandbox
  const under = shop(engine)
  await control.fault({ path: under.path }, { kind: 'interim', statuses: [100, 102, 103, 100] }, 'always')
  const expected = under.wave(0)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { ambiguous: 0, refused: 0 } })
  expect((await engine.writes()).map(({ status, fault }) => [status, fault])).toEqual(Array(3).fill([200, 'interim']))
  expect(await under.digest()).toBe(expected)
})

describe('TLS', () => {
  test.for(['expired', 'self_signed', 'wrong_host', 'old_version', 'drop', 'stall'])(
    'W7: TLS %s: nothing is sent until the certificate is valid, then everything',
    async (kind) => {
      await using engine = await engineUnderTest({ settings })
      const { control } = engine.sandbox
      const under = shop(engine)
      const expected = under.wave(0)
      const listener = (await control.request('POST', 'tls', { kind, times: 2 })).body
      setDefaultCACertificates([...getCACertificates('default'), listener.ca])
      const transport = createTransport({
        baseUrl: listener.url,
        adsBaseUrl: listener.url,
        adsVersion: '12',
        ...engine.sandbox.credentials,
      })
      try {
        const deps = { ...engine.deps, transport, service: { ...engine.deps.service, origin: listener.url } }
        const run = async () => runPipeline(deps, await loadPipeline(join(engine.folder, 'pipelines'), 'shop'), { trigger: 'manual' })
        let report = await run()
        if (report.status !== 'succeeded') report = await run()
        expect(report).toMatchObject({ status: 'succeeded', counts: { confirmed: expect.any(Number), ambiguous: 0, refused: 0 } })
        expect(await under.digest()).toBe(expected)
        // An attempt that found the bad certificate sent no request: three batches are three requests.
        expect((await engine.writes()).map(({ status }) => status)).toEqual([200, 200, 200])
        expect(await control.violations()).toEqual([])
      } finally {
        await transport.close()
      }
    },
  )
})

test.for([
  ['stale reads', { kind: 'stale', lag_ms: 60_000 }],
  ['pages that lose rows', { kind: 'page_shift', by: 3 }],
  ['pages that repeat rows', { kind: 'page_shift', by: -3 }],
  ['a cursor that repeats', { kind: 'cursor_repeats' }],
  ['expired cursors', { kind: 'cursor_expired' }],
] as const)('C1: %s: an item that a listing does not show never counts as deleted', async ([, fault]) => {
  await using engine = await engineUnderTest({ settings })
  const { control } = engine.sandbox
  const under = shop(engine)
  await control.fault({ method: 'GET' }, fault, 'always')
  under.wave(0)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  const expected = under.wave(1)
  const report = await engine.run('shop')
  expect(report).toMatchObject({ status: 'succeeded', counts: { deletes: 4, creates: 6 } })
  expect(await under.digest()).toBe(expected)
  expect(await control.violations()).toEqual([])
})

test('K4: with a service whose clock is an hour ahead, signatures use its time, and no record is refused', async () => {
  await using engine = await engineUnderTest({ settings })
  const { control } = engine.sandbox
  const under = shop(engine)
  const expected = under.wave(0)
  await control.fault({ path: '/12/' }, { kind: 'clock_skew', s: 3_600 }, 'always')
  let report = await engine.run('shop')
  expect(report.counts).toMatchObject({ refused: 0, ambiguous: 0 })
  // Requests that were sent together may each get a second 401. Then the destination waits for the next run.
  if (report.status !== 'succeeded') report = await engine.run('shop')
  expect(report.status).toBe('succeeded')
  expect(await under.digest()).toBe(expected)
})

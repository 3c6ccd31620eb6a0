import { expect, test, vi } from 'vitest'
import type { Queryable } from '../../../src/db/queryable.ts'
import { silentLogger } from '../../../src/log.ts'
import { keepReplays, type ReplayKeeper } from '../../../src/webhooks/index.ts'

test('requests the replay of a gap that is recorded while an earlier check reads the gaps', async () => {
  const gaps: { id: string; at: Date; what: string; detail: object; now: Date }[] = []
  let keeper: ReplayKeeper | undefined
  let reads = 0
  const db: Queryable = {
    query: async <Row>() => {
      const read = [...gaps] as Row[]
      await Promise.resolve()
      if (++reads > 1) return read
      const now = new Date()
      gaps.push({ id: '1', at: now, now, what: 'webhook.gap', detail: { from: now.toISOString(), to: now.toISOString() } })
      keeper?.wake()
      return read
    },
    execute: async () => 1,
  }
  const replay = vi.fn<() => Promise<string>>(async () => 'job')
  keeper = keepReplays({
    db,
    receiver: { service: 'https://api.example.com', application: 'app', path: '/webhooks' },
    log: silentLogger,
    clock: { now: Date.now },
    probe: async () => undefined,
    everyMs: 5,
    service: { webhooks: async () => [{ id: 'hook', url: 'https://hooks.example.com/webhooks' }], replay },
  })
  await vi.waitFor(() => expect(replay).toHaveBeenCalled())
  await keeper.stop()
})

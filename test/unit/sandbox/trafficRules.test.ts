/** Rules on requests in flight, at times of the test's own (docs/sandbox.md#violations). */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeEach, expect, test } from 'vitest'
import { Ledger, type LedgerEntry } from '../../../src/sandbox/ledger/ledger.ts'
import { TrafficRules } from '../../../src/sandbox/ledger/trafficRules.ts'

let now = 0
let ledger: Ledger
let rules: TrafficRules
beforeEach(() => {
  now = 0
  ledger = new Ledger()
  const record = (entry: LedgerEntry, rule: string, detail: string): void => ledger.recordViolation(entry, '', rule, detail)
  rules = new TrafficRules(
    () => now,
    record,
    () => 0,
  )
})

/** A request whose headers are complete. */
function begin(): { readonly entry: LedgerEntry; readonly arrive: (...keys: string[]) => void; readonly finish: () => void } {
  const startedAt = now
  const entry = ledger.open({ time: '', method: 'PUT', path: '/', query: '', endpoint: 'products.put', connection: 1, worker: null })
  rules.headersArrived(entry, startedAt)
  return {
    entry,
    arrive: (...keys) => rules.bodyArrived(entry, startedAt, { items: keys.length, keys }),
    finish: () => rules.requestEnded(entry),
  }
}

/** Sends and ends `count` requests, one after the other, each with a key of its own. */
function send(count: number): void {
  for (let n = 0; n < count; n++) {
    const one = begin()
    one.arrive(`p 4001 ${now}`)
    now++
    one.finish()
  }
}

test.for([
  ['an open stream', true, 100],
  ['a request without its body', false, 1100],
] as const)('%s does not keep ended requests in memory', async ([, hasBody, count]) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const open = begin()
  if (hasBody) open.arrive()
  const ended = ((): WeakRef<object> => {
    const startedAt = now
    const { entry, finish } = begin()
    const content = { items: 1, keys: ['p 4001 a'] }
    rules.bodyArrived(entry, startedAt, content)
    now++
    finish()
    return new WeakRef(content)
  })()
  send(count)
  await nextTurn()
  collect()
  expect(ended.deref()).toBeUndefined()
})

test('a request whose body arrives late overlaps with each request that ended after its start', () => {
  const early = begin()
  early.arrive('p 4001 a')
  send(70)
  const late = begin()
  now++
  early.finish()
  send(70)
  late.arrive('p 4001 a')
  expect(ledger.violations.map(({ seq, rule, detail }) => [seq, rule, detail])).toEqual([
    [late.entry.seq, 'two_in_flight_for_one_key', `overlaps request ${early.entry.seq}`],
  ])
})

test('a request with a key three times and a key twice has two keys that occur more than once', () => {
  begin().arrive('p 4001 a', 'p 4001 b', 'p 4001 a', 'p 4001 c', 'p 4001 a', 'p 4001 b')
  expect(ledger.violations.map(({ rule, detail }) => [rule, detail])).toEqual([
    ['duplicate_in_request', 'keys that occur more than once in one request: 2'],
  ])
})

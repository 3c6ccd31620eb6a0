/** Which armed faults still act. */
import { expect, test } from 'vitest'
import { ArmedFaults } from '../../../src/sandbox/faults/armedFaults.ts'
import { readRule } from '../../../src/sandbox/faults/faultRule.ts'

test('a stale fault needs no past states once it has hit its requests', () => {
  const faults = new ArmedFaults(Date.now, Math.random)
  faults.add(readRule({ times: 2, fault: { kind: 'stale', lag_ms: 5000 } }))
  faults.add(readRule({ times: 'always', fault: { kind: 'stale', lag_ms: 1000 } }))
  const lags = [faults.longestLagMs]
  for (let n = 0; n < 2; n++) {
    faults.hitWithBody({ method: 'GET', path: '/', query: '', worker: undefined, isFirstOfConnection: false })
    lags.push(faults.longestLagMs)
  }
  expect(lags).toEqual([5000, 5000, 1000])
})

test.for(['by id', 'all'])('removing the last rule (%s) ends the counts of attempts with the same body', (way) => {
  const faults = new ArmedFaults(Date.now, Math.random)
  const rule = readRule({ match: { attempt_of_same_body: 1 }, times: 'always', fault: { kind: 'status' } })
  const body = Buffer.from('{}')
  const request = { method: 'PUT', path: '/', query: '', worker: undefined, isFirstOfConnection: false, body, bodyHash: 'h' }
  const { id } = faults.add(rule)
  expect([faults.hitWithBody(request)?.id, faults.hitWithBody(request)?.id]).toEqual([id, undefined])
  if (way === 'all') faults.clear()
  else faults.remove(id)
  faults.add(rule)
  expect(faults.hitWithBody(request)).toBeDefined()
})

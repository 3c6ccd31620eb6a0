/** States of a batch on the dashboard. */
import { expect, test } from 'vitest'
import { batchState } from '../../../src/dashboard/states.ts'
import type { OutcomeGroup } from '../../../src/sync/reports/batchDetails.ts'

const group = (outcome: OutcomeGroup['outcome']): OutcomeGroup => ({
  outcome,
  change: 'create',
  code: null,
  message: '',
  count: 1,
  places: [1],
})

test.for([
  ['confirmed', [group('confirmed')]],
  ['refused', [group('confirmed'), group('refused')]],
  ['settled', undefined],
] as const)('a settled batch is %s by its outcomes', ([state, outcomes]) => {
  expect(batchState({ status: 'settled', ...(outcomes === undefined ? {} : { outcomes }) })).toBe(state)
})

test('a settled batch whose outcomes have expired is not shown as confirmed', () => {
  expect(batchState({ status: 'settled', outcomes: [] })).toBe('settled')
})

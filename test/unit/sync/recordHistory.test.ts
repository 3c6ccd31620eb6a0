import { expect, test } from 'vitest'
import { livenessOf, type RecordEvent } from '../../../src/sync/reports/recordHistory.ts'

const at = (minute: number) => `2026-11-26T10:0${minute}:00.000Z`
const confirmed: RecordEvent = { at: at(1), what: 'confirmed', message: 'SKU-1 confirmed by the service' }
const refused: RecordEvent = { at: at(3), what: 'refused', code: 'INVALID', message: 'SKU-1 was refused by the service: price' }
const invalidated = (live: boolean): RecordEvent => ({
  at: at(2),
  what: 'invalidated',
  runId: 'r_2',
  message: 'SKU-1 differs',
  ...(live ? { live: true } : {}),
})

test('a product that an audit found changed stays live if its correction is refused', () => {
  expect(livenessOf([confirmed, invalidated(true), refused], { deletesRecord: true })).toMatchObject({
    live: true,
    headline: 'Live: with other content, as SKU-1 was refused by the service: price',
  })
})

test('a product that an audit did not find is not certain if its next request is refused', () => {
  expect(livenessOf([confirmed, invalidated(false), refused], { deletesRecord: true })).toMatchObject({ live: false })
})

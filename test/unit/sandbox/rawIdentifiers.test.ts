import { expect, test } from 'vitest'
import { isWrittenAsPhone, looksLikePhone } from '../../../src/sandbox/ledger/rawIdentifiers.ts'

test.for(['+1-212-555-0123', '%2B12125550123', '%2B123456789012345', '0012125550123', '(212) 555-0123', '212-555-0123', '0212 555 0123'])(
  '%s is written as a phone number',
  (text) => {
    expect([looksLikePhone(text), isWrittenAsPhone(text)]).toEqual([true, true])
  },
)

test.for(['2026-11-21', '01-02-2026', '1234-56789', '0123456789'])('%s may be a phone number, but also an id', (text) => {
  expect([looksLikePhone(text), isWrittenAsPhone(text)]).toEqual([true, false])
})

test.for(['1234567890', '+1234567', '+1234567890123456', 'C-0012', ''])('"%s" is no phone number', (text) => {
  expect([looksLikePhone(text), isWrittenAsPhone(text)]).toEqual([false, false])
})

/** Order of the staged people of a first load. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { personHeadBytes, sortedStarts } from '../../../src/sync/plan/stagedPeople.ts'

/** Returns a person with this key and so many bytes of identifiers; `stored`: its record is stored already. */
function person(key: Buffer, identifierBytes: number, stored: boolean): Buffer {
  const head = Buffer.alloc(personHeadBytes, 0xee)
  key.copy(head)
  head.writeInt32BE(stored ? ~identifierBytes : identifierBytes, personHeadBytes - 4)
  return Buffer.concat([head, Buffer.alloc(identifierBytes, 0xff)])
}

/** Keys that often agree in their first bytes, so that the numbers that are sorted first do not differ. */
const key = fc
  .tuple(fc.constantFrom(0, 0x7f, 0x80, 0xff), fc.nat({ max: 3 }), fc.uint8Array({ minLength: 2, maxLength: 2 }))
  .map(([first, at, last]) => {
    const bytes = Buffer.alloc(16, first)
    bytes.set(last, [3, 5, 6, 14][at])
    return bytes
  })

test('people are sorted by their whole keys, whatever the length of their identifiers', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(key, fc.constantFrom(0, 33, 66, 1650), fc.boolean()), { selector: ([one]) => one.toString('hex') }),
      (people) => {
        const bytes = Buffer.concat(people.map(([one, length, stored]) => person(one, length, stored)))
        const sorted = Array.from(sortedStarts(bytes), (start) => bytes.subarray(start, start + 16).toString('hex'))
        expect(sorted).toEqual(people.map(([one]) => one.toString('hex')).sort())
      },
    ),
  )
})

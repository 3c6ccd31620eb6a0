/** Members that are saved to the state file and loaded again behave as before. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { IDENTIFIER_TYPES, digestBytes, Memberships, linesOf } from '../../../src/sandbox/audiences/memberships.ts'

const all = (memberships: Memberships): string =>
  [...linesOf(memberships, 100, ({ type, value, expiresAt }) => `${type} ${value} ${expiresAt}\n`)].join('')

test('saved members are restored, and later changes have the same effect', () => {
  const step = fc.record({
    type: fc.nat(IDENTIFIER_TYPES.length - 1),
    value: fc.nat(60),
    how: fc.constantFrom('put', 'put', 'put', 'join', 'remove'),
  })
  let seen = 0
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), fc.array(step, { maxLength: 40 }), (before, after) => {
      const made = new Memberships()
      const take = (memberships: Memberships, steps: typeof before): void => {
        let last = -1
        for (const { type, value, how } of steps) {
          const text =
            IDENTIFIER_TYPES[type] === 'partner_user_id' ? `loyal-${value}` : createHash('sha256').update(`${value}`).digest('hex')
          const key = digestBytes(type, text)
          const found = memberships.find(type, key)
          if (how === 'remove' && found >= 0) {
            memberships.removeUser(found)
            last = -1
          } else if (how === 'join' && found >= 0 && last >= 0) memberships.mergeUsers(last, found)
          else
            last = memberships.put(
              type,
              key,
              { effectiveAt: 1, expiresAt: 200 + value },
              IDENTIFIER_TYPES[type] === 'partner_user_id' ? text : undefined,
            )
        }
      }
      take(made, before)
      const { plain, bytes } = structuredClone(made.save())
      const again = Memberships.fromSaved(plain, bytes)
      expect([again.size, all(again)]).toEqual([made.size, all(made)])
      take(made, after)
      take(again, after)
      expect([again.size, all(again)]).toEqual([made.size, all(made)])
      seen += made.size
    }),
    { numRuns: 200 },
  )
  expect(seen).toBeGreaterThan(1_000)
})

test('restores more members than fit into a chunk and into the first index', () => {
  const made = new Memberships()
  for (let n = 0; n < 70_000; n++)
    made.put(0, digestBytes(0, createHash('sha256').update(String(n)).digest('hex')), { effectiveAt: 1, expiresAt: 200 })
  const { plain, bytes } = made.save()
  expect(bytes.map((one) => one.length)).toEqual([65_536 * 48, (70_000 - 65_536) * 48])
  const again = Memberships.fromSaved(plain, bytes)
  expect([again.size, again.count(100)]).toEqual([70_000, made.count(100)])
  expect(again.find(0, digestBytes(0, createHash('sha256').update('69999').digest('hex')))).toBe(69_999)
})

import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fillTemplate, toTemplate } from '../../../src/db/bodyTemplate.ts'
import { destinationOf } from '../../../src/destinations/index.ts'
import { pack } from '../../../src/destinations/requestBodies.ts'
import { renderUserOperation } from '../../../src/destinations/renderUserOperation.ts'

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest()
const key = (type: number, n: number) => `0${type}${sha256(`${n}`).toString('hex')}`
const bodyOf = (users: readonly (readonly string[])[]) =>
  pack(
    users.map((keys) => ({ bytes: renderUserOperation({ op: 'update', users: [keys], expiresAtMs: Date.UTC(2035, 0, 1) }) })),
    destinationOf('audience').frame('upsert'),
  ).body

/** Keys of a user as the plan has them: sorted. */
const user = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 40 })), { minLength: 1, maxLength: 4, selector: String })
  .map((keys) => keys.map(([type, n]) => key(type, n)).toSorted())

test('a body is rebuilt byte for byte from its template and its keys', () => {
  fc.assert(
    fc.property(fc.array(user, { minLength: 1, maxLength: 30 }), (users) => {
      const body = bodyOf(users)
      const template = toTemplate(body, users.flat())
      expect(template).toBeDefined()
      expect(fillTemplate(template ?? Buffer.alloc(0), users.flat().join(''), sha256(body))).toEqual(body)
    }),
  )
})

test('the template of 2,500 users has no digest and takes a fiftieth of their body', () => {
  const users = Array.from({ length: 2_500 }, (_, i) => [key(1, i), key(2, i)])
  const body = bodyOf(users)
  const template = toTemplate(body, users.flat())
  expect(template?.length).toBeLessThan(body.length / 50)
})

test('bytes that differ from the frozen ones are never sent', () => {
  const users = [[key(1, 1)], [key(1, 2)]]
  const body = bodyOf(users)
  const template = toTemplate(body, users.flat()) ?? Buffer.alloc(0)
  expect(() => fillTemplate(template, [key(1, 2), key(1, 1)].join(''), sha256(body))).toThrow('not the one that was frozen')
})

test('a body whose digests are not in the order of its keys has no template', () => {
  expect(toTemplate(bodyOf([[key(1, 1)], [key(1, 2)]]), [key(1, 2), key(1, 1)])).toBeUndefined()
  expect(toTemplate(bodyOf([[key(1, 1)]]), [`06${Buffer.from('a'.repeat(32)).toString('hex')}`])).toBeUndefined()
  expect(toTemplate(Buffer.from(`["\0${key(1, 1).slice(2)}"]`), [key(1, 1)])).toBeUndefined()
})

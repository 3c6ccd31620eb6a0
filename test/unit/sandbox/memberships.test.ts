/** The compact table of members compared with a plain model: identifiers, their users, growth. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ControlText } from '../../../src/sandbox/area.ts'
import { linesOf, IDENTIFIER_TYPES, digestBytes, Memberships } from '../../../src/sandbox/audiences/memberships.ts'

const value = (n: number): string => createHash('sha256').update(String(n)).digest('hex')
const lines = (members: Memberships, now: number): string =>
  [...linesOf(members, now, (member) => `${member.type}\t${member.value}\t${member.expiresAt}\n`)].join('')

/** Plain model: a map of users, each a map of identifiers. */
class Model {
  users: Map<string, number>[] = []
  update(names: readonly string[], expiresAt: number): void {
    const touched = this.users.filter((user) => names.some((name) => user.has(name)))
    const merged = new Map(touched.flatMap((user) => [...user]))
    for (const name of names) merged.set(name, expiresAt)
    this.users = [...this.users.filter((user) => !touched.includes(user)), merged]
  }
  remove(name: string): void {
    this.users = this.users.filter((user) => !user.has(name))
  }
  lines(now: number): string {
    return this.users
      .flatMap((user) => [...user])
      .filter(([, expiresAt]) => expiresAt > now)
      .map(([name, expiresAt]) => `${name}\t${expiresAt}\n`)
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .join('')
  }
}

test('updates merge and deletes reach the whole user, as in a plain model', () => {
  const identifier = fc.record({ type: fc.nat(4), n: fc.nat(12) })
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('update' as const),
      ids: fc.array(identifier, { minLength: 1, maxLength: 4 }),
      expiresAt: fc.integer({ min: 1, max: 20 }),
    }),
    fc.record({
      kind: fc.constant('remove' as const),
      ids: fc.array(identifier, { minLength: 1, maxLength: 2 }),
      expiresAt: fc.constant(0),
    }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.integer({ min: 0, max: 20 }), (steps, now) => {
      const members = new Memberships()
      const model = new Model()
      for (const { kind, ids, expiresAt } of steps) {
        const named = ids.map(({ type, n }) => ({
          type,
          key: digestBytes(type, value(n)),
          name: `${IDENTIFIER_TYPES[type] ?? ''}\t${value(n)}`,
        }))
        if (kind === 'update') {
          const records = named.map(({ type, key }) => members.put(type, key, { effectiveAt: 0, expiresAt }))
          for (const record of records) members.mergeUsers(records[0] ?? 0, record)
          model.update(
            named.map(({ name }) => name),
            expiresAt,
          )
        } else
          for (const { type, key, name } of named) {
            const record = members.find(type, key)
            if (record !== -1) members.removeUser(record)
            model.remove(name)
          }
      }
      expect(lines(members, now)).toBe(model.lines(now))
      expect(lines(members.clone(), now)).toBe(model.lines(now))
      expect(members.size).toBe(model.users.reduce((sum, user) => sum + user.size, 0))
    }),
    { numRuns: 300 },
  )
})

test('grows past its first index and keeps every identifier', () => {
  const members = new Memberships()
  for (let n = 0; n < 5000; n++) members.put(n % 2, digestBytes(n % 2, value(n)), { effectiveAt: 0, expiresAt: 10 })
  expect(members.size).toBe(5000)
  for (let n = 0; n < 5000; n++) expect(members.find(n % 2, digestBytes(n % 2, value(n)))).not.toBe(-1)
  expect(members.find(0, digestBytes(0, value(1)))).toBe(-1)
  expect(members.count(5)).toMatchObject({ members: 5000, identifiers: { email: 2500, device_id: 2500 } })
})

test("one identifier removed leaves the user's others", () => {
  const members = new Memberships()
  const times = { effectiveAt: 0, expiresAt: 10 }
  const [a, b, c] = [1, 2, 3].map((n) => members.put(0, digestBytes(0, value(n)), times)) as [number, number, number]
  members.mergeUsers(a, b)
  members.mergeUsers(a, c)
  members.removeOne(b)
  expect(members.size).toBe(2)
  members.removeUser(c)
  expect(members.size).toBe(0)
})

test('a listing is in pieces, because ten million lines exceed the longest string', () => {
  const line = `email\t${'0'.repeat(64)}\t2035-01-01T00:00:00Z\n`
  const { pieces } = new ControlText(Array.from({ length: 10_000 }, () => line))
  expect(Buffer.concat(pieces).toString()).toBe(line.repeat(10_000))
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(70_000)
})

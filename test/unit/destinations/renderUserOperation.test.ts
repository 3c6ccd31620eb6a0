import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { halveOperation, renderUserOperation, wireTime } from '../../../src/destinations/renderUserOperation.ts'
import { identifierTypes, type IdentifierType, type PackedIdentifier } from '../../../src/model/record.ts'

function digest(type: IdentifierType, seed: string): PackedIdentifier {
  return Buffer.concat([Buffer.from([identifierTypes.indexOf(type) + 1]), createHash('sha256').update(seed).digest()])
}

function plain(value: string): PackedIdentifier {
  return Buffer.concat([Buffer.from([identifierTypes.indexOf('partner_user_id') + 1]), Buffer.from(value)])
}

const hex = (seed: string) => createHash('sha256').update(seed).digest('hex')

describe('a user operation', () => {
  test('an update has its frozen times and the identifiers in the order of their types', () => {
    const bytes = renderUserOperation({
      op: 'update',
      users: [[digest('phone_number', 'p'), digest('email', 'b'), digest('email', 'a'), plain('loyal-"7"-é')]],
      effectiveAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
      expiresAtMs: Date.UTC(2027, 1, 2, 3, 4, 5),
    })
    expect(bytes.toString()).toBe(
      `{"operation_type":"Update","params":{"effective_at":"2026-01-02T03:04:05Z","expires_at":"2027-02-02T03:04:05Z","users":[{"email":["${hex('b')}","${hex('a')}"],"phone_number":["${hex('p')}"],"partner_user_id":["loyal-\\"7\\"-é"]}]}}`,
    )
  })

  test('a delete has no times', () => {
    const bytes = renderUserOperation({ op: 'delete', users: [[digest('email', 'a')]], effectiveAtMs: 0, expiresAtMs: 1 })
    expect(JSON.parse(bytes.toString())).toEqual({ operation_type: 'Delete', params: { users: [{ email: [hex('a')] }] } })
  })

  const identifier = fc.oneof(
    fc
      .tuple(fc.constantFrom(...identifierTypes.filter((type) => type !== 'partner_user_id')), fc.string())
      .map(([type, seed]) => digest(type, seed)),
    fc.string({ unit: 'grapheme', minLength: 1 }).map(plain),
  )

  test('equals the output of JSON.stringify for any users', () => {
    fc.assert(
      fc.property(fc.array(fc.array(identifier, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 5 }), (users) => {
        const bytes = renderUserOperation({ op: 'update', users }).toString()
        expect(JSON.stringify(JSON.parse(bytes))).toBe(bytes)
        const written = (JSON.parse(bytes) as { params: { users: Record<string, string[]>[] } }).params.users
        expect(written.map((user) => Object.values(user).flat().length)).toEqual(users.map((user) => user.length))
      }),
    )
  })

  test('its halves are the operations on the halves of its users', () => {
    const times = { op: 'update', effectiveAtMs: 1_000_000_000, expiresAtMs: 2_000_000_000 } as const
    fc.assert(
      fc.property(fc.array(fc.array(identifier, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 9 }), (users) => {
        const halves = halveOperation(renderUserOperation({ ...times, users }), users.flat())
        const middle = Math.ceil(users.length / 2)
        expect(halves).toEqual(
          [users.slice(0, middle), users.slice(middle)].map((half) => ({
            bytes: renderUserOperation({ ...times, users: half }),
            keys: half.flat(),
            firstUser: half[0],
            users: half.length,
          })),
        )
      }),
    )
  })

  test('is not halved if it has one user, or if the stored identifiers are not those of its users', () => {
    const users = [[digest('email', 'a'), digest('phone_number', 'p')], [digest('email', 'b')], [plain('c')]]
    const bytes = renderUserOperation({ op: 'update', users, expiresAtMs: 0 })
    const keys = users.flat()
    expect(halveOperation(bytes, keys)).toBeDefined()
    const others = [[], keys.slice(1), keys.slice(0, -1), [...keys, plain('d')], keys.toReversed(), keys.with(0, digest('email', 'x'))]
    for (const other of others) expect(halveOperation(bytes, other)).toBeUndefined()
    expect(halveOperation(bytes, keys.with(0, digest('phone_number', 'a')))).toBeUndefined()
    expect(halveOperation(renderUserOperation({ op: 'update', users: [keys], expiresAtMs: 0 }), keys)).toBeUndefined()
  })

  test('identifiers in hex make the same bytes as packed ones', () => {
    const user = [digest('email', 'a'), digest('phone_number', 'p'), plain('opaque "1"')]
    const packed = renderUserOperation({ op: 'update', users: [user], expiresAtMs: 0 })
    expect(renderUserOperation({ op: 'update', users: [user.map((identifier) => identifier.toString('hex'))], expiresAtMs: 0 })).toEqual(
      packed,
    )
  })

  test('times are whole seconds in UTC', () => {
    expect(wireTime(1_700_000_000_999)).toBe('2023-11-14T22:13:20Z')
  })
})

import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compressTemplate, fillTemplate } from '../../../src/db/bodyTemplate.ts'
import type { BatchLimits } from '../../../src/destinations/destination.ts'
import { OversizedOperationError, Packer } from '../../../src/destinations/requestBodies.ts'
import { recordKeyBytes, UpdateWriter, type PackedUser, type WrittenUpdates } from '../../../src/destinations/updateWriter.ts'
import { renderUserOperation, type UserOperation } from '../../../src/destinations/renderUserOperation.ts'

const digest = (text: string) => createHash('sha256').update(text).digest()
const frame = { open: '[', close: ']' }

interface User {
  readonly key: Buffer
  readonly identifiers: readonly Buffer[]
}

const identifier = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 1_000 }))
const users = fc.array(fc.array(identifier, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 20 }).map((all): readonly User[] =>
  all.map((identifiers, i) => ({
    key: digest(`key ${i}`).subarray(0, recordKeyBytes),
    identifiers: identifiers.map(([type, n]) => Buffer.concat([Buffer.from([type]), digest(`${n}`)])).toSorted(Buffer.compare),
  })),
)

/** Users with other bytes before, between and behind them. */
function placed({ key, identifiers }: User, gap: number): PackedUser {
  const between = Buffer.alloc(gap, 0xee)
  return {
    source: Buffer.concat([between, key, between, ...identifiers.flatMap((one) => [one, between])]),
    keyAt: gap,
    identifiersAt: gap * 2 + recordKeyBytes,
    stride: 33 + gap,
    count: identifiers.length,
  }
}

interface Written extends Omit<WrittenUpdates, 'template' | 'release'> {
  readonly rebuilt: Buffer
}

function write(writer: UpdateWriter, all: readonly User[], gap: number): Written[] {
  const written: Written[] = []
  const held: { readonly updates: WrittenUpdates; readonly copy: Written | undefined }[] = []
  const take = (updates: WrittenUpdates | undefined) => {
    if (updates === undefined) return
    const { body, template, release: _, ...rest } = updates
    const rebuilt = fillTemplate(compressTemplate(template), rest.keys.toString('hex'), rest.sha256)
    written.push({
      ...rest,
      body: Buffer.from(body),
      rebuilt,
      recordKeys: Buffer.from(rest.recordKeys),
      keys: Buffer.from(rest.keys),
      keyLengths: rest.keyLengths.slice(),
      lengths: rest.lengths.slice(),
    })
    held.push({ updates, copy: written.at(-1) })
    // Releases the arrays of the body before this one.
    const [first] = held
    if (held.length < 2 || first === undefined) return
    expect([first.updates.recordKeys, first.updates.keys, first.updates.keyLengths, first.updates.lengths]).toEqual([
      first.copy?.recordKeys,
      first.copy?.keys,
      first.copy?.keyLengths,
      first.copy?.lengths,
    ])
    held.shift()
    first.updates.release()
  }
  for (const user of all) {
    const at = placed(user, gap)
    if (!writer.fits(at)) take(writer.finish())
    writer.add(at)
  }
  take(writer.finish())
  return written
}

test('an identifier of an unknown type is an error, also without the check of its length', () => {
  const writer = new UpdateWriter(frame, { entries: 5, bytes: 3_000 }, { op: 'update', expiresAtMs: 0 })
  const user = { key: digest('key').subarray(0, recordKeyBytes), identifiers: [Buffer.concat([Buffer.from([200]), digest('1')])] }
  expect(() => writer.add(placed(user, 0))).toThrow('type 200')
})

/** Expects the bodies, and the facts about their entries, that `renderUserOperation` and `Packer` make. */
function expectPackedBodies(
  all: readonly User[],
  { ofOperation, limit, gap }: { readonly ofOperation: Omit<UserOperation, 'users'>; readonly limit: BatchLimits; readonly gap: number },
): void {
  const packer = new Packer<{ readonly bytes: Buffer; readonly user: User }>(frame, limit)
  const packed = all.flatMap((user) => {
    const bytes = renderUserOperation({ ...ofOperation, users: [user.identifiers] })
    return packer.add({ bytes, user }) ?? []
  })
  packed.push(...[packer.flush()].filter((batch) => batch !== undefined))
  expect(write(new UpdateWriter(frame, limit, ofOperation), all, gap)).toEqual(
    packed.map(({ body, sha256, items, offsets, lengths }) => ({
      body,
      rebuilt: body,
      sha256,
      users: items.length,
      recordKeys: Buffer.concat(items.map(({ user }) => user.key)),
      keys: Buffer.concat(items.flatMap(({ user }) => user.identifiers)),
      keyLengths: Int32Array.from(items, ({ user }) => user.identifiers.length * 33),
      firstOffset: offsets[0],
      lengths,
    })),
  )
}

test('the bodies, and the facts about their entries, are those of renderUserOperation and Packer', () => {
  const operation = fc.constantFrom<Omit<UserOperation, 'users'>>(
    { op: 'update', expiresAtMs: 0 },
    { op: 'update', effectiveAtMs: 1_000, expiresAtMs: 1_830_000_000_000 },
    { op: 'delete' },
  )
  const limits = fc.record({ entries: fc.integer({ min: 1, max: 5 }), bytes: fc.integer({ min: 700, max: 3_000 }) })
  fc.assert(
    fc.property(users, operation, limits, fc.integer({ min: 0, max: 5 }), (all, ofOperation, limit, gap) => {
      expectPackedBodies(all, { ofOperation, limit, gap })
    }),
  )
})

test('bodies are whole that are larger than the first buffer of the writer, also by a single user', () => {
  const user = (n: number, count: number): User => ({
    key: digest(`key ${n}`).subarray(0, recordKeyBytes),
    identifiers: Array.from({ length: count }, (_, i) => Buffer.concat([Buffer.of(1), digest(`${n} ${i}`)])),
  })
  const all = [user(0, 1), user(1, 1_500), ...Array.from({ length: 2_000 }, (_, n) => user(n + 2, 2))]
  expectPackedBodies(all, { ofOperation: { op: 'update', expiresAtMs: 0 }, limit: { entries: 1_200, bytes: 400_000 }, gap: 0 })
})

const one = (...types: readonly number[]): User => ({
  key: Buffer.alloc(recordKeyBytes),
  identifiers: types.map((type) => Buffer.concat([Buffer.from([type]), digest(`${type}`)])),
})

test('a user who is too large for any body is refused, and the body so far stays as it is', () => {
  const writer = new UpdateWriter(frame, { entries: 10, bytes: 400 }, { op: 'update', expiresAtMs: 0 })
  writer.add(placed(one(1), 0))
  expect(() => writer.fits(placed(one(1, 2, 3, 4, 5), 0))).toThrow(OversizedOperationError)
  expect(writer.finish()?.body.toString()).toBe(
    `[${renderUserOperation({ op: 'update', users: [one(1).identifiers], expiresAtMs: 0 }).toString()}]`,
  )
})

test.for([[[2, 1]], [[6]], [[0]]] as const)('identifiers of types %s are no sorted digests and throw', ([types]) => {
  const writer = new UpdateWriter(frame, { entries: 10, bytes: 4_000 }, { op: 'update', expiresAtMs: 0 })
  expect(() => writer.fits(placed(one(...types), 0))).toThrow(/an identifier of type/)
})

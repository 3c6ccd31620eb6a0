import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RecordDigester } from '../../../src/sync/read/recordDigest.ts'

const rotate = (x: number, by: number) => ((x << by) | (x >>> (32 - by))) >>> 0

/** HalfSipHash as its authors publish it, with the rounds as parameters, 64 bits. */
function halfSipHash(key: Buffer, bytes: Buffer, rounds: { readonly word: number; readonly final: number }): string {
  const v = [key.readUInt32LE(0), key.readUInt32LE(4) ^ 0xee, key.readUInt32LE(0) ^ 0x6c796765, key.readUInt32LE(4) ^ 0x74656462]
  const round = () => {
    const [a = 0, b = 0, c = 0, d = 0] = v
    let [v0, v1, v2, v3] = [a >>> 0, b >>> 0, c >>> 0, d >>> 0]
    v0 = (v0 + v1) >>> 0
    v1 = (rotate(v1, 5) ^ v0) >>> 0
    v0 = rotate(v0, 16)
    v2 = (v2 + v3) >>> 0
    v3 = (rotate(v3, 8) ^ v2) >>> 0
    v0 = (v0 + v3) >>> 0
    v3 = (rotate(v3, 7) ^ v0) >>> 0
    v2 = (v2 + v1) >>> 0
    v1 = (rotate(v1, 13) ^ v2) >>> 0
    v2 = rotate(v2, 16)
    v.splice(0, 4, v0, v1, v2, v3)
  }
  const times = (count: number) => Array.from({ length: count }, round)
  const padded = Buffer.alloc((Math.floor(bytes.length / 4) + 1) * 4)
  bytes.copy(padded)
  padded[padded.length - 1] = bytes.length & 255
  for (let at = 0; at < padded.length; at += 4) {
    const word = padded.readUInt32LE(at)
    v[3] = (v[3] as number) ^ word
    times(rounds.word)
    v[0] = (v[0] as number) ^ word
  }
  const out = Buffer.alloc(8)
  v[2] = (v[2] as number) ^ 0xee
  times(rounds.final)
  out.writeInt32LE((v[1] as number) ^ (v[3] as number), 0)
  v[1] = (v[1] as number) ^ 0xdd
  times(rounds.final)
  out.writeInt32LE((v[1] as number) ^ (v[3] as number), 4)
  return out.toString('hex')
}

function digest(key: Buffer, bytes: Buffer, start = 0, end = bytes.length): string {
  const digester = new RecordDigester(key)
  digester.writeDigest(bytes, start, end)
  return Buffer.from(digester.digest.buffer).toString('hex')
}

describe('the digest of a raw record', () => {
  test('the oracle gives the published values of HalfSipHash-2-4', () => {
    const key = Buffer.from('0001020304050607', 'hex')
    const values = ['218d1f59b9b83cc8', 'be552412f8387315']
    expect(halfSipHash(key, Buffer.alloc(0), { word: 2, final: 4 })).toBe(values[0])
    expect(halfSipHash(key, Buffer.from([0]), { word: 2, final: 4 })).toBe(values[1])
  })
  test('is two HalfSipHash-1-3 with the halves of the key, of the range only', () => {
    const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
    const key = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((array) => Buffer.from(array))
    fc.assert(
      fc.property(key, bytes, bytes, bytes, (given, before, record, after) => {
        const expected = [0, 8].map((at) => halfSipHash(given.subarray(at, at + 8), record, { word: 1, final: 3 })).join('')
        expect(digest(given, Buffer.concat([before, record, after]), before.length, before.length + record.length)).toBe(expected)
      }),
      { numRuns: 2_000 },
    )
  })
  test('another key is another digest', () => {
    const record = Buffer.from('1,a')
    expect(digest(Buffer.alloc(16, 1), record)).not.toBe(digest(Buffer.alloc(16, 2), record))
  })
})

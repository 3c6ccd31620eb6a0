/** Streams that are read with a timeout for each step. */
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { Timeouts } from '../../../src/sources/timeouts.ts'

const chunksOf = (stream: Readable) => Array.fromAsync(new Timeouts('a stream', {}).chunks(stream))

test('yields the bytes of a stream in order', async () => {
  expect(await chunksOf(Readable.from([Buffer.from('a'), Buffer.from('b')]))).toEqual([Buffer.from('a'), Buffer.from('b')])
})

test('a stream that yields text instead of bytes is an error', async () => {
  const stream = Readable.from([Buffer.from('a')], { encoding: 'utf8' })
  await expect(chunksOf(stream)).rejects.toThrow('a stream of bytes yielded something else')
})

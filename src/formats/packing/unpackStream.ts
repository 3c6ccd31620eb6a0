import type { Transform } from 'node:stream'
import type { ByteQueue } from '../byteQueue.ts'

/** A decompressor of node:zlib: knows how many input bytes it has used. */
export type Unpacker = Transform & { readonly bytesWritten: number }

/**
 * Runs exactly one packed stream out of `input` and gives back what stands behind it, even in the same chunk: that is
 * how trailing bytes and following members are seen, which node:zlib itself passes over in silence.
 *
 * @throws the unpacker's own error (`Z_DATA_ERROR` damaged, `Z_BUF_ERROR` cut)
 */
export async function* unpackStream(input: ByteQueue, unpacker: Unpacker): AsyncGenerator<Buffer> {
  let fed = 0
  let last: Buffer = Buffer.alloc(0)
  let failure: unknown
  let ended = false
  unpacker.once('end', () => (ended = true))
  const feeding = (async () => {
    for (;;) {
      const chunk = await input.next()
      if (chunk === undefined) {
        unpacker.end()
        return
      }
      last = chunk
      fed += chunk.length
      await new Promise<void>((resolve) => unpacker.write(chunk, () => resolve()))
      if (ended || unpacker.destroyed || unpacker.bytesWritten < fed) return
    }
  })().catch((error: unknown) => {
    failure = error
    unpacker.destroy(error instanceof Error ? error : new Error('reading failed', { cause: error }))
  })
  try {
    for await (const chunk of unpacker) yield chunk as Buffer
    await feeding
    if (unpacker.bytesWritten < fed) input.giveBack(last.subarray(last.length - (fed - unpacker.bytesWritten)))
  } catch (error) {
    // What the source itself said is worth more than the decompressor's echo of it.
    throw failure ?? error
  } finally {
    unpacker.destroy()
  }
}

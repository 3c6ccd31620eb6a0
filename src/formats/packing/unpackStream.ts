import type { Transform } from 'node:stream'
import type { ByteQueue } from '../byteQueue.ts'
import { bufferOf } from '../../unknownValue.ts'

/** Decompressor of node:zlib that counts its input bytes. */
export type Unpacker = Transform & { readonly bytesWritten: number }

/**
 * Decompresses one stream from `input`, or several members that node:zlib reads as one stream. Puts back the bytes after the end, which
 * node:zlib ignores, so that the caller can check them.
 *
 * @throws the error of the decompressor (`Z_DATA_ERROR`: damaged, `Z_BUF_ERROR`: cut off)
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
    for await (const chunk of unpacker) yield bufferOf(chunk)
    await feeding
    if (unpacker.bytesWritten < fed) input.giveBack(last.subarray(last.length - (fed - unpacker.bytesWritten)))
  } catch (error) {
    // The error of `input` is more precise than the resulting error of the decompressor.
    throw failure ?? error
  } finally {
    unpacker.destroy()
  }
}

import type { Transform } from 'node:stream'
import { bufferOf } from '../../unknownValue.ts'
import type { ByteQueue } from '../byteQueue.ts'
import { fileError } from '../fileError.ts'

/** Decompressor of node:zlib that counts its input bytes. */
export type Decompressor = Transform & { readonly bytesWritten: number }

/**
 * Decompresses one stream from `input`, or several members that node:zlib reads as one stream. node:zlib ignores the bytes after the end.
 * They are put back, so that the caller can check them. `format`, `name`: the format and the source in messages.
 *
 * @throws RunError FILE_TRUNCATED, FILE_CORRUPT; an error of `input` unchanged
 */
export async function* decompressStream(
  input: ByteQueue,
  decompressor: Decompressor,
  { format, name }: { readonly format: string; readonly name: string },
): AsyncGenerator<Buffer> {
  let fedBytes = 0
  let lastChunk: Buffer = Buffer.alloc(0)
  let failure: unknown
  let hasEnded = false
  decompressor.once('end', () => (hasEnded = true))
  const feeding = (async () => {
    for (;;) {
      const chunk = await input.next()
      if (chunk === undefined) {
        decompressor.end()
        return
      }
      lastChunk = chunk
      fedBytes += chunk.length
      await new Promise<void>((resolve) => decompressor.write(chunk, () => resolve()))
      if (hasEnded || decompressor.destroyed || decompressor.bytesWritten < fedBytes) return
    }
  })().catch((error: unknown) => {
    failure = error
    decompressor.destroy(error instanceof Error ? error : new Error('reading failed', { cause: error }))
  })
  try {
    for await (const chunk of decompressor) yield bufferOf(chunk)
    await feeding
    if (decompressor.bytesWritten < fedBytes) input.giveBack(lastChunk.subarray(lastChunk.length - (fedBytes - decompressor.bytesWritten)))
  } catch (error) {
    // The error of `input` is more precise than the resulting error of the decompressor.
    throw failure ?? compressionError(error, format, name)
  } finally {
    decompressor.destroy()
  }
}

/** Returns FILE_TRUNCATED or FILE_CORRUPT for an error of node:zlib. Returns any other error unchanged, for example of a cancelled read. */
function compressionError(error: unknown, format: string, name: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || !/^(Z_|ZSTD_)/.test(String(error.code))) return error
  if (error.code === 'Z_BUF_ERROR')
    return fileError('FILE_TRUNCATED', `the ${format} stream is cut`, { name, hint: 'Transfer or export the file again.', cause: error })
  return fileError('FILE_CORRUPT', `the ${format} stream is damaged`, { name, hint: 'Compress or transfer the file again.', cause: error })
}

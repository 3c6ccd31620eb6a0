import { fileError } from '../fileError.ts'

/** Returns FILE_TRUNCATED or FILE_CORRUPT for an error of node:zlib. Returns any other error unchanged, for example of a cancelled read. */
export function packingError(error: unknown, compression: string, name: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || !/^(Z_|ZSTD_)/.test(String(error.code))) return error
  if (error.code === 'Z_BUF_ERROR')
    return fileError('FILE_TRUNCATED', `the ${compression} stream is cut`, {
      name,
      hint: 'Transfer or export the file again.',
      cause: error,
    })
  return fileError('FILE_CORRUPT', `the ${compression} stream is damaged`, {
    name,
    hint: 'Compress or transfer the file again.',
    cause: error,
  })
}

import { RunError } from '../errors.ts'
import type { ByteStream } from './byteStream.ts'
import type { SourceContext } from './openedSource.ts'
import { Patience } from './patience.ts'

const label = 'standard input'

/**
 * Standard input. Its end proves nothing: whoever wrote to the pipe may have been killed. Waited for as long as a whole
 * reading may take, because who writes may think.
 *
 * @throws RunError SOURCE_UNAVAILABLE while reading
 */
export function openStdin(context: Pick<SourceContext, 'limits' | 'signal'>): ByteStream {
  const patience = new Patience(context)
  async function* chunks(): AsyncGenerator<Buffer> {
    try {
      // Nobody sets an encoding on it, so it gives buffers.
      yield* patience.chunks(process.stdin as AsyncIterable<Buffer>, Infinity)
    } catch (error) {
      patience.throwIfCancelled()
      const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
      throw new RunError('SOURCE_UNAVAILABLE', `standard input cannot be read${code}`, {
        where: label,
        mend: 'Pipe the export in, or name its file in `source.url`.',
        cause: error,
      })
    }
  }
  return {
    label,
    chunks: chunks(),
    end: () => Promise.resolve({ reason: 'the end of a pipe does not prove that everything was written; set `complete:`' }),
    close: () => {
      // Otherwise whoever still writes would keep this process waiting after it gave up.
      process.stdin.destroy()
      return Promise.resolve()
    },
  }
}

import { RunError } from '../errors.ts'
import type { ByteStream } from './byteStream.ts'
import type { SourceContext } from './openedSource.ts'
import { Timeouts } from './timeouts.ts'
import { errorCode } from '../unknownValue.ts'

const label = 'standard input'

/**
 * Opens standard input. Its end proves nothing, because the writing process may have been killed. Only the timeout of the whole read
 * applies, because the writing process may pause.
 *
 * @throws RunError SOURCE_UNAVAILABLE, here or while reading
 */
export function openStdin(context: Pick<SourceContext, 'limits' | 'signal'>): ByteStream {
  const timeouts = new Timeouts(label, context)
  if (process.stdin.destroyed)
    throw new RunError('SOURCE_UNAVAILABLE', 'standard input was read before, or this process has none', {
      where: label,
      hint: 'Pipe the export into `sluice run` of one pipeline, or name its file in source.url.',
    })
  async function* chunks(): AsyncGenerator<Buffer> {
    try {
      yield* timeouts.chunks(process.stdin, Infinity)
    } catch (error) {
      timeouts.throwIfEnded()
      const code = errorCode(error)
      throw new RunError('SOURCE_UNAVAILABLE', `standard input cannot be read${code === undefined ? '' : ` (${code})`}`, {
        where: label,
        hint: 'Pipe the export in, or name its file in `source.url`.',
        cause: error,
      })
    }
  }
  return {
    label,
    chunks: chunks(),
    end: () => Promise.resolve({ reason: 'the end of a pipe does not prove that everything was written; set `complete:`' }),
    close: () => {
      // An open standard input would keep this process alive while the writing process still runs.
      process.stdin.destroy()
      return Promise.resolve()
    },
  }
}

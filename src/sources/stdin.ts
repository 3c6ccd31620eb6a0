import type { ByteStream } from './byteStream.ts'

/** Standard input. Its end proves nothing: whoever wrote to the pipe may have been killed. */
export function openStdin(input: AsyncIterable<unknown> = process.stdin): ByteStream {
  async function* chunks(): AsyncGenerator<Buffer> {
    for await (const chunk of input) yield Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk))
  }
  return {
    label: 'standard input',
    chunks: chunks(),
    end: () => Promise.resolve({ reason: 'the end of a pipe does not prove that everything was written; set `complete:`' }),
    close: () => Promise.resolve(),
  }
}

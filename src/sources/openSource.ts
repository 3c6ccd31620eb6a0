import { createHash } from 'node:crypto'
import { RunError } from '../errors.ts'
import { ByteQueue } from '../formats/byteQueue.ts'
import { fileError } from '../formats/fileError.ts'
import { readLimits } from '../formats/limits.ts'
import { openFormat } from '../formats/openFormat.ts'
import type { SourceFacts } from '../formats/rows.ts'
import type { SourceDefinition } from '../model/pipeline.ts'
import type { SourceRow } from '../model/record.ts'
import type { ByteStream } from './byteStream.ts'
import { classifyCompleteness } from './completeness.ts'
import { checkCredentialNames } from './credentials.ts'
import { openJoined } from './joinedSource.ts'
import { shownAddress } from '../shownAddress.ts'
import { openLocalFile } from './file/localFile.ts'
import type { OpenedSource, SourceContext } from './openedSource.ts'
import { sourceTypeOf } from './sourceAddress.ts'
import { openStdin } from './stdin.ts'
import { readMarkerOrManifest } from './completionMarker.ts'
import { withoutUndefined } from '../withoutUndefined.ts'

export type { OpenedSource, SourceContext } from './openedSource.ts'

/**
 * Opens one source and detects its format. Before `rows` is iterated, reads only the first few hundred kilobytes; workbooks and joined
 * files are read whole. Rows can be read once. The caller must close the source.
 *
 * @throws RunError SOURCE_…, FILE_…, WRONG_FORMAT, HEADER_MISMATCH, UNEXPECTED_CONTENT, DIGEST_MISMATCH, JOIN_TOO_LARGE; here or while
 * the rows are read
 */
export async function openSource(definition: SourceDefinition, context: SourceContext): Promise<OpenedSource> {
  if (definition.join !== undefined) return openJoined(definition, definition.join, context, openSource)
  checkCredentialNames(definition)
  if (sourceTypeOf(definition.uri) === 'postgres') return (await import('./sql/postgres.ts')).openPostgres(definition, context)
  const stream = await openBytes(definition, context)
  if (stream === 'unchanged') return unchangedSource(definition, context.previous)
  try {
    return await openStream(stream, definition, context)
  } catch (error) {
    await stream.close()
    throw error
  }
}

/** Opens the bytes of a source. @throws RunError SOURCE_REFUSED for an address of an unknown type */
async function openBytes(definition: SourceDefinition, context: SourceContext): Promise<ByteStream | 'unchanged'> {
  const { uri } = definition
  const type = sourceTypeOf(uri)
  if (type === 'stdin') return openStdin(context)
  if (type === 'file') return openLocalFile(uri)
  // These modules are loaded on demand, because most pipelines need none of them.
  if (type === 'http') return (await import('./http/http.ts')).openHttp(definition, context)
  if (type === 'sftp') return (await import('./sftp/sftp.ts')).openSftp(definition, context)
  if (type === 's3') return (await import('./s3/s3.ts')).openS3(definition, context)
  throw new RunError('SOURCE_REFUSED', 'the type of this source address is not known', {
    where: uri.slice(0, uri.indexOf(':') + 1),
    hint: 'Use a path, `file:`, `https:`, `sftp:`, `s3:`, `postgres:` or `-`.',
  })
}

/** Opens the format of a stream. The facts are known once the rows have ended. */
async function openStream(stream: ByteStream, definition: SourceDefinition, context: SourceContext): Promise<OpenedSource> {
  const limits = context.limits ?? readLimits
  const name = stream.label
  const hash = createHash('sha256')
  let bytes = 0
  const input = new ByteQueue(
    (async function* () {
      for await (const chunk of stream.chunks) {
        context.signal?.throwIfAborted()
        bytes += chunk.length
        if (bytes > limits.compressedBytes)
          throw fileError('FILE_TOO_LARGE', `the source is larger than ${limits.compressedBytes} bytes`, {
            name,
            hint: 'Split the export, or compress it.',
          })
        hash.update(chunk)
        yield chunk
      }
    })(),
  )
  const opened = await openFormat(input, definition, {
    name,
    limits,
    ...withoutUndefined({ charset: stream.charset, gate: context.gate }),
  })
  // Rows of plain UTF-8 text are copies of the bytes, so the buffers may be reused. Decompression and decoding may keep a chunk.
  const { format, encoding, compression } = opened.detected
  if (format !== 'xlsx' && encoding === 'utf-8' && compression === 'none') stream.reuseBuffers?.()
  let facts: SourceFacts | undefined
  async function* rows(): AsyncGenerator<readonly SourceRow[]> {
    try {
      yield* opened.reader.rows
      const transport = await stream.end()
      const marker = await readMarkerOrManifest(definition, stream)
      const end = opened.reader.end()
      const sha256 = hash.digest('hex')
      const completeness = classifyCompleteness({
        required: definition.complete,
        format: end,
        transport,
        containerProof: opened.containerProof,
        bytes,
        sha256,
        isGuessedLines: opened.detected.format === 'jsonl' && definition.format !== 'jsonl',
        ...withoutUndefined({ previous: context.previous, marker }),
      })
      facts = {
        uri: name,
        bytes,
        sha256,
        format: opened.detected.format,
        encoding: opened.detected.encoding,
        compression: opened.detected.compression,
        columns: end.columns,
        finalNewline: end.finalNewline,
        completeness,
        notes: [...opened.detected.notes, ...end.notes.filter((note) => !opened.detected.notes.includes(note))],
        ...withoutUndefined({ etag: transport.etag, lastModified: transport.lastModified }),
      }
    } finally {
      await stream.close()
    }
  }
  return {
    unchanged: false,
    detected: opened.detected,
    rows: rows(),
    facts: () => {
      if (facts === undefined) throw new Error('the facts of a source are known once its rows have ended')
      return facts
    },
    close: () => stream.close(),
  }
}

/** Returns a source without rows. Its facts are those of the last complete read. */
function unchangedSource(definition: SourceDefinition, previous: SourceFacts | undefined): OpenedSource {
  if (previous === undefined)
    throw new RunError('SOURCE_UNAVAILABLE', 'the server answered that nothing changed, but nothing was read before', {
      where: shownAddress(definition.uri),
      hint: 'Run again.',
    })
  return {
    unchanged: true,
    detected: undefined,
    rows: {
      [Symbol.asyncIterator]: () => {
        throw new Error('an unchanged source has no rows to read; check `unchanged` first')
      },
    },
    facts: () => previous,
    close: () => Promise.resolve(),
  }
}

/** Returns the pipeline of a backfill, whose source replaces the sources of the pipeline. */
import { RunError } from '../../errors.ts'
import { isQueryRemoved } from '../../shownAddress.ts'
import type { Pipeline, SourceDefinition } from '../../model/pipeline.ts'
import { isRejectsHeader } from '../../mapping/rejectsFile.ts'
import { isLocalFile } from '../../sources/sourceAddress.ts'
import { openLocalFile } from '../../sources/file/localFile.ts'

/** Number of bytes that are read to find the header and the encoding. In most files they include the first character beyond ASCII. */
const headBytes = 1_048_576

/**
 * Returns the pipeline with `uri` as its only source. A local file with the columns of `sluice rejects --csv` is read in UTF-8 or UTF-16.
 * If a spreadsheet saved the file in another encoding, it is read in the encoding of the first source. Every other source is read with the
 * settings of the first source, and with its credentials if `mayShareCredentials` permits. Format, compression and proof of completeness
 * are detected.
 *
 * @throws {RunError} `SOURCE_CREDENTIALS` if `uri` was stored without its query; and as `openLocalFile`
 */
export async function withBackfillSource(pipeline: Pipeline, uri: string): Promise<Pipeline> {
  const [first] = pipeline.sources
  if (!first) throw new Error('a pipeline must have a source')
  if (isQueryRemoved(uri))
    throw new RunError(
      'SOURCE_CREDENTIALS',
      'the address of the backfill had a query, which is not stored because it may contain a secret',
      {
        where: uri,
        hint: `sluice backfill ${pipeline.name} --source ADDRESS`,
      },
    )
  const fresh = { uri, format: 'auto', compression: 'auto', complete: { kind: 'auto' } } as const
  const head = isLocalFile(uri) ? await readHead(uri) : undefined
  const text = head && utfText(head)
  // The names of the columns that `rejects --csv` adds are ASCII, so `latin1` reads them in every single-byte encoding.
  if (head === undefined || !isRejectsHeader(firstLine(text ?? head.toString('latin1')))) {
    const { credentials, ...own } = first
    const kept = credentials === undefined || !mayShareCredentials(first.uri, uri) ? {} : { credentials }
    return { ...pipeline, sources: [{ ...own, ...kept, ...fresh }] }
  }
  const copy: SourceDefinition = {
    ...fresh,
    encoding: text === undefined ? first.encoding : 'auto',
    csv: { delimiter: 'auto', quote: '"', headerRow: 'auto' },
    allowPrivate: false,
    ...(first.products === undefined ? {} : { products: first.products }),
  }
  return { ...pipeline, sources: [copy] }
}

/**
 * Returns true if the source at `other` may use the credentials of `own`: both have the same scheme. A web server receives the secret
 * itself, so it must also have the same origin. For other servers the scheme is enough: the host key of an SFTP server is pinned, and
 * object stores and databases receive only a proof of the secret.
 */
function mayShareCredentials(own: string, other: string): boolean {
  const [scheme] = other.split(':')
  if (isLocalFile(other) || scheme === undefined || own.split(':')[0] !== scheme) return false
  return !/^https?$/i.test(scheme) || (URL.canParse(own) && URL.canParse(other) && new URL(own).origin === new URL(other).origin)
}

/** Returns at least the first `headBytes` of a local file, or the whole file if it is smaller. */
async function readHead(uri: string): Promise<Buffer> {
  const stream = await openLocalFile(uri)
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of stream.chunks) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= headBytes) break
    }
  } finally {
    await stream.close()
  }
  return Buffer.concat(chunks)
}

/**
 * Returns the text of a head in UTF-8, or in UTF-16 with a byte-order mark, without this mark. Undefined for any other encoding. The head
 * may end within a character, so it is decoded as a part of a stream.
 */
function utfText(head: Buffer): string | undefined {
  const [first, second] = head
  const encoding = first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
  try {
    return new TextDecoder(encoding, { fatal: encoding === 'utf-8' }).decode(head, { stream: true })
  } catch {
    return undefined
  }
}

/** Returns the first line, without trailing spaces. */
function firstLine(text: string): string {
  return (/^[^\r\n]*/.exec(text)?.[0] ?? '').trimEnd()
}

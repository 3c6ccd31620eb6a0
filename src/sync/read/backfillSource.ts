/** Replaces the sources of a pipeline by the source of a backfill: a run over one given file or address. */
import { RunError } from '../../errors.ts'
import { isQueryRemoved } from '../../shownAddress.ts'
import type { Pipeline, SourceDefinition } from '../../model/pipeline.ts'
import { isRejectsHeader } from '../../mapping/rejectsFile.ts'
import { isLocalFile, namesNoDatabase, sourceTypeOf } from '../../sources/sourceAddress.ts'
import { withLowerScheme } from '../../withLowerScheme.ts'
import { openLocalFile } from '../../sources/file/localFile.ts'

/** Number of bytes that are read to find the header and the encoding. In most files they include the first character beyond ASCII. */
const headBytes = 1_048_576

/**
 * Returns the pipeline with `address` as its only source. Format, compression and proof of completeness are always detected. The other
 * settings depend on the source:
 * - A local file with the columns of `sluice rejects --csv` is read in UTF-8 or UTF-16. If a spreadsheet saved the file in another
 *   encoding, it is read in the encoding of the pipeline's first source.
 * - Any other source is read with the settings of the first source, and with its credentials if `mayShareCredentials` permits.
 *
 * @throws {RunError} `SOURCE_CREDENTIALS` if `address` was stored without its query; and the errors of `openLocalFile`
 */
export async function withBackfillSource(pipeline: Pipeline, address: string): Promise<Pipeline> {
  const uri = withLowerScheme(address)
  const [firstSource] = pipeline.sources
  if (!firstSource) throw new Error('a pipeline must have a source')
  if (isQueryRemoved(uri))
    throw new RunError(
      'SOURCE_CREDENTIALS',
      'the address of the backfill had a query, which is not stored because it may contain a secret',
      {
        where: uri,
        hint: `sluice backfill ${pipeline.name} --source ADDRESS`,
      },
    )
  const detected = { uri, format: 'auto', compression: 'auto', complete: { kind: 'auto' } } as const
  const head = isLocalFile(uri) ? await readHead(uri) : undefined
  const text = head === undefined ? undefined : utfText(head)
  // The names of the columns that `rejects --csv` adds are ASCII, so `latin1` reads them in every single-byte encoding.
  const isRejectsFile = head !== undefined && isRejectsHeader(firstLine(text ?? head.toString('latin1')))
  if (!isRejectsFile) {
    const { credentials, ...settings } = firstSource
    const shared = credentials === undefined || !mayShareCredentials(firstSource, uri) ? {} : { credentials }
    return { ...pipeline, sources: [{ ...settings, ...shared, ...detected }] }
  }
  const rejectsFile: SourceDefinition = {
    ...detected,
    encoding: text === undefined ? firstSource.encoding : 'auto',
    csv: { delimiter: 'auto', quote: '"', headerRow: 'auto' },
    allowPrivate: false,
    ...(firstSource.products === undefined ? {} : { products: firstSource.products }),
  }
  return { ...pipeline, sources: [rejectsFile] }
}

/**
 * Returns true if the source at `other` may use the credentials of the pipeline's source. Both addresses must have the same scheme. The first
 * rule that applies decides:
 *
 * - With `credentials.url`: neither address may name a database, because that URL replaces the whole address.
 * - Equal addresses may share credentials.
 * - Two web addresses must have the same origin, because the server receives the secret itself.
 * - Two databases must be on the same server, because a server may request the password in clear text. `other` must not contain a password.
 * - For other types the same scheme is enough. The host key of an SFTP server is pinned, and an object store receives only a proof of the
 *   secret.
 */
function mayShareCredentials({ uri: own, credentials }: SourceDefinition, other: string): boolean {
  const [scheme] = other.split(':')
  if (isLocalFile(other) || scheme === undefined || own.split(':')[0] !== scheme) return false
  if (credentials?.['url'] !== undefined) return namesNoDatabase(own) && namesNoDatabase(other)
  if (own === other) return true
  const type = sourceTypeOf(other)
  if (type !== 'http' && type !== 'postgres') return true
  const [ownUrl, otherUrl] = [URL.parse(own), URL.parse(other)]
  if (ownUrl === null || otherUrl === null) return false
  if (type === 'http') return ownUrl.origin === otherUrl.origin
  const server = databaseServer(ownUrl)
  return server !== undefined && server === databaseServer(otherUrl) && otherUrl.password === ''
}

/** Returns host and port of the server of a database; undefined without a host. The driver prefers `host` and `port` of the query. */
function databaseServer({ hostname, port, searchParams }: URL): string | undefined {
  const last = (name: string) => searchParams.getAll(name).at(-1)
  const host = last('host') ?? hostname
  return host === '' ? undefined : `${host.toLowerCase()}:${last('port') ?? (port === '' ? '5432' : port)}`
}

/** Returns at least `headBytes` of a local file, or the whole file if it is smaller. */
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
 * Returns the text of the first bytes of a file in UTF-8, or in UTF-16 with a byte-order mark, without this mark. Returns undefined for any
 * other encoding. With `stream: true`, a character that is cut at the end is not an error.
 */
function utfText(head: Buffer): string | undefined {
  const [byte0, byte1] = head
  if (byte0 === 0xff && byte1 === 0xfe) return new TextDecoder('utf-16le').decode(head, { stream: true })
  if (byte0 === 0xfe && byte1 === 0xff) return new TextDecoder('utf-16be').decode(head, { stream: true })
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true })
  } catch {
    return undefined
  }
}

function firstLine(text: string): string {
  return (/^[^\r\n]*/.exec(text)?.[0] ?? '').trimEnd()
}

import { matchesGlob, posix } from 'node:path'
import type SftpClient from 'ssh2-sftp-client'
import { RunError } from '../errors.ts'
import type { SourceDefinition } from '../pipeline/definition.ts'
import type { ByteStream, TransportEnd } from './byteStream.ts'
import { besideBytes } from './byteStream.ts'
import type { Match } from './newestMatch.ts'
import { newerMatch } from './newestMatch.ts'
import type { SourceContext } from './openedSource.ts'
import { Patience } from './patience.ts'
import { isSameFile, SftpBody } from './sftpBody.ts'
import { SftpConnection } from './sftpConnection.ts'
import { changedFile, sftpError } from './sftpErrors.ts'

/**
 * Opens a file over SFTP, or the newest match of a pattern in its folder. The host key must be pinned (`host_key:`);
 * without one the refusal says which key the server showed. Credentials: `username`, `password`, `private_key`,
 * `passphrase`. The file must keep size and time while it is read and have the length that it announced. A connection
 * that is cut is followed by another, as often as each brings something (`SftpBody`).
 *
 * @throws RunError SOURCE_REFUSED, SOURCE_HOST_KEY, SOURCE_CREDENTIALS, SOURCE_DENIED, SOURCE_MISSING,
 *   SOURCE_UNAVAILABLE, SOURCE_CHANGED, FILE_TRUNCATED
 */
export async function openSftp(definition: SourceDefinition, context: SourceContext): Promise<ByteStream> {
  const { url, path, label: asked } = addressOf(definition.uri)
  const patience = new Patience(context)
  const connection = new SftpConnection({ url, definition, env: context.env, patience, backoffMs: context.backoffMs ?? 500 })
  try {
    const file = await connection.ask((client) => newestMatch(client, path, asked))
    const label = file === path ? asked : `sftp://${url.host}${pathname(file)}`
    const before = await connection.ask((client) => client.stat(file))
    if (!before.isFile)
      throw new RunError('SOURCE_REFUSED', 'the source is no regular file', {
        where: label,
        mend: 'Name a file, or a pattern such as `/exports/*.csv`.',
      })
    const body = new SftpBody({ connection, path: file, label, before, patience })
    return {
      label,
      chunks: body.read(),
      beside: async (suffix) => {
        const found = await connection.ask((client) => client.stat(file + suffix))
        if (!found.isFile) return undefined
        const content = found.size > besideBytes ? Buffer.alloc(0) : await connection.ask((client) => client.get(file + suffix))
        // Without a target the client gives the bytes themselves.
        return { content: content as Buffer, older: found.modifyTime < before.modifyTime }
      },
      end: async (): Promise<TransportEnd> => {
        // Gone meanwhile is changed as well.
        const after = await connection
          .ask((client) => client.stat(file))
          .catch((error: unknown) => {
            patience.throwIfCancelled()
            const failure = sftpError(error, label)
            throw failure.code === 'SOURCE_MISSING' ? changedFile(label, error) : failure
          })
        if (!isSameFile(before, after) || body.received !== before.size) throw changedFile(label)
        return { proof: 'file unchanged while read', endsAsBefore: true }
      },
      close: () => connection.close(),
    }
  } catch (error) {
    await connection.close()
    patience.throwIfCancelled()
    throw sftpError(error, asked)
  }
}

function addressOf(uri: string): { readonly url: URL; readonly path: string; readonly label: string } {
  const refuse = (what: string, mend: string) => new RunError('SOURCE_REFUSED', what, { where: 'source.url', mend })
  if (!URL.canParse(uri)) throw refuse('the address cannot be read', 'Write sftp://user@host/path.')
  const url = new URL(uri)
  if (url.password !== '')
    throw refuse('the address holds a password', 'Name an environment variable under `credentials: { password: … }`.')
  if (/[\r\n\t\0]/.test(uri)) throw refuse('the address holds a control character', 'Write a line end as %0A and a tab as %09.')
  // Nothing but the path has a meaning here, so ? and # belong to it, as in a pattern.
  const given = url.pathname + url.search + url.hash
  if (/[?&][\w-]+=/.test(given)) throw refuse('the address holds a query', 'Set what it says under `source`; write a ? of a name as %3F.')
  let path: string
  try {
    path = decodeURIComponent(given).replace(/^\/~\//, '')
  } catch {
    throw refuse('the path of the address cannot be decoded', 'Write % as %25.')
  }
  return { url, path, label: `sftp://${url.host}${given}` }
}

/** A path as it stands in an address. */
function pathname(path: string): string {
  const encoded = path.split('/').map(encodeURIComponent).join('/')
  return path.startsWith('/') ? encoded : `/~/${encoded}`
}

/** The file of that very name, else the newest that matches it as a pattern. Patterns stand in the name, not in folders. */
async function newestMatch(client: SftpClient, path: string, label: string): Promise<string> {
  const name = posix.basename(path)
  if (!wild.test(name) && !wild.test(path)) return path
  const folder = posix.dirname(path)
  const entries = await client.list(folder).catch((error: unknown) => {
    throw isMissing(error) ? missingFolder(folder, label) : error
  })
  let newest: Match | undefined
  for (const entry of entries) {
    if (entry.name === name) return path
    if (!matchesGlob(entry.name, name)) continue
    // A link counts as what it leads to; where it leads nowhere, not at all.
    const found = entry.type === 'l' ? await client.stat(posix.join(folder, entry.name)).catch(withoutMissing) : undefined
    if (entry.type === '-' || found?.isFile === true)
      newest = newerMatch(newest, { name: entry.name, at: found?.modifyTime ?? entry.modifyTime }, name)
  }
  if (newest === undefined)
    throw new RunError('SOURCE_MISSING', 'no finished file matches the pattern', {
      where: label,
      mend: 'Check the folder and the pattern in `source.url`.',
    })
  return posix.join(folder, newest.name)
}

const wild = /[*?[{]/

function isMissing(error: unknown): boolean {
  return sftpError(error, '').code === 'SOURCE_MISSING'
}

function withoutMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

function missingFolder(folder: string, where: string): RunError {
  return wild.test(folder)
    ? new RunError('SOURCE_REFUSED', 'the source is a pattern in the name of a folder, which SFTP has not', {
        where,
        mend: 'Name the folder; a pattern stands in the name of the file.',
      })
    : new RunError('SOURCE_MISSING', 'the folder does not exist', { where, mend: 'Check the folder in `source.url`.' })
}

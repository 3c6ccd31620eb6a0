import { matchesGlob, posix } from 'node:path'
import type SftpClient from 'ssh2-sftp-client'
import { RunError } from '../../errors.ts'
import type { SourceDefinition } from '../../model/pipeline.ts'
import { maxBesideBytes, type ByteStream, type TransportEnd } from '../byteStream.ts'
import { newerMatch, wildcard, type Match } from '../newestMatch.ts'
import type { SourceContext } from '../openedSource.ts'
import { Timeouts } from '../timeouts.ts'
import { isSameFile, SftpBody } from './sftpBody.ts'
import { SftpConnection } from './sftpConnection.ts'
import { changedFileError, sftpError } from './sftpErrors.ts'

/**
 * Opens a file over SFTP, or the newest match of a pattern in its folder. The host key must be pinned (`host_key:`). Without a pinned key,
 * the error shows the key of the server. Credentials: `username`, `password`, `private_key`, `passphrase`. Size and time of the file must
 * not change during the read. After a broken connection, `SftpBody` continues over a new one.
 *
 * @throws RunError SOURCE_REFUSED, SOURCE_HOST_KEY, SOURCE_CREDENTIALS, SOURCE_DENIED, SOURCE_MISSING, SOURCE_UNAVAILABLE,
 * SOURCE_CHANGED, FILE_TRUNCATED
 */
export async function openSftp(definition: SourceDefinition, context: SourceContext): Promise<ByteStream> {
  const { url, path, label: requested } = addressOf(definition.uri)
  const timeouts = new Timeouts(requested, context)
  const connection = new SftpConnection({ url, definition, env: context.env, timeouts, backoffMs: context.backoffMs ?? 500 })
  try {
    const file = await connection.perform((client) => newestMatch(client, path, requested))
    const label = file === path ? requested : `sftp://${url.host}${encodePath(file)}`
    const statBefore = await connection.perform((client) => client.stat(file))
    if (!statBefore.isFile)
      throw new RunError('SOURCE_REFUSED', 'the source is not a regular file', {
        where: label,
        hint: 'Name a file, or a pattern such as `/exports/*.csv`.',
      })
    const body = new SftpBody({ connection, path: file, label, before: statBefore, timeouts })
    return {
      label,
      chunks: body.read(),
      readBeside: async (suffix) => {
        const markerStat = await connection.perform((client) => client.stat(file + suffix))
        if (!markerStat.isFile) return undefined
        const content = markerStat.size > maxBesideBytes ? Buffer.alloc(0) : await connection.perform((client) => client.get(file + suffix))
        // Without a target, the client returns the bytes, and an empty list for an empty file (ssh2-sftp-client 12.1).
        return { content: Buffer.isBuffer(content) ? content : Buffer.alloc(0), older: markerStat.modifyTime < statBefore.modifyTime }
      },
      end: async (): Promise<TransportEnd> => {
        // A file that was deleted meanwhile counts as changed.
        const statAfter = await connection
          .perform((client) => client.stat(file))
          .catch((error: unknown) => {
            timeouts.throwIfEnded()
            const failure = sftpError(error, label)
            throw failure.code === 'SOURCE_MISSING' ? changedFileError(label, error) : failure
          })
        if (!isSameFile(statBefore, statAfter) || body.received !== statBefore.size) throw changedFileError(label)
        return { proof: 'file unchanged while read', mustEndAsBefore: true }
      },
      close: () => connection.close(),
    }
  } catch (error) {
    await connection.close()
    timeouts.throwIfEnded()
    throw sftpError(error, requested)
  }
}

/** Parses the address. `path`: decoded path or pattern, relative if it begins with `/~/`. @throws RunError SOURCE_REFUSED */
function addressOf(uri: string): { readonly url: URL; readonly path: string; readonly label: string } {
  const rejectionError = (message: string, hint: string) => new RunError('SOURCE_REFUSED', message, { where: 'source.url', hint })
  if (!URL.canParse(uri)) throw rejectionError('the address cannot be read', 'Write sftp://user@host/path.')
  const url = new URL(uri)
  if (url.password !== '')
    throw rejectionError('the address contains a password', 'Name an environment variable under `credentials: { password: … }`.')
  if (/[\r\n\t\0]/.test(uri)) throw rejectionError('the address contains a control character', 'Write a line end as %0A and a tab as %09.')
  // An SFTP address has no query, so ? and # belong to the path, as in a pattern.
  const given = url.pathname + url.search + url.hash
  if (/[?&][\w-]+=/.test(given))
    throw rejectionError('the address contains a query', 'Put its settings under `source`; write a ? in a name as %3F.')
  let path: string
  try {
    path = decodeURIComponent(given).replace(/^\/~\//, '')
  } catch {
    throw rejectionError('the path of the address cannot be decoded', 'Write % as %25.')
  }
  return { url, path, label: `sftp://${url.host}${given}` }
}

/** Encodes a path for an address. A relative path begins in the user's home folder, and gets the prefix `/~/`. */
function encodePath(path: string): string {
  const encoded = path.split('/').map(encodeURIComponent).join('/')
  return path.startsWith('/') ? encoded : `/~/${encoded}`
}

/** Returns the path itself, or, for a pattern, the newest match. Only the file name may contain a pattern. */
async function newestMatch(client: SftpClient, path: string, label: string): Promise<string> {
  const name = posix.basename(path)
  if (!wildcard.test(path)) return path
  const folder = posix.dirname(path)
  const entries = await client.list(folder).catch((error: unknown) => {
    throw isMissing(error) ? missingFolderError(folder, label) : error
  })
  let newest: Match | undefined
  for (const entry of entries) {
    if (entry.name === name) return path
    if (!matchesGlob(entry.name, name)) continue
    // A link counts as its target; a broken link does not count.
    const found = entry.type === 'l' ? await client.stat(posix.join(folder, entry.name)).catch(ignoreMissing) : undefined
    if (entry.type === '-' || found?.isFile === true)
      newest = newerMatch(newest, { name: entry.name, changedAt: found?.modifyTime ?? entry.modifyTime }, name)
  }
  if (newest === undefined)
    throw new RunError('SOURCE_MISSING', 'no finished file matches the pattern', {
      where: label,
      hint: 'Check the folder and the pattern in `source.url`.',
    })
  return posix.join(folder, newest.name)
}

function isMissing(error: unknown): boolean {
  return sftpError(error, '').code === 'SOURCE_MISSING'
}

/** Returns undefined for the error of a missing file, and throws any other error. */
function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

function missingFolderError(folder: string, where: string): RunError {
  return wildcard.test(folder)
    ? new RunError('SOURCE_REFUSED', 'the source has a pattern in a folder name, which SFTP does not support', {
        where,
        hint: 'Name the folder, and use the pattern only in the file name.',
      })
    : new RunError('SOURCE_MISSING', 'the folder does not exist', { where, hint: 'Check the folder in `source.url`.' })
}

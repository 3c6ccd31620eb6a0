import { createHash } from 'node:crypto'
import { matchesGlob, posix } from 'node:path'
import SftpClient from 'ssh2-sftp-client'
import { RunError } from '../errors.ts'
import { readLimits } from '../formats/limits.ts'
import type { SourceDefinition } from '../pipeline/definition.ts'
import type { ByteStream, TransportEnd } from './byteStream.ts'
import { readCredential } from './credentials.ts'

/**
 * Opens a file over SFTP, or the newest match of a pattern in its folder. The host key must be pinned (`host_key:`);
 * without one the refusal says which key the server showed. Credentials: `username`, `password`, `private_key`,
 * `passphrase`. The file must keep size and time while it is read and have the length that it announced.
 *
 * @throws RunError SOURCE_HOST_KEY, SOURCE_DENIED, SOURCE_MISSING, SOURCE_UNAVAILABLE, SOURCE_CHANGED, FILE_TRUNCATED
 */
export async function openSftp(definition: SourceDefinition, env: Readonly<Record<string, string | undefined>>): Promise<ByteStream> {
  const url = new URL(definition.uri)
  if (url.password !== '')
    throw new RunError('SOURCE_REFUSED', 'the address holds a password', {
      where: url.host,
      mend: 'Name an environment variable under `credentials: { password: … }`.',
    })
  const client = new SftpClient()
  // Reported by the call that is under way.
  client.on('error', () => undefined)
  let closed = false
  const close = async () => {
    if (closed) return
    closed = true
    await client.end().catch(() => undefined)
  }
  const path = decodeURIComponent(url.pathname).replace(/^\/~\//, '')
  const label = `sftp://${url.host}${url.pathname}`
  try {
    await connect(client, url, definition, env)
    const file = await newestMatch(client, path, label)
    const before = await client.stat(file)
    if (!before.isFile)
      throw new RunError('SOURCE_REFUSED', 'the source is no regular file', {
        where: label,
        mend: 'Name a file, or a pattern such as `/exports/*.csv`.',
      })
    let received = 0
    async function* chunks(): AsyncGenerator<Buffer> {
      const stream = client.createReadStream(file, { highWaterMark: 262_144, autoClose: true })
      const idle = setTimeout(() => stream.destroy(new Error('nothing came for a minute')), readLimits.idleMs)
      try {
        for await (const chunk of stream) {
          idle.refresh()
          // Without an encoding the stream gives buffers.
          received += (chunk as Buffer).length
          yield chunk as Buffer
        }
      } catch (error) {
        throw sftpError(error, label, received)
      } finally {
        clearTimeout(idle)
        stream.destroy()
      }
      if (received < before.size) throw cut(label, received, undefined)
    }
    return {
      label,
      chunks: chunks(),
      end: async (): Promise<TransportEnd> => {
        const after = await client.stat(file).catch((error: unknown) => {
          throw sftpError(error, label, received)
        })
        if (after.size !== before.size || after.modifyTime !== before.modifyTime || received !== before.size) {
          throw new RunError('SOURCE_CHANGED', 'the file changed while it was read', {
            where: label,
            mend: 'Run again once the upload is finished; upload under another name and rename.',
          })
        }
        return { proof: 'file unchanged while read', endsAsBefore: true }
      },
      close,
    }
  } catch (error) {
    await close()
    throw error instanceof RunError ? error : sftpError(error, label, 0)
  }
}

async function connect(
  client: SftpClient,
  url: URL,
  definition: SourceDefinition,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const credential = (key: string) => readCredential(key, definition.credentials, env)
  const [password, privateKey, passphrase] = [credential('password'), credential('private_key'), credential('passphrase')]
  let shown: string | undefined
  const hostVerifier = (key: Buffer): boolean => {
    shown = `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
    return shown === definition.hostKey?.replace(/=+$/, '')
  }
  try {
    await client.connect({
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? 22 : Number(url.port),
      username: credential('username') ?? decodeURIComponent(url.username),
      readyTimeout: 20_000,
      hostVerifier,
      ...(password === undefined ? {} : { password }),
      ...(privateKey === undefined ? {} : { privateKey }),
      ...(passphrase === undefined ? {} : { passphrase }),
    })
  } catch (error) {
    if (shown !== undefined && shown !== definition.hostKey?.replace(/=+$/, '')) {
      throw new RunError(
        'SOURCE_HOST_KEY',
        definition.hostKey === undefined
          ? 'the host key of the server is not pinned'
          : 'the server shows another host key than the pinned one',
        {
          where: url.host,
          mend: `Compare with the server's owner, then set \`host_key: ${shown}\`.`,
          cause: error,
        },
      )
    }
    throw error
  }
}

async function newestMatch(client: SftpClient, path: string, label: string): Promise<string> {
  const name = posix.basename(path)
  if (!/[*?[{]/.test(name)) return path
  const folder = posix.dirname(path)
  const files = (await client.list(folder)).filter((entry) => entry.type === '-' && matchesGlob(entry.name, name))
  const [newest] = files.toSorted((a, b) => b.modifyTime - a.modifyTime || (a.name < b.name ? 1 : -1))
  if (newest === undefined)
    throw new RunError('SOURCE_MISSING', 'no file matches the pattern', {
      where: label,
      mend: 'Check the folder and the pattern in `source.url`.',
    })
  return posix.join(folder, newest.name)
}

function sftpError(error: unknown, where: string, received: number): RunError {
  if (error instanceof RunError) return error
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  const message = error instanceof Error ? error.message : ''
  if (code === 'ENOENT' || code === 'ERR_BAD_PATH' || /no such file/i.test(message))
    return new RunError('SOURCE_MISSING', 'the file does not exist', { where, mend: 'Check the path in `source.url`.', cause: error })
  if (/authentication|All configured/i.test(message) || /permission denied/i.test(message))
    return new RunError('SOURCE_DENIED', 'the server refused the login or the file', {
      where,
      mend: 'Check user, key or password, and the rights of the file.',
      cause: error,
    })
  if (received > 0) return cut(where, received, error)
  return new RunError('SOURCE_UNAVAILABLE', `the source cannot be reached${code === '' ? '' : ` (${code})`}`, {
    where,
    mend: 'Check the address and the network; then run again.',
    cause: error,
  })
}

function cut(where: string, received: number, cause: unknown): RunError {
  return new RunError('FILE_TRUNCATED', `the connection was cut after ${received} bytes`, { where, mend: 'Run again.', cause })
}

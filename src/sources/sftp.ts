import { createHash } from 'node:crypto'
import { matchesGlob, posix } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import SftpClient from 'ssh2-sftp-client'
import { RunError } from '../errors.ts'
import type { SourceDefinition } from '../pipeline/definition.ts'
import type { ByteStream, TransportEnd } from './byteStream.ts'
import { besideBytes } from './byteStream.ts'
import { readCredential } from './credentials.ts'
import type { Match } from './newestMatch.ts'
import { newerMatch } from './newestMatch.ts'
import type { SourceContext } from './openedSource.ts'
import { Patience } from './patience.ts'
import { readSftpFile } from './sftpFile.ts'

type Env = Readonly<Record<string, string | undefined>>

/**
 * Opens a file over SFTP, or the newest match of a pattern in its folder. The host key must be pinned (`host_key:`);
 * without one the refusal says which key the server showed. Credentials: `username`, `password`, `private_key`,
 * `passphrase`. The file must keep size and time while it is read and have the length that it announced. A connection
 * that is cut is not taken up again: times are whole seconds here, too coarse to join two halves by.
 *
 * @throws RunError SOURCE_REFUSED, SOURCE_HOST_KEY, SOURCE_CREDENTIALS, SOURCE_DENIED, SOURCE_MISSING,
 *   SOURCE_UNAVAILABLE, SOURCE_CHANGED, FILE_TRUNCATED
 */
export async function openSftp(definition: SourceDefinition, context: SourceContext): Promise<ByteStream> {
  const { url, path, label: asked } = addressOf(definition.uri)
  const patience = new Patience(context)
  const client = newClient()
  let closed = false
  const close = async () => {
    if (closed) return
    closed = true
    // A peer that is gone answers no farewell either.
    await Promise.race([client.end().catch(() => undefined), delay(farewellMs, undefined, { ref: false })])
    connectionOf(client).destroy()
  }
  try {
    await connect(client, url, definition, { env: context.env, patience })
    const file = await patience.wait(newestMatch(client, path, asked))
    const label = file === path ? asked : `sftp://${url.host}${pathname(file)}`
    const before = await patience.wait(client.stat(file))
    if (!before.isFile)
      throw new RunError('SOURCE_REFUSED', 'the source is no regular file', {
        where: label,
        mend: 'Name a file, or a pattern such as `/exports/*.csv`.',
      })
    let received = 0
    async function* chunks(): AsyncGenerator<Buffer> {
      try {
        for await (const chunk of readSftpFile(client, file, patience)) {
          received += chunk.length
          yield chunk
        }
      } catch (error) {
        patience.throwIfCancelled()
        throw sftpError(error, label, received)
      }
    }
    return {
      label,
      chunks: chunks(),
      beside: async (suffix) => {
        const found = await patience.wait(client.stat(file + suffix))
        if (!found.isFile) return undefined
        const content = found.size > besideBytes ? Buffer.alloc(0) : await patience.wait(client.get(file + suffix))
        // Without a target the client gives the bytes themselves.
        return { content: content as Buffer, older: found.modifyTime < before.modifyTime }
      },
      end: async (): Promise<TransportEnd> => {
        // Gone meanwhile is changed as well.
        const after = await patience.wait(client.stat(file)).catch((error: unknown) => {
          patience.throwIfCancelled()
          const failure = sftpError(error, label, received)
          throw failure.code === 'SOURCE_MISSING' ? changed(label, error) : failure
        })
        if (after.size !== before.size || after.modifyTime !== before.modifyTime || received !== before.size) throw changed(label)
        return { proof: 'file unchanged while read', endsAsBefore: true }
      },
      close,
    }
  } catch (error) {
    await close()
    patience.throwIfCancelled()
    throw sftpError(error, asked, 0)
  }
}

/** How long a server may take to say good-bye. */
const farewellMs = 1_000

function addressOf(uri: string): { readonly url: URL; readonly path: string; readonly label: string } {
  const refuse = (what: string, mend: string) => new RunError('SOURCE_REFUSED', what, { where: 'source.url', mend })
  if (!URL.canParse(uri)) throw refuse('the address cannot be read', 'Write sftp://user@host/path.')
  const url = new URL(uri)
  if (url.password !== '')
    throw refuse('the address holds a password', 'Name an environment variable under `credentials: { password: … }`.')
  let path: string
  try {
    path = decodeURIComponent(url.pathname).replace(/^\/~\//, '')
  } catch {
    throw refuse('the path of the address cannot be decoded', 'Write % as %25.')
  }
  return { url, path, label: `sftp://${url.host}${url.pathname}` }
}

/** A path as it stands in an address. */
function pathname(path: string): string {
  const encoded = path.split('/').map(encodeURIComponent).join('/')
  return path.startsWith('/') ? encoded : `/~/${encoded}`
}

/** The client's own answers to an unexpected end are lines on standard output; here the call under way reports it. */
function newClient(): SftpClient {
  const silent = () => undefined
  const client = new SftpClient('sluice', { error: silent, end: silent, close: silent })
  client.on('error', silent)
  return client
}

/** ssh2's connection, which ssh2-sftp-client keeps as `client` and leaves out of its types. */
function connectionOf(client: SftpClient): { readonly setNoDelay: (noDelay: boolean) => void; readonly destroy: () => void } {
  return (client as unknown as { readonly client: ReturnType<typeof connectionOf> }).client
}

async function connect(
  client: SftpClient,
  url: URL,
  definition: SourceDefinition,
  { env, patience }: { readonly env: Env; readonly patience: Patience },
): Promise<void> {
  const credential = (key: string) => readCredential(key, definition.credentials, env)
  const [password, privateKey, passphrase] = [credential('password'), credential('private_key'), credential('passphrase')]
  let shown: string | undefined
  const hostVerifier = (key: Buffer): boolean => {
    shown = `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
    return shown === definition.hostKey?.replace(/=+$/, '')
  }
  try {
    await patience.wait(
      client.connect({
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port === '' ? 22 : Number(url.port),
        username: credential('username') ?? decodeURIComponent(url.username),
        readyTimeout: 20_000,
        hostVerifier,
        ...(password === undefined ? {} : { password }),
        ...(privateKey === undefined ? {} : { privateKey }),
        ...(passphrase === undefined ? {} : { passphrase }),
      }),
    )
    // Otherwise requests and answers wait for each other: 3 MB/s with the delay, 400 without (OpenSSH 9.2 on one machine).
    connectionOf(client).setNoDelay(true)
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
    if (error instanceof Error && /cannot parse privatekey/i.test(error.message))
      throw new RunError('SOURCE_CREDENTIALS', 'the private key cannot be read', {
        where: 'credentials.private_key',
        mend: 'Give the whole key in OpenSSH or PEM form, and its `passphrase` if it has one.',
      })
    throw error
  }
}

async function newestMatch(client: SftpClient, path: string, label: string): Promise<string> {
  const name = posix.basename(path)
  if (!/[*?[{]/.test(name)) return path
  const folder = posix.dirname(path)
  let newest: Match | undefined
  for (const entry of await client.list(folder)) {
    if (entry.type === '-' && matchesGlob(entry.name, name)) newest = newerMatch(newest, { name: entry.name, at: entry.modifyTime }, name)
  }
  if (newest === undefined)
    throw new RunError('SOURCE_MISSING', 'no finished file matches the pattern', {
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

function changed(where: string, cause?: unknown): RunError {
  return new RunError('SOURCE_CHANGED', 'the file changed while it was read', {
    where,
    mend: 'Run again once the upload is finished; upload under another name and rename.',
    cause,
  })
}

function cut(where: string, received: number, cause: unknown): RunError {
  return new RunError('FILE_TRUNCATED', `the connection was cut after ${received} bytes`, { where, mend: 'Run again.', cause })
}

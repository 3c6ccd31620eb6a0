import { createHash } from 'node:crypto'
import { connect as openSocket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import SftpClient from 'ssh2-sftp-client'
import { RunError } from '../../errors.ts'
import type { SourceDefinition } from '../../model/pipeline.ts'
import { readCredential } from '../credentials.ts'
import { isRecord } from '../../unknownValue.ts'
import type { Timeouts } from '../timeouts.ts'
import { isConnectionLost, isIncompatibleServer, otherProtocolError, sftpError } from './sftpErrors.ts'
import { SourceRetryLimit } from '../../http/sourceRetryLimit.ts'
import { withoutUndefined } from '../../withoutUndefined.ts'

/** Server, credentials and timeouts of a connection. */
export interface SftpLogin {
  readonly url: URL
  readonly definition: SourceDefinition
  readonly env: Readonly<Record<string, string | undefined>>
  readonly timeouts: Timeouts
  /** First wait between two attempts, in milliseconds. */
  readonly backoffMs: number
}

/** Timeout of a clean close in milliseconds. */
const closeTimeoutMs = 1_000

/** Connection to one SFTP server, reopened as needed. Each connection uses the same credentials and the pinned host key. */
export class SftpConnection {
  readonly #login: SftpLogin
  #client: SftpClient | undefined
  #closed = false

  constructor(login: SftpLogin) {
    this.#login = login
  }

  /**
   * Returns the result of `step`. If the connection breaks, repeats the step over a new connection, up to `maxAttempts` attempts in all. So
   * the step must only read.
   *
   * @throws RunError SOURCE_HOST_KEY, SOURCE_CREDENTIALS; the error of `step`; the last failure
   */
  async perform<T>(step: (client: SftpClient) => Promise<T>): Promise<T> {
    const { timeouts } = this.#login
    const retryLimit = new SourceRetryLimit()
    for (;;) {
      try {
        return await timeouts.wait(step(await this.client()))
      } catch (error) {
        timeouts.throwIfEnded()
        if (!isConnectionLost(error) || !(await this.prepareRetry(retryLimit, 0))) throw error
      }
    }
  }

  /** Returns the client of the open connection; opens a connection if there is none. Rejects after `close`. */
  async client(): Promise<SftpClient> {
    if (this.#closed) throw new Error('the connection was closed')
    if (this.#client !== undefined) return this.#client
    const client = newClient()
    try {
      await connect(client, this.#login)
      // The caller may have called `close` meanwhile.
      if (this.#closed) throw new Error('the connection was closed')
    } catch (error) {
      connectionOf(client).destroy()
      throw error
    }
    this.#client = client
    return client
  }

  /** Closes a broken connection that had delivered `bytes`, and waits. Returns false if no attempts are left, or after `close`. */
  async prepareRetry(retryLimit: SourceRetryLimit, bytes: number): Promise<boolean> {
    const { timeouts, backoffMs } = this.#login
    if (this.#closed || !retryLimit.takeRetry(bytes)) return false
    if (this.#client !== undefined) connectionOf(this.#client).destroy()
    this.#client = undefined
    await timeouts.pause(retryLimit.waitMs(backoffMs))
    return true
  }

  /** Closes the connection. Can be called twice. Never rejects. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const client = this.#client
    if (client === undefined) return
    // A lost server does not answer the close message.
    await Promise.race([client.end().catch(() => undefined), delay(closeTimeoutMs, undefined, { ref: false })])
    connectionOf(client).destroy()
  }
}

/** Creates a client that does not print an unexpected end of the connection to stdout. The current call reports that end. */
function newClient(): SftpClient {
  const silent = () => undefined
  const client = new SftpClient('sluice', { error: silent, end: silent, close: silent })
  client.on('error', silent)
  return client
}

/** Part of ssh2's connection that is used here. */
interface Connection {
  readonly setNoDelay: (noDelay: boolean) => void
  readonly destroy: () => void
}

/** Returns ssh2's connection. ssh2-sftp-client (12) stores it as `client`, and omits it from its types. */
function connectionOf(client: SftpClient): Connection {
  if ('client' in client && isConnection(client.client)) return client.client
  throw new Error('ssh2-sftp-client has no connection as `client`')
}

function isConnection(value: unknown): value is Connection {
  return isRecord(value) && typeof value['setNoDelay'] === 'function' && typeof value['destroy'] === 'function'
}

/** Returns the user that the address names. @throws RunError SOURCE_REFUSED */
function decodedUser(url: URL): string {
  try {
    return decodeURIComponent(url.username)
  } catch {
    throw new RunError('SOURCE_REFUSED', 'the user name of the address cannot be decoded', { where: 'source.url', hint: 'Write % as %25.' })
  }
}

/** Connects and logs in. @throws RunError SOURCE_HOST_KEY, SOURCE_CREDENTIALS, SOURCE_REFUSED; else the error of the client */
async function connect(client: SftpClient, { url, definition, env, timeouts }: SftpLogin): Promise<void> {
  const credential = (key: string) => readCredential(key, definition.credentials, env)
  const [password, privateKey, passphrase] = [credential('password'), credential('private_key'), credential('passphrase')]
  const username = credential('username') ?? decodedUser(url)
  if (username === '')
    throw new RunError('SOURCE_REFUSED', 'the address names no user', {
      where: 'source.url',
      hint: 'Write sftp://user@host/path, or name a variable under `credentials: { username: … }`.',
    })
  const pinnedKey = definition.hostKey?.replace(/=+$/, '')
  let shownKey: string | undefined
  // The first bytes show whether the server uses another protocol. An early end does not show it: an overloaded SSH server may close too.
  const socket = openSocket({ host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port === '' ? 22 : Number(url.port) })
  let protocolError: RunError | undefined
  socket.once('data', (bytes: Buffer) => {
    protocolError = otherProtocolError(bytes, url.host)
    if (protocolError !== undefined) socket.destroy(protocolError)
  })
  const hostVerifier = (key: Buffer): boolean => {
    shownKey = `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
    return shownKey === pinnedKey
  }
  // Some servers request the password by a prompt. Other prompts get an empty answer.
  client.on('keyboard-interactive', (...[, , , prompts, answer]: KeyboardQuestion) => {
    const isPasswordPrompt = prompts.length === 1 && prompts[0]?.echo !== true
    answer(isPasswordPrompt && password !== undefined ? [password] : [])
  })
  try {
    await timeouts.wait(
      client.connect({
        sock: socket,
        username,
        readyTimeout: 20_000,
        hostVerifier,
        tryKeyboard: password !== undefined,
        authHandler: createLoginOrder({ key: privateKey !== undefined, password: password !== undefined }),
        ...withoutUndefined({ password, privateKey, passphrase }),
      }),
    )
    // Nagle's delay makes requests and answers wait for each other: 3 MB/s, and 400 MB/s without it (OpenSSH 9.2 on one machine).
    connectionOf(client).setNoDelay(true)
  } catch (error) {
    if (protocolError !== undefined) throw protocolError
    if (isIncompatibleServer(error)) throw sftpError(error, url.host)
    if (shownKey !== undefined && shownKey !== pinnedKey) {
      throw new RunError(
        'SOURCE_HOST_KEY',
        definition.hostKey === undefined ? 'the host key of the server is not pinned' : 'the host key of the server is not the pinned one',
        {
          where: url.host,
          hint: `Confirm this key with the server's owner, then set \`host_key: ${shownKey}\`.`,
          cause: error,
        },
      )
    }
    // The first message is about a key that cannot be read, the second about a public key.
    if (error instanceof Error && /cannot parse privatekey|not contain a \(valid\) private key/i.test(error.message))
      throw new RunError('SOURCE_CREDENTIALS', 'the private key cannot be read', {
        where: 'credentials.private_key',
        hint: 'Give the whole private key, and its `passphrase` if it has one. `ssh-keygen -p -f FILE` changes a key into the OpenSSH form.',
      })
    if (password === undefined && privateKey === undefined && sftpError(error, '').code === 'SOURCE_DENIED')
      throw new RunError('SOURCE_CREDENTIALS', 'the server requires a login, and the source has no credentials', {
        where: 'source.credentials',
        hint: 'Name the variable of a `private_key` or a `password` under `source.credentials`.',
        cause: error,
      })
    throw error
  }
}

type KeyboardQuestion = readonly [
  name: string,
  instructions: string,
  language: string,
  prompts: readonly { readonly prompt: string; readonly echo?: boolean }[],
  answer: (answers: string[]) => void,
]

/**
 * Returns a function that chooses the next way to log in. Each way is used once, and only if the server offers it. The answer to `none` has
 * the offered ways. Servers lock users out after failures. So the password is sent only once: as a password, or as an answer to a prompt.
 */
function createLoginOrder(has: { readonly key: boolean; readonly password: boolean }) {
  const sendsPassword: readonly Way[] = ['password', 'keyboard-interactive']
  let ways: readonly Way[] = ['none', ...(has.key ? (['publickey'] as const) : []), ...(has.password ? sendsPassword : [])]
  /** Returns the next way; false if none is left. `offered` is null before the first try. */
  return (offered: readonly string[] | null): Way | false => {
    const next = ways.find((way) => offered === null || offered.includes(way))
    if (next === undefined) return false
    ways = ways.filter((way) => way !== next && !(sendsPassword.includes(next) && sendsPassword.includes(way)))
    return next
  }
}

type Way = 'none' | 'publickey' | 'password' | 'keyboard-interactive'

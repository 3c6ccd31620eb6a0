import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'

/** The part of the server of ssh2 that is used here. It is installed with the client. */
interface Ssh2 {
  readonly Server: new (
    options: { readonly hostKeys: readonly string[] },
    onClient: (client: Emitter) => void,
  ) => { listen: (port: number, host: string, done: () => void) => void; address: () => AddressInfo; close: (done: () => void) => void }
  readonly utils: {
    readonly generateKeyPairSync: (
      kind: 'ecdsa',
      options: { readonly bits: number },
    ) => { readonly private: string; readonly public: string }
    readonly sftp: { readonly STATUS_CODE: Readonly<Record<'OK' | 'EOF' | 'NO_SUCH_FILE' | 'FAILURE', number>> }
  }
}

interface Emitter {
  on: (event: string, listener: (...args: never[]) => unknown) => void
  end: () => void
}

interface Login {
  readonly method: string
  readonly password?: string
  readonly accept: () => void
  readonly reject: (left?: readonly string[]) => void
  readonly prompt: (questions: readonly object[], done: (answers: readonly string[]) => void) => void
}

interface Session {
  on: (event: string, listener: (id: number, ...rest: never[]) => unknown) => void
  handle: (id: number, handle: Buffer) => void
  attrs: (id: number, attrs: object) => void
  data: (id: number, data: Buffer) => void
  status: (id: number, code: number) => void
}

export interface SftpLies {
  /** Ways to log in that the server offers. */
  readonly ways: readonly string[]
  /** Ways that it offers after a rejected login instead, and accepts then. */
  readonly laterWays?: readonly string[]
  /** Its prompts, if it has any. */
  readonly questions?: readonly { readonly prompt: string; readonly echo: boolean }[]
  readonly content?: Buffer
  /** Maximum bytes of one answer. */
  readonly most?: number
  /** Reported size and time of the file instead of the real ones. */
  readonly attrs?: object
}

/**
 * Starts an SFTP server with one file, `/crm.csv`, and one user with the password `open sesame`. It runs in this process, so that it can
 * send wrong answers.
 */
export async function sftpServer({ ways, laterWays, questions = [], content = Buffer.from('id\n1\n'), most = 1_000_000, attrs }: SftpLies) {
  const { Server, utils } = createRequire(import.meta.resolve('ssh2-sftp-client'))('ssh2') as Ssh2
  // Not ed25519: ssh2 could not read 9 of 3,000 such keys that it had made.
  const key = utils.generateKeyPairSync('ecdsa', { bits: 256 })
  const logins: string[] = []
  const code = utils.sftp.STATUS_CODE
  const facts = attrs ?? { mode: 0o100644, uid: 0, gid: 0, size: content.length, atime: 1_000_000, mtime: 1_000_000 }
  const clients = new Set<Emitter>()
  const server = new Server({ hostKeys: [key.private] }, (client) => {
    clients.add(client)
    client.on('error', () => undefined)
    client.on('authentication', (login: Login) => {
      logins.push(login.method)
      if (!ways.includes(login.method) && laterWays?.includes(login.method) !== true) return login.reject(ways)
      const decide = (password: string | undefined) => (password === 'open sesame' ? login.accept() : login.reject(laterWays ?? ways))
      if (login.method === 'keyboard-interactive') return login.prompt(questions, ([answer]) => decide(answer))
      return decide(login.password)
    })
    client.on('session', (accept: () => Emitter) => {
      accept().on('sftp', (open: () => Session) => {
        const session = open()
        const file = Buffer.from('file')
        session.on('OPEN', (id) => session.handle(id, file))
        for (const ask of ['STAT', 'LSTAT', 'FSTAT']) session.on(ask, (id) => session.attrs(id, facts))
        session.on('READ', (id, ...[, offset, length]: [Buffer, number, number]) =>
          offset >= content.length
            ? session.status(id, code.EOF)
            : session.data(id, content.subarray(offset, offset + Math.min(length, most))),
        )
        session.on('CLOSE', (id) => session.status(id, code.OK))
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const shown = Buffer.from(key.public.split(' ')[1] ?? '', 'base64')
  return {
    uri: `sftp://shop@127.0.0.1:${server.address().port}/crm.csv`,
    hostKey: `SHA256:${createHash('sha256').update(shown).digest('base64').replace(/=+$/, '')}`,
    /** The methods that the client tried to log in. */
    logins,
    [Symbol.asyncDispose]: () => {
      for (const client of clients) client.end()
      return new Promise<void>((resolve) => server.close(resolve))
    },
  }
}

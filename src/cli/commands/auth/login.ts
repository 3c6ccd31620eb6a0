import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { needService } from '../../../config/config.ts'
import { RunError, UsageError } from '../../../errors.ts'
import type { CallResult } from '../../../service/client/index.ts'
import { ServiceError } from '../../../service/client/serviceErrors.ts'
import { makeFolder } from '../../../makeFolder.ts'
import { recordOf } from '../../../unknownValue.ts'
import { flag, option, writeJson, type CommandRun, type Context } from '../../context.ts'
import { listeningPort } from '../../servers/listeningPort.ts'
import { writeWholeFile } from '../../wholeFile.ts'
import { withClient, type ServiceCalls } from '../../withClient.ts'
import { canAsk, openPrompt } from '../../terminal/prompt.ts'
import { storeUserToken, tokenFiles, type UserToken } from './tokens.ts'

/**
 * Signs in with three-legged OAuth (spec 5): a request token, consent in the browser, an access token. By default the user enters a PIN.
 * With `--callback` the browser calls an address on this machine instead, and the `state` parameter of the call is checked. Without a
 * terminal, the first call stores the request token in a private file and fails. A second call with `--pin` completes the sign-in.
 */
export const run: CommandRun = async (context, invocation) => {
  const config = context.config({ signIn: true })
  const files = tokenFiles(config.env, option(invocation, 'out'))
  const service = needService(config, { user: false })
  const pendingFile = join(config.dataDir, 'login.json')
  return withClient(context, service, async (calls) => {
    const pin = option(invocation, 'pin')
    const access =
      pin !== undefined
        ? await exchangePin(calls, readPending(pendingFile), pin)
        : flag(invocation, 'callback')
          ? await signInByCallback(context, calls)
          : await signInByPin(context, calls, pendingFile)
    storeUserToken(files, access)
    rmSync(pendingFile, { force: true })
    if (context.json) writeJson(context, { userId: access.userId, handle: access.handle, storedIn: files })
    else
      context.stdout.write(
        `signed in as ${access.handle === '' ? 'the user' : `@${access.handle}`} (${access.userId}); the tokens are in ${files.join(' and ')}, mode 0600\n`,
      )
    // Variables of the process have priority over .env, so later commands would use the old token without a warning.
    const overriding = ['SLUICE_ACCESS_TOKEN', 'SLUICE_ACCESS_TOKEN_SECRET'].filter((name) => (context.env[name] ?? '') !== '')
    if (files[0] === '.env' && overriding.length > 0)
      context.stderr.write(
        `warning  the environment already has a token, and later commands use it instead of the new one in .env. Unset ${overriding.join(' and ')}, or set the new values there.\n`,
      )
    return 0
  })
}

/** Access token of a user, with the user's id and name. A value that the service did not return is empty. */
interface Access extends UserToken {
  readonly userId: string
  readonly handle: string
}

/**
 * Asks for the PIN and exchanges it. Without a terminal, stores the request token in `pendingFile`.
 *
 * @throws {UsageError} `PIN_NEEDED` without a terminal, or if the answer is empty
 * @throws {RunError} `PIN_REFUSED`
 */
async function signInByPin(context: Context, calls: ServiceCalls, pendingFile: string): Promise<Access> {
  const request = await requestToken(calls, 'oob')
  const url = calls.authorizeUrl({ oauth_token: request.token })
  if (!canAsk(context)) {
    makeFolder(join(pendingFile, '..'))
    writeWholeFile(pendingFile, JSON.stringify(request), { private: true })
    throw new UsageError('PIN_NEEDED', `the PIN cannot be asked for without a terminal. Open ${url} and agree there.`, {
      where: '--pin',
      hint: 'sluice auth login --pin PIN',
    })
  }
  context.stderr.write(`Open this address, agree, and come back with the PIN:\n  ${url}\n`)
  const prompt = openPrompt(context)
  try {
    const pin = (await prompt.ask('PIN: ')) ?? ''
    if (pin === '') throw new UsageError('PIN_NEEDED', 'no PIN was given. Nothing was kept.', { where: '--pin', hint: 'sluice auth login' })
    return await exchangePin(calls, request, pin)
  } finally {
    prompt.close()
  }
}

/** Waits until the browser calls a port of this machine. @throws {RunError} `LOGIN_DENIED`, `LOGIN_MISMATCH`, `PIN_REFUSED` */
async function signInByCallback(context: Context, calls: ServiceCalls): Promise<Access> {
  const state = randomBytes(16).toString('hex')
  const server = createServer()
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  try {
    const port = listeningPort(server)
    const callback = receiveCallback(server, state, context.signal)
    // A signal may reject the promise before it is awaited, and an unhandled rejection would end the process.
    callback.catch(() => undefined)
    const request = await requestToken(calls, `http://127.0.0.1:${port}/callback?state=${state}`)
    context.stderr.write(`Open this address and agree:\n  ${calls.authorizeUrl({ oauth_token: request.token })}\n`)
    const { token, verifier } = await callback
    if (token !== request.token)
      throw new RunError('LOGIN_MISMATCH', 'the answer belongs to another sign-in. Nothing was kept.', {
        where: 'callback',
        hint: 'sluice auth login',
      })
    return await exchangeVerifier(calls, request, verifier, { label: 'the verifier of the callback', where: 'callback' })
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

/**
 * Waits for a request of `/callback` with this `state`, and returns its token and verifier. Any other request gets a 404. Rejects with
 * `LOGIN_DENIED`, or on a signal.
 */
function receiveCallback(
  server: Server,
  state: string,
  signal: AbortSignal,
): Promise<{ readonly token: string; readonly verifier: string }> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true })
    server.on('request', (request, response) => {
      const target = request.url ?? '/'
      // A target such as `//` is not a URL.
      const url = URL.canParse(target, 'http://127.0.0.1') ? new URL(target, 'http://127.0.0.1') : undefined
      if (url?.pathname !== '/callback' || url.searchParams.get('state') !== state) {
        response.writeHead(404).end()
        return
      }
      const { searchParams } = url
      const isDenied = searchParams.has('denied')
      response
        .writeHead(200, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
        .end(isDenied ? 'Denied. You may close this page.\n' : 'Signed in. You may close this page.\n')
      if (isDenied)
        reject(
          new RunError('LOGIN_DENIED', 'the sign-in was denied in the browser. Nothing was kept.', {
            where: 'callback',
            hint: 'sluice auth login',
          }),
        )
      else resolve({ token: searchParams.get('oauth_token') ?? '', verifier: searchParams.get('oauth_verifier') ?? '' })
    })
  })
}

async function requestToken({ call }: ServiceCalls, callbackUrl: string): Promise<UserToken> {
  return tokenOf(await call('oauth.requestToken', { oauth_callback: callbackUrl }), 'POST /oauth/request_token')
}

function exchangePin(calls: ServiceCalls, request: UserToken, pin: string): Promise<Access> {
  return exchangeVerifier(calls, request, pin, { label: 'the PIN', where: '--pin' })
}

/**
 * Exchanges a request token and its verifier for an access token. The verifier is the PIN, or a parameter of the callback. `label` and
 * `where`: the verifier in messages.
 *
 * @throws {RunError} `PIN_REFUSED`
 */
async function exchangeVerifier(
  { call }: ServiceCalls,
  { token, secret }: UserToken,
  verifier: string,
  { label, where }: { readonly label: string; readonly where: string },
): Promise<Access> {
  const answer = await call('oauth.accessToken', { oauth_token: token, oauth_verifier: verifier }, { tokenSecret: secret }).catch(
    (error: unknown) => {
      if (!(error instanceof ServiceError) || error.status !== 401) throw error
      // The service accepted the consumer credentials when it issued the request token, so it refuses the verifier.
      throw new RunError('PIN_REFUSED', `the service refused ${label}: it is wrong, was used before, or is too old. Nothing was kept.`, {
        where,
        hint: 'sluice auth login',
      })
    },
  )
  const fields = recordOf(answer.data)
  return {
    ...tokenOf(answer, 'POST /oauth/access_token'),
    userId: textOf(fields['user_id']),
    handle: textOf(fields['screen_name']),
  }
}

/** Returns token and secret of an answer. @throws {RunError} `SERVICE_ANSWER_UNREADABLE` unless it has both */
function tokenOf({ data }: CallResult, where: string): UserToken {
  const fields = recordOf(data)
  const [token, secret] = [textOf(fields['oauth_token']), textOf(fields['oauth_token_secret'])]
  if (token !== '' && secret !== '') return { token, secret }
  throw new RunError('SERVICE_ANSWER_UNREADABLE', 'the answer has no token. Nothing was kept.', { where, hint: 'sluice doctor' })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Reads the request token that an earlier call stored. @throws {UsageError} `NO_PENDING_LOGIN` for a missing or damaged file */
function readPending(file: string): UserToken {
  try {
    const stored: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof stored === 'object' && stored !== null && 'token' in stored && 'secret' in stored)
      return { token: String(stored.token), secret: String(stored.secret) }
  } catch {
    // A damaged file has the same hint as a missing one: sign in from the start.
  }
  throw new UsageError('NO_PENDING_LOGIN', 'no sign-in was started in this folder. Nothing was sent.', {
    where: '--pin',
    hint: 'sluice auth login',
  })
}

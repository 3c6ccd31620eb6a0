/** Reads streams: answers that stay open, with one JSON object per line and empty lines between (spec 6.2). */
import type { Clock } from '../../clock.ts'
import type { Endpoint } from '../contract/endpoint.ts'
import type { Recovery } from '../../errors.ts'
import { redactServiceText } from '../../redactServiceText.ts'
import type { Bearer } from './bearer.ts'
import { decodeAnswer } from './decode.ts'
import type { Answer } from './exchange.ts'
import { isPlainRecord } from '../../unknownValue.ts'
import type { Spelling } from './spelling.ts'
import type { BuiltRequest } from './request.ts'
import { AnswerLostError, ServiceError, TokenInvalidError } from './serviceErrors.ts'
import { toServiceError } from './toServiceError.ts'
import type { Credentials, Sender } from './sender.ts'
import type { CallOptions } from './typed.ts'
import type { OpenedStream } from './wireStream.ts'

const reopenHint = 'Open the stream again, and request a replay of the events between.'

/** Call of a stream, and the parts of the client that open it. */
export interface StreamParts {
  readonly endpoint: Endpoint
  readonly built: BuiltRequest
  readonly options: CallOptions
  readonly sender: Sender
  readonly spelling: Spelling
  readonly findCredentials: () => Promise<Credentials>
  readonly bearer: Bearer
  readonly clock: Clock
}

/** Maximum length of a line whose end has not arrived yet, in characters. */
const maxUnendedLine = 1024 * 1024

/**
 * Opens a stream and yields its objects until `options.signal` is aborted or the iteration ends. Then closes the connection. Skips lines
 * that are not JSON objects. Opens the stream a second time only if the service refuses the app-only token. Does not reconnect: the caller
 * opens a new stream, and requests a replay of the events between.
 *
 * An aborted `signal` ends the iteration without an error, also while the stream opens. Errors:
 * - the errors of a call
 * - `SERVICE_ANSWER_LOST` if the service ends the stream, the connection breaks, or an unended line exceeds `maxUnendedLine`
 */
export async function* openStream(parts: StreamParts): AsyncGenerator<Readonly<Record<string, unknown>>, void, undefined> {
  const { endpoint, built, options, sender, spelling } = parts
  const where = `${endpoint.method} ${built.path}`
  let opened: OpenedStream
  try {
    opened = await openConnection(parts, where, { mayRenewToken: options.retry !== false })
  } catch (error) {
    if (options.signal?.aborted === true) return
    if (error instanceof ServiceError && error.recovery === 'retry' && sender.closing.aborted)
      Object.assign(error, { recovery: 'stop-run' satisfies Recovery })
    throw error
  }
  let rest = ''
  try {
    const decoder = new TextDecoder()
    for await (const chunk of opened.chunks) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > maxUnendedLine) throw new AnswerLostError('a line of the stream is too long', { where, hint: reopenHint })
      for (const line of lines) {
        const event = line.trim() === '' ? undefined : decodeLine(line, spelling)
        if (event !== undefined) yield event
      }
    }
  } catch (error) {
    if (error instanceof AnswerLostError || !(error instanceof Error)) throw error
    throw new AnswerLostError(`the connection of the stream broke: ${redactServiceText(error.message)}`, {
      where,
      hint: reopenHint,
      cause: error,
    })
  } finally {
    opened.close()
  }
  if (options.signal?.aborted !== true) throw new AnswerLostError('the service ended the stream', { where, hint: reopenHint })
}

/** Opens the stream. `mayRenewToken`: if the service refuses the app-only token, opens the stream once more with a new one. */
async function openConnection(
  parts: StreamParts,
  where: string,
  { mayRenewToken }: { readonly mayRenewToken: boolean },
): Promise<OpenedStream> {
  const { endpoint, built, options, sender, findCredentials, bearer, clock } = parts
  const credentials = await findCredentials()
  const opened = await sender.open({
    method: endpoint.method,
    host: endpoint.host,
    path: built.path,
    query: built.query,
    credentials,
    timeoutMs: options.timeoutMs ?? 30_000,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  })
  if (opened.kind === 'open') return opened
  const error =
    toServiceError(opened, { endpoint, where, nowMs: clock.now() }) ??
    new AnswerLostError('no stream was opened', { where, hint: 'Try again.' })
  if (error instanceof TokenInvalidError && bearer.dropRefused(credentials) && mayRenewToken)
    return openConnection(parts, where, { mayRenewToken: false })
  throw error
}

function decodeLine(line: string, spelling: Spelling): Readonly<Record<string, unknown>> | undefined {
  const answer: Answer = { kind: 'answer', status: 200, headers: {}, body: Buffer.from(line), durationMs: 0 }
  const decoded = decodeAnswer(answer, spelling)
  return decoded.kind === 'json' && isPlainRecord(decoded.value) ? decoded.value : undefined
}

/** The body of a request that may be too long, too slow or cut off. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { writeAnswer } from './answer.ts'

/** The whole body, or the status that refuses it: 413 too long, 408 too slow, 400 cut off. */
export function readBody(request: IncomingMessage, maxBytes: number, timeoutMs: number): Promise<Buffer | 400 | 408 | 413> {
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > maxBytes) return Promise.resolve(413)
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    const timer = setTimeout(() => finish(408), timeoutMs)
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) finish(413)
      else chunks.push(chunk)
    }
    const onEnd = () => finish(Buffer.concat(chunks, size))
    const onCut = () => finish(400)
    const finish = (result: Buffer | 400 | 408 | 413) => {
      clearTimeout(timer)
      request.off('data', onData).off('end', onEnd).off('aborted', onCut).off('error', onCut)
      // A late error of a request that was refused already has no caller left.
      request.on('error', () => undefined)
      resolve(result)
    }
    request.on('data', onData).on('end', onEnd).on('aborted', onCut).on('error', onCut)
  })
}

/** Time to discard the rest of a refused body before the connection is closed. */
const DRAIN_MS = 1000

/**
 * Answers and closes. What is still coming of a long body is thrown away for a moment: closing immediately would reset the
 * connection, and the sender would see that instead of the 413.
 */
export function refuseBody(request: IncomingMessage, response: ServerResponse, status: 400 | 408 | 413): void {
  const close = () => {
    clearTimeout(timer)
    request.off('end', close).off('close', close)
    response.end(() => request.destroy())
  }
  const timer = setTimeout(close, status === 413 ? DRAIN_MS : 0)
  request.on('end', close).on('close', close).resume()
  writeAnswer(response, status, { error: status === 413 ? 'the body is too long' : 'the body did not arrive' }, { connection: 'close' })
}

/** Reads the bodies of requests within limits of size and time, and writes JSON answers. */
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Resolves to the whole body, or to the status of the refusal: 413 too long, 408 too slow, 400 cut off. Never rejects. */
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
      // Without a listener, a later error of the request would end the process.
      request.on('error', () => undefined)
      resolve(result)
    }
    request.on('data', onData).on('end', onEnd).on('aborted', onCut).on('error', onCut)
  })
}

/** Time in milliseconds in which the rest of a refused body is read and discarded. */
const drainMs = 1000

/**
 * Answers with `status`, then closes the connection. For a 413, first reads the rest of the body for up to a second. Otherwise an immediate
 * reset would hide the answer from the sender.
 */
export function refuseBody(request: IncomingMessage, response: ServerResponse, status: 400 | 408 | 413): void {
  const close = () => {
    clearTimeout(timer)
    request.off('end', close).off('close', close)
    response.end(() => request.destroy())
  }
  const timer = setTimeout(close, status === 413 ? drainMs : 0)
  request.on('end', close).on('close', close).resume()
  writeAnswer(response, status, { error: status === 413 ? 'the body is too long' : 'the body did not arrive' }, { connection: 'close' })
}

export function answer(response: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
  writeAnswer(response, status, body, headers)
  response.end()
}

/** Writes a JSON answer without ending the response. */
function writeAnswer(response: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>>): void {
  const text = JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers })
  response.write(text)
}

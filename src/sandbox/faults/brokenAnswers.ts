/** Answers that break off, never end or come slowly (docs/sandbox.md, 'time'). */
import type { Answer } from '../answer.ts'
import type { FaultContext } from './faultContext.ts'

/** Sends half of the answer, then does what ends it. */
export function halfThen(requestContext: FaultContext, answer: Answer, end: () => void): void {
  requestContext.entry.status = answer.status
  const bytes = Buffer.from(answer.body)
  requestContext.response.writeHead(answer.status, { ...answer.headers, 'content-length': String(bytes.length) })
  requestContext.response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), end)
}

/** Announces `length` bytes, sends `bytes` of them and breaks. */
export function cutOff(requestContext: FaultContext, answer: Answer, bytes: number, length: number = Buffer.byteLength(answer.body)): void {
  requestContext.entry.status = answer.status
  requestContext.response.writeHead(answer.status, { ...answer.headers, 'content-length': String(length) })
  requestContext.response.flushHeaders()
  const part = Buffer.from(answer.body).subarray(0, Math.min(bytes, length - 1))
  requestContext.entry.answer_bytes = part.length
  // The socket is ended only after the part is out: a reset would throw it away unread.
  requestContext.response.write(part, () => requestContext.request.socket.destroySoon())
  if (part.length === 0) requestContext.request.socket.destroySoon()
}

/** All of the answer without the mark of its end. */
export function unended(requestContext: FaultContext, answer: Answer): void {
  requestContext.entry.status = answer.status
  requestContext.response.writeHead(answer.status, answer.headers)
  requestContext.response.write(answer.body, () => requestContext.request.socket.destroySoon())
}

/** So many bytes a second. */
export async function drip(
  requestContext: FaultContext,
  answer: Answer,
  bytesPerS: number,
  wait: (ms: number) => Promise<void>,
): Promise<void> {
  const body = Buffer.from(answer.body)
  requestContext.entry.status = answer.status
  requestContext.response.writeHead(answer.status, { ...answer.headers, 'content-length': String(body.length) })
  const step = Math.max(1, Math.floor(bytesPerS / 10))
  let at = 0
  for (; at + step < body.length && !requestContext.response.destroyed; at += step) {
    requestContext.response.write(body.subarray(at, at + step))
    await wait((step * 1000) / bytesPerS)
  }
  // Ended with the last bytes: a client that has them all may close immediately without having given up.
  requestContext.response.end(body.subarray(at))
}

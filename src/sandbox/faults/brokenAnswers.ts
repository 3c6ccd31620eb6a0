/** Answers that break off, never end or come slowly (guarantees 6.2 'body', 'time'). */
import type { Answer } from '../answer.ts'
import type { FaultSeat } from './faultSeat.ts'

/** Sends half of the answer, then does what ends it. */
export function halfThen(seat: FaultSeat, answer: Answer, end: () => void): void {
  seat.entry.status = answer.status
  const bytes = Buffer.from(answer.body)
  seat.response.writeHead(answer.status, { ...answer.headers, 'content-length': String(bytes.length) })
  seat.response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), end)
}

/** Announces `length` bytes, sends `bytes` of them and breaks. */
export function cutOff(seat: FaultSeat, answer: Answer, bytes: number, length: number = Buffer.byteLength(answer.body)): void {
  seat.entry.status = answer.status
  seat.response.writeHead(answer.status, { ...answer.headers, 'content-length': String(length) })
  seat.response.flushHeaders()
  const part = Buffer.from(answer.body).subarray(0, Math.min(bytes, length - 1))
  seat.entry.answer_bytes = part.length
  // The socket is ended only after the part is out: a reset would throw it away unread.
  seat.response.write(part, () => seat.request.socket.destroySoon())
  if (part.length === 0) seat.request.socket.destroySoon()
}

/** All of the answer without the mark of its end. */
export function unended(seat: FaultSeat, answer: Answer): void {
  seat.entry.status = answer.status
  seat.response.writeHead(answer.status, answer.headers)
  seat.response.write(answer.body, () => seat.request.socket.destroySoon())
}

/** So many bytes a second. */
export async function drip(seat: FaultSeat, answer: Answer, bytesPerS: number, wait: (ms: number) => Promise<void>): Promise<void> {
  const body = Buffer.from(answer.body)
  seat.entry.status = answer.status
  seat.response.writeHead(answer.status, { ...answer.headers, 'content-length': String(body.length) })
  const step = Math.max(1, Math.floor(bytesPerS / 10))
  let at = 0
  for (; at + step < body.length && !seat.response.destroyed; at += step) {
    seat.response.write(body.subarray(at, at + step))
    await wait((step * 1000) / bytesPerS)
  }
  // Ended with the last bytes: who has them all may go at once, and has not given up.
  seat.response.end(body.subarray(at))
}

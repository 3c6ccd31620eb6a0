/** Corrupts the bytes, encoding or headers of an answer (docs/sandbox.md#faults). */
import { gzipSync } from 'node:zlib'
import type { Answer } from '../answer.ts'
import { textOf } from '../text.ts'
import { wholeNumberOr, type Fault } from './faultKinds.ts'

/** Returns the answer as the fault changes it, or unchanged for a fault of another kind. */
export function corruptBytes(answer: Answer, fault: Fault): Answer {
  const bytes = Buffer.from(answer.body)
  const headers = { ...answer.headers }
  switch (fault.kind) {
    case 'extra_bytes':
      return { ...answer, body: Buffer.concat([bytes, Buffer.from('{"data":')]) }
    case 'bad_utf8':
      return { ...answer, body: Buffer.concat([bytes.subarray(0, -1), Buffer.from([0xff, 0xfe]), bytes.subarray(-1)]) }
    case 'bom':
      return { ...answer, body: Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]) }
    case 'gzip':
      return { ...answer, headers: { ...headers, 'content-encoding': 'gzip' }, body: gzipSync(bytes) }
    case 'gzip_broken':
      return { ...answer, headers: { ...headers, 'content-encoding': 'gzip' }, body: gzipSync(bytes).subarray(0, -6) }
    case 'gzip_bomb':
      return {
        ...answer,
        headers: { ...headers, 'content-encoding': 'gzip' },
        body: gzipSync(Buffer.alloc(wholeNumberOr(fault['bytes'], 200_000_000))),
      }
    case 'wrong_type':
      return { ...answer, headers: { ...headers, 'content-type': textOf(fault['type'] ?? 'text/plain') } }
    case 'large':
      return {
        ...answer,
        body: Buffer.concat([
          bytes.subarray(0, -1),
          Buffer.from(`,"padding":"${'x'.repeat(wholeNumberOr(fault['bytes'], 200_000_000))}"}`),
        ]),
      }
    case 'deep': {
      const depth = wholeNumberOr(fault['depth'], 100_000)
      return { ...answer, body: `${'['.repeat(depth)}${']'.repeat(depth)}` }
    }
    case 'doubled_keys':
      return { ...answer, body: `${bytes.toString().slice(0, -1)},"data":[]}` }
    case 'proto':
      return { ...answer, body: `${bytes.toString().slice(0, -1)},"__proto__":{"data":[]}}` }
    default:
      return answer
  }
}

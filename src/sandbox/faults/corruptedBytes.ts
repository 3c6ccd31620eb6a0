/** Corrupts the bytes, encoding or headers of an answer (docs/sandbox.md#faults). */
import { gzipSync } from 'node:zlib'
import type { Answer } from '../answer.ts'
import { textOf } from '../text.ts'
import type { ActingKind } from './faultActions.ts'
import { integerSetting, type Fault } from './faultKinds.ts'
import type { InjectedKind } from './injectedAnswers.ts'

/** Returns the answer as the fault of this kind changes it. Kinds that other modules implement leave the answer unchanged. */
export function corruptBytes(answer: Answer, fault: Fault, kind: keyof typeof CHANGES | InjectedKind | ActingKind): Answer {
  return isOnBytes(kind) ? { ...answer, ...CHANGES[kind](answer, Buffer.from(answer.body), fault) } : answer
}

function isOnBytes(kind: string): kind is keyof typeof CHANGES {
  return Object.hasOwn(CHANGES, kind)
}

/** Functions that return the changed parts of an answer, by kind of fault. `bytes`: copy of the body. */
const CHANGES = {
  extra_bytes: (_, bytes) => ({ body: Buffer.concat([bytes, Buffer.from('{"data":')]) }),
  bad_utf8: (_, bytes) => ({ body: Buffer.concat([bytes.subarray(0, -1), Buffer.from([0xff, 0xfe]), bytes.subarray(-1)]) }),
  bom: (_, bytes) => ({ body: Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]) }),
  gzip: (answer, bytes) => asGzip(answer, gzipSync(bytes)),
  gzip_broken: (answer, bytes) => asGzip(answer, gzipSync(bytes).subarray(0, -6)),
  gzip_bomb: (answer, _, fault) => asGzip(answer, gzipSync(Buffer.alloc(integerSetting(fault, 'bytes', 200_000_000)))),
  wrong_type: (answer, _, fault) => ({ headers: { ...answer.headers, 'content-type': textOf(fault['type'] ?? 'text/plain') } }),
  large: (_, bytes, fault) => ({
    body: Buffer.concat([bytes.subarray(0, -1), Buffer.from(`,"padding":"${'x'.repeat(integerSetting(fault, 'bytes', 200_000_000))}"}`)]),
  }),
  deep: (_, __, fault) => {
    const depth = integerSetting(fault, 'depth', 100_000)
    return { body: `${'['.repeat(depth)}${']'.repeat(depth)}` }
  },
  doubled_keys: (_, bytes) => ({ body: `${bytes.toString().slice(0, -1)},"data":[]}` }),
  proto: (_, bytes) => ({ body: `${bytes.toString().slice(0, -1)},"__proto__":{"data":[]}}` }),
} satisfies Readonly<Record<string, (answer: Answer, bytes: Buffer, fault: Fault) => Partial<Answer>>>

function asGzip({ headers }: Answer, body: Buffer): Partial<Answer> {
  return { headers: { ...headers, 'content-encoding': 'gzip' }, body }
}

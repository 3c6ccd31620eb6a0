import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Rows live for a moment, so the space for new objects need not grow while a file is read: left to itself it takes 80 MB
 * more for the same speed (300,000 rows: 322 and 240 MB at most, Node 24.21). Holds for the whole process from here on.
 */
export function keepMemoryFlat(): void {
  // Read by V8 whenever that space is about to grow, so it may be set at any time.
  setFlagsFromString('--semi-space-growth-factor=1')
  // Little survives, and helper threads to carry it over cost more than they save: 3.5 s of processor a million rows, 3.2 without.
  setFlagsFromString('--no-parallel-scavenge')
}

/**
 * Lets the space for new objects grow while every row is processed. A space that is too small moves rows to the old one before
 * they are finished, where they stay for long. Holds until `keepMemoryFlat` is called again: 4.4 rather than 4.9 s of processor a
 * million rows, and some 190 rather than 205 MB.
 */
export function letYoungGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}

let collectYoung: ((options: { readonly type: 'minor' }) => void) | undefined

/**
 * Frees unreferenced buffers. Bytes from a socket are stored outside of V8's heap, 64 KB behind an object of a
 * hundred bytes, and V8 lets some sixty megabytes of it float before it looks: 160 rather than 133 MB at most while 16 MB of
 * digests are loaded (Node 24.21). For loops that take in megabytes; costs a millisecond.
 */
export function dropBuffers(): void {
  if (collectYoung === undefined) {
    setFlagsFromString('--expose-gc')
    collectYoung = runInNewContext('gc') as typeof collectYoung // V8's own, which the flag has defined
  }
  collectYoung?.({ type: 'minor' })
}

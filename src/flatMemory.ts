import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Stops V8 from enlarging the space for new objects, for the whole process. While a file is read, rows are short-lived. So a larger space
 * takes 80 MB more for the same speed (300,000 rows: 322 and 240 MB at most, Node 24.21).
 */
export function keepMemoryFlat(): void {
  // V8 reads the flag each time before that space grows, so the flag may be set at any time.
  setFlagsFromString('--semi-space-growth-factor=1')
  // Few objects survive, so helper threads cost more than they save: 3.5 s of processor per million rows, 3.2 without.
  setFlagsFromString('--no-parallel-scavenge')
}

/**
 * Lets V8 enlarge the space for new objects, until `keepMemoryFlat` is called again. Used for the first rows of a read that skips no row.
 * With a small space, V8 moves unfinished rows to the space for old objects, where they stay for long. Per million rows, the larger space
 * takes 4.4 rather than 4.9 s of processor, and some 190 rather than 205 MB.
 */
export function letYoungGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}

let collectYoung: ((options: { readonly type: 'minor' }) => void) | undefined

/**
 * Frees unreferenced buffers, for loops that read megabytes from a socket. The bytes of a buffer are stored outside of V8's heap, so
 * V8 sees only small objects and collects them late. Loading 16 MB of digests takes at most 133 MB with these calls and 160 MB without
 * (Node 24.21). A call takes a millisecond.
 */
export function dropBuffers(): void {
  if (collectYoung === undefined) {
    setFlagsFromString('--expose-gc')
    collectYoung = runInNewContext('gc') as typeof collectYoung // the flag defines `gc` in new contexts
  }
  collectYoung?.({ type: 'minor' })
}

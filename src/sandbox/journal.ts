/**
 * What changed the state, one JSON line each, written before the answer goes out: whatever a caller was told survives a
 * SIGKILL (the bytes are the kernel's by then; not a power cut, which a test tool need not survive). Replayed at start.
 */
import { closeSync, existsSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { Apply } from './faults.ts'
import type { Pair } from './signature.ts'

export type JournalEntry =
  | {
      readonly kind: 'call'
      readonly now: number
      /** Counters as they stood before: a refused call that used up an id does not shift the next. */
      readonly nextId: string
      readonly nextShortId: number
      readonly random: number
      readonly endpoint: string
      readonly path: Readonly<Record<string, string>>
      readonly pairs: readonly Pair[]
      readonly query: readonly Pair[]
      readonly oauth: readonly Pair[]
      readonly user: string | null
      readonly body: string
      readonly apply: Apply
      readonly effects: readonly unknown[]
    }
  | { readonly kind: 'event'; readonly now: number; readonly area: string; readonly event: unknown }
  | { readonly kind: 'clock'; readonly offsetMs: number }
  | { readonly kind: 'switches'; readonly values: Readonly<Record<string, unknown>> }
  | { readonly kind: 'reset'; readonly seed: number | null }

export class Journal {
  readonly #path: string
  #file = -1

  constructor(path: string) {
    this.#path = path
  }

  /** Hands each entry of the file to `replay`, then opens it for more; a last line cut by a kill is dropped. */
  async open(replay: (entry: JournalEntry) => Promise<void>): Promise<void> {
    const old = existsSync(this.#path) ? readFileSync(this.#path) : Buffer.alloc(0)
    let start = 0
    for (let end = old.indexOf(10, start); end !== -1; end = old.indexOf(10, start)) {
      // Only this program writes the file, and it writes nothing but entries.
      await replay(JSON.parse(old.toString('utf8', start, end)) as JournalEntry)
      start = end + 1
    }
    this.#file = openSync(this.#path, 'a', 0o600)
    if (start < old.length) ftruncateSync(this.#file, start)
  }

  write(entry: JournalEntry): void {
    if (this.#file === -1) return
    const bytes = Buffer.from(JSON.stringify(entry) + '\n')
    let done = 0
    while (done < bytes.length) done += writeSync(this.#file, bytes, done)
  }

  /** Forgets everything: the first state is what an empty journal means. */
  restart(): void {
    if (this.#file !== -1) ftruncateSync(this.#file, 0)
  }

  close(): void {
    if (this.#file !== -1) closeSync(this.#file)
    this.#file = -1
  }
}

import { statSync } from 'node:fs'

/** Results by file, each until its file or its surroundings change. */
export interface UnchangedFiles<Result> {
  /** Returns the stored result of `file`, or loads it. A failure is stored too, and thrown again. */
  readonly get: (file: string, surroundings: string, load: () => Promise<Result>) => Promise<Result>
}

interface Stored<Result> {
  readonly state: string
  readonly result: Promise<Result>
}

/** Folders of a process are few; a test that makes thousands must not keep them all. */
const maxFiles = 20_000

/**
 * Creates a store for what files say. `serve` reads its folder every 2 s: 3,000 YAML files take 3 s to parse and check, and 20 ms to find
 * unchanged. A change of the text always moves the time of change of the inode (in nanoseconds), its size or its number.
 */
export function createUnchangedFiles<Result>(): UnchangedFiles<Result> {
  const stored = new Map<string, Stored<Result>>()
  return {
    get(file, surroundings, load) {
      const state = `${stateOf(file)} ${surroundings}`
      const known = stored.get(file)
      if (known?.state === state) return known.result
      if (stored.size >= maxFiles) stored.clear()
      const result = load()
      stored.set(file, { state, result })
      return result
    },
  }
}

/** A file that cannot be found is loaded each time: its error names the reason. */
function stateOf(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? `missing ${process.hrtime.bigint()}` : `${found.ctimeNs} ${found.mtimeNs} ${found.size} ${found.ino}`
}

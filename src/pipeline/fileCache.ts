import { statSync } from 'node:fs'

/** Cache of results by file. A result is valid until the file or the other inputs of the result change. */
export interface FileCache<Result> {
  /**
   * Returns the stored result of `file`, or calls `load`. `otherInputs`: text of all other inputs of the result. An error is stored too:
   * until the file or `otherInputs` change, each further call rejects with this error.
   */
  readonly get: (file: string, otherInputs: string, load: () => Promise<Result>) => Promise<Result>
}

interface Stored<Result> {
  readonly state: string
  readonly result: Promise<Result>
}

/** Maximum number of cached files. A full cache is emptied. Only tests have that many files. */
const maxFiles = 20_000

/**
 * Creates a cache for loaded files, because `serve` reads its folder every few seconds. To parse and check 3,000 YAML files takes 3 s, to
 * find them unchanged 20 ms. A file counts as changed if its ctime or mtime (in nanoseconds), size or inode number changed.
 */
export function createFileCache<Result>(): FileCache<Result> {
  const stored = new Map<string, Stored<Result>>()
  return {
    get(file, otherInputs, load) {
      const state = `${stateOf(file)} ${otherInputs}`
      const known = stored.get(file)
      if (known?.state === state) return known.result
      if (stored.size >= maxFiles) stored.clear()
      const result = load()
      stored.set(file, { state, result })
      return result
    },
  }
}

/** Returns the state of a file. A missing file has a new state each time, so that `load` is called and its error has the reason. */
function stateOf(file: string): string {
  const fileStat = statSync(file, { bigint: true, throwIfNoEntry: false })
  return fileStat === undefined
    ? `missing ${process.hrtime.bigint()}`
    : `${fileStat.ctimeNs} ${fileStat.mtimeNs} ${fileStat.size} ${fileStat.ino}`
}

/**
 * Journal of state changes. Each change is one JSON line (exceptions: `stateWriter.ts`), which is written before the answer is sent. A
 * start replays the lines, so these changes survive a SIGKILL. A power cut may lose the last changes, because lines are written without
 * fsync.
 *
 * The first line has the version. Compaction replaces all lines by the current state: a line that names its parts, and the bytes of each
 * part. The new file is renamed to the old name, so a kill leaves the old or the new file complete. Compaction runs in two cases:
 * - A snapshot is restored.
 * - The lines exceed both `compactAfterBytes` and the state at the beginning of the file.
 */
import { closeSync, existsSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs'
import { UsageError } from '../../errors.ts'
import { quoteArgument } from '../../format.ts'
import { jsonOf, listOf, recordOf } from '../../unknownValue.ts'
import type { AppliedPart } from '../appliedPart.ts'
import type { Pair } from '../verify/signature.ts'
import { lockStateFile, type FileLock } from './fileLock.ts'

/** Counters of ids and random numbers before a change. Stored, because calls without an entry, such as refused ones, change them too. */
export interface Counters {
  readonly nextId: string
  readonly nextShortId: number
  readonly random: number
}

/**
 * Entry of the journal: a change of the state. `now`: time of the sandbox's clock, milliseconds since 1970. The entry of a call has the
 * fields of `AdmittedRequest` except `rawBody`: endpoint by name, user by id, body as text. Of `oauth`, it has only the token, the
 * verifier and the callback.
 */
export type JournalEntry =
  | ({
      readonly kind: 'call'
      readonly now: number
      readonly endpoint: string
      readonly path: Readonly<Record<string, string>>
      readonly pairs: readonly Pair[]
      readonly query: readonly Pair[]
      readonly oauth: readonly Pair[]
      readonly user: string | null
      readonly body: string
      /** Part of the request that was applied: `all`, `first:N` or `only`. */
      readonly apply: AppliedPart
      /** Results of the effects of the call (`Call.runEffect`), in their order. */
      readonly effects: readonly unknown[]
    } & Counters)
  | ({ readonly kind: 'event'; readonly now: number; readonly area: string; readonly event: unknown } & Counters)
  | { readonly kind: 'clock'; readonly offsetMs: number }
  | { readonly kind: 'switches'; readonly values: Readonly<Record<string, unknown>> }
  | { readonly kind: 'reset'; readonly seed: number }
  | { readonly kind: 'instance'; readonly id: string }

export interface StatePart {
  readonly name: string
  readonly bytes: Uint8Array
}

/**
 * Version of the file. Raise it when the shape of a state or of an entry changes. Raise it also when a handler treats calls otherwise than
 * before. A file of another version is rejected.
 */
const VERSION = 3

/** First line of a file without a state. */
const JOURNAL_HEAD = Buffer.from(JSON.stringify({ kind: 'journal', version: VERSION }) + '\n')

/** First line of a file that begins with the state. `bytes`: length of each part. */
interface StateHead {
  readonly kind: 'state'
  readonly version: number
  readonly parts: readonly { readonly name: string; readonly bytes: number }[]
}

const DEFAULT_COMPACT_AFTER_BYTES = 64 * 1024 * 1024
const NEWLINE = Buffer.from('\n')

export class Journal {
  readonly #path: string
  readonly #currentState: () => Iterable<StatePart>
  readonly #compactAfterBytes: number
  /** Descriptor of the open file; -1 before `open` and after `close`. */
  #file = -1
  /** Length of the beginning of the file, in bytes: the first line, or the state. 0 before the first entry. */
  #headBytes = 0
  #hasState = false
  /** Length of the entries after the beginning, in bytes. */
  #lineBytes = 0
  /** Length of the lines at the last failed compaction, in bytes; 0 after a successful one. */
  #failedAtBytes = 0
  #scheduledCompaction: NodeJS.Immediate | undefined
  #lock: FileLock | undefined

  /** `compactAfterBytes`: size in bytes that the lines must exceed before they are compacted. */
  constructor(path: string, currentState: () => Iterable<StatePart>, compactAfterBytes: number = DEFAULT_COMPACT_AFTER_BYTES) {
    this.#path = path
    this.#currentState = currentState
    this.#compactAfterBytes = compactAfterBytes
  }

  /**
   * Locks the file, passes its state (if any) to `load` and each entry to `replay`, then opens the file for further entries. Removes an
   * incomplete last line.
   *
   * @throws {UsageError} if the file is locked or damaged, or of another version
   */
  async open(load: (parts: ReadonlyMap<string, Buffer>) => void, replay: (entry: JournalEntry) => Promise<void>): Promise<void> {
    this.#lock = lockStateFile(this.#path)
    try {
      await this.#readFile(load, replay)
      this.#file = openSync(this.#path, 'a', 0o600)
    } catch (error) {
      this.#release()
      throw error
    }
  }

  /** True if the open file has neither a state nor entries. */
  get isEmpty(): boolean {
    return !this.#hasState && this.#lineBytes === 0
  }

  /** Appends an entry. Does nothing unless the file is open. */
  write(entry: JournalEntry): void {
    if (this.#file === -1) return
    const head = this.#headBytes === 0 ? JOURNAL_HEAD : Buffer.of()
    const line = Buffer.from(JSON.stringify(entry) + '\n')
    try {
      writeAll(this.#file, Buffer.concat([head, line]))
    } catch (error) {
      // A full disk may have stored a part of the line. The next entry must begin a new line.
      ftruncateSync(this.#file, this.#headBytes + this.#lineBytes)
      throw error
    }
    this.#headBytes += head.length
    this.#lineBytes += line.length
    // Compacts in the next turn of the event loop, because events are written before they are applied to the state.
    if (this.#lineBytes > Math.max(this.#compactAfterBytes, this.#headBytes, this.#failedAtBytes * 2))
      this.#scheduledCompaction ??= setImmediate(() => this.#tryToCompact())
  }

  /** Compacts the file. If that fails, as on a full disk, the lines stay, and the next attempt is made once they have doubled. */
  #tryToCompact(): void {
    try {
      this.compact()
    } catch {
      this.#failedAtBytes = this.#lineBytes
    }
  }

  /** Replaces the file by the current state. */
  compact(): void {
    clearImmediate(this.#scheduledCompaction)
    this.#scheduledCompaction = undefined
    if (this.#file === -1) return
    const parts = [...this.#currentState()]
    const head: StateHead = { kind: 'state', version: VERSION, parts: parts.map(({ name, bytes }) => ({ name, bytes: bytes.length })) }
    // A failed compaction may have left this file.
    rmSync(this.#newPath, { force: true })
    // Opened for appending, because after the rename it stays open. Opening it again could fail. Then no further change would be stored.
    const file = openSync(this.#newPath, 'ax', 0o600)
    try {
      for (const bytes of [Buffer.from(JSON.stringify(head) + '\n'), ...parts.map((part) => part.bytes), NEWLINE]) writeAll(file, bytes)
      fsyncSync(file)
      renameSync(this.#newPath, this.#path)
    } catch (error) {
      closeSync(file)
      rmSync(this.#newPath, { force: true })
      throw error
    }
    closeSync(this.#file)
    this.#file = file
    this.#headBytes = fstatSync(file).size
    this.#hasState = true
    this.#lineBytes = 0
    this.#failedAtBytes = 0
  }

  /** Empties the file. The next entry must be the reset of the state. */
  empty(): void {
    if (this.#file === -1) return
    ftruncateSync(this.#file, 0)
    this.#headBytes = 0
    this.#hasState = false
    this.#lineBytes = 0
    this.#failedAtBytes = 0
  }

  /** Closes the file and releases its lock. */
  close(): void {
    clearImmediate(this.#scheduledCompaction)
    if (this.#file !== -1) closeSync(this.#file)
    this.#file = -1
    this.#release()
  }

  async #readFile(load: (parts: ReadonlyMap<string, Buffer>) => void, replay: (entry: JournalEntry) => Promise<void>): Promise<void> {
    // A kill during `compact` may have left an incomplete new file.
    rmSync(this.#newPath, { force: true })
    if (!existsSync(this.#path)) return
    const file = openSync(this.#path, 'r')
    const state = readState(file, this.#path)
    if (state !== undefined) {
      try {
        load(state.parts)
      } catch (error) {
        throw damagedError('The state file contains a state that cannot be read', { path: this.#path, cause: error })
      }
      this.#hasState = true
    }
    this.#headBytes = state?.bytes ?? readJournalHead(file, this.#path)
    const lines = readFrom(file, this.#headBytes, fstatSync(file).size - this.#headBytes)
    closeSync(file)
    let start = 0
    let line = this.#hasState ? 1 : 2
    for (let end = lines.indexOf(10, start); end !== -1; end = lines.indexOf(10, start)) {
      const location = { path: this.#path, line, stateBytes: this.#hasState ? this.#headBytes : 0 }
      await replayLine(lines.toString('utf8', start, end), location, replay)
      start = end + 1
      line++
    }
    this.#lineBytes = start
    if (start < lines.length) truncate(this.#path, this.#headBytes + start)
  }

  #release(): void {
    this.#lock?.release()
    this.#lock = undefined
  }

  /** Path of the new file during `compact`. */
  get #newPath(): string {
    return `${this.#path}.new`
  }
}

interface LineLocation {
  readonly path: string
  /** Number of the line in the file; after a state, from 1. */
  readonly line: number
  /** Length of the state before the lines; 0 without one. */
  readonly stateBytes: number
}

/** Replays one line. @throws {UsageError} with file and line for an entry that cannot be read or applied */
async function replayLine(
  text: string,
  { path, line, stateBytes }: LineLocation,
  replay: (entry: JournalEntry) => Promise<void>,
): Promise<void> {
  const countedFrom = stateBytes === 0 ? '' : `, counted after the ${stateBytes} bytes of the stored state`
  const lineError = (problem: string, cause?: unknown): UsageError =>
    damagedError(`Line ${line} of the state file ${problem}`, { path, where: `${path}:${line}${countedFrom}`, cause })
  // The check below rejects a value without a `kind`.
  const entry = jsonOf(text) as JournalEntry | undefined
  if (entry === undefined) throw lineError('is not JSON')
  if (typeof entry !== 'object' || entry === null || typeof entry.kind !== 'string') throw lineError('is not an entry of a sandbox')
  try {
    await replay(entry)
  } catch (error) {
    throw lineError(`cannot be applied (${error instanceof Error ? error.message : 'unknown'})`, error)
  }
}

/** Returns the error for a file that cannot be used. `where`: by default the path. */
function damagedError(
  message: string,
  { path, where = path, cause }: { readonly path: string; readonly where?: string; readonly cause?: unknown },
): UsageError {
  return new UsageError('SANDBOX_STATE_DAMAGED', message, {
    where,
    hint: `Put back a copy of the file, or delete it to start from the first state: rm ${quoteArgument(path)}`,
    ...(cause === undefined ? {} : { cause }),
  })
}

/**
 * Returns the state at the beginning of the file, and its length in bytes. Undefined if the file begins without one.
 *
 * @throws {UsageError} if the state is incomplete, of another version, or cannot be read
 */
function readState(file: number, path: string): { readonly parts: ReadonlyMap<string, Buffer>; readonly bytes: number } | undefined {
  const { size } = fstatSync(file)
  let beginning = readFrom(file, 0, Math.min(size, 65_536))
  if (!beginning.subarray(0, 16).toString().startsWith('{"kind":"state"')) return undefined
  while (!beginning.includes(10) && beginning.length < size) beginning = readFrom(file, 0, Math.min(size, beginning.length * 2))
  const end = beginning.indexOf(10)
  // `compact` renames only a complete file, so another program truncated this one.
  if (end === -1) throw damagedError(TRUNCATED, { path })
  const lengths = partsOfHead(beginning.toString('utf8', 0, end), path)
  if (end + 1 + lengths.reduce((sum, { bytes }) => sum + bytes, NEWLINE.length) > size) throw damagedError(TRUNCATED, { path })
  let at = end + 1
  const parts = new Map<string, Buffer>()
  for (const { name, bytes } of lengths) {
    parts.set(name, readFrom(file, at, bytes))
    at += bytes
  }
  return { parts, bytes: at + NEWLINE.length }
}

const TRUNCATED = 'The state file ends within the stored state'

/** Returns the parts that the first line names. @throws {UsageError} if the line cannot be read, or is of another version */
function partsOfHead(text: string, path: string): StateHead['parts'] {
  const unreadable = 'The state file begins with a line that cannot be read'
  let head: Readonly<Record<string, unknown>>
  try {
    head = recordOf(JSON.parse(text))
  } catch (error) {
    throw damagedError(unreadable, { path, cause: error })
  }
  if (head['version'] !== VERSION) throw otherVersionError(String(head['version']), path)
  return listOf(head['parts']).map((part) => {
    const { name, bytes } = recordOf(part)
    if (typeof name !== 'string' || typeof bytes !== 'number' || bytes < 0) throw damagedError(unreadable, { path })
    return { name, bytes }
  })
}

/**
 * Returns the length of the first line of a file without a state. 0 if the file is empty, or if a kill left only a part of this line.
 *
 * @throws {UsageError} if the file begins otherwise
 */
function readJournalHead(file: number, path: string): number {
  const beginning = readFrom(file, 0, JOURNAL_HEAD.length)
  if (JOURNAL_HEAD.equals(beginning)) return JOURNAL_HEAD.length
  if (JOURNAL_HEAD.subarray(0, beginning.length).equals(beginning)) return 0
  throw otherVersionError(/^\{"kind":"journal","version":(\d+)/.exec(beginning.toString())?.[1], path)
}

/** Returns the error for a file of another version. `version`: undefined if the file names none, as those before version 3. */
function otherVersionError(version: string | undefined, path: string): UsageError {
  const found =
    version === undefined ? 'The state file names no version of its format' : `The state file has version ${version} of its format`
  return new UsageError(
    'SANDBOX_STATE_DAMAGED',
    `${found}, and this sandbox needs version ${VERSION}: another version of the sandbox wrote it, or another program`,
    { where: path, hint: `Check the path, or delete the file to start from the first state: rm ${quoteArgument(path)}` },
  )
}

function readFrom(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  let done = 0
  while (done < length) {
    const read = readSync(file, bytes, done, length - done, position + done)
    if (read === 0) return bytes.subarray(0, done)
    done += read
  }
  return bytes
}

function writeAll(file: number, bytes: Uint8Array): void {
  let done = 0
  while (done < bytes.length) done += writeSync(file, bytes, done)
}

function truncate(path: string, length: number): void {
  const file = openSync(path, 'r+')
  ftruncateSync(file, length)
  closeSync(file)
}

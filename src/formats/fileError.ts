import { RunError, type SluiceErrorOptions } from '../errors.ts'
import type { ErrorCode } from '../model/errorCodes.ts'

/**
 * Returns the error that rejects a whole file: no row of the file is used. `at` is `line 7`, `byte 4096` or `bytes 0 to 4095`. It never has
 * a value of the file, because a value may be personal (docs/guarantees.md#no-raw-identifier-at-rest). `remedy`, `members`: see
 * `FileError`.
 */
export function fileError(
  code: ErrorCode,
  message: string,
  options: {
    readonly name: string
    readonly at?: string
    readonly hint: string
    readonly cause?: unknown
    readonly remedy?: SourceSettings
    readonly members?: readonly string[]
  },
): FileError {
  const { name, at, hint, cause, remedy, members } = options
  const where = at === undefined ? name : `${name}, ${at}`
  return new FileError(code, message, { where, hint, ...(cause === undefined ? {} : { cause }) }, { remedy, members })
}

/** Settings of a source besides its address, in the form of a pipeline file. */
export interface SourceSettings {
  readonly csv?: { readonly header_row: number }
  readonly xml?: { readonly item?: string; readonly repair_ampersands?: true; readonly html_entities?: true }
  readonly member?: string
}

/** Error that rejects a file. `remedy`: settings of the source with which the file can be read, if known. */
export class FileError extends RunError {
  readonly remedy: SourceSettings | undefined
  /** Names of the first files of an archive, if the user must choose one. */
  readonly members: readonly string[] | undefined
  constructor(
    code: ErrorCode,
    message: string,
    options: SluiceErrorOptions,
    found: { readonly remedy: SourceSettings | undefined; readonly members: readonly string[] | undefined },
  ) {
    super(code, message, options)
    this.remedy = found.remedy
    this.members = found.members
  }
}

/** Returns the error for a part of a file that is larger than `limitBytes` (`ReadLimits.recordBytes`). `part`: for example `a line`. */
export function recordTooLargeError(options: {
  readonly name: string
  readonly part: string
  readonly limitBytes: number
  /** First line of the part; undefined if the part is in several places. */
  readonly line?: number
  readonly hint: string
}): RunError {
  const { name, part, limitBytes, line, hint } = options
  const at = line === undefined ? {} : { at: `line ${line}` }
  return fileError('FILE_RECORD_TOO_LARGE', `${part} is larger than ${limitBytes} bytes`, { name, ...at, hint })
}

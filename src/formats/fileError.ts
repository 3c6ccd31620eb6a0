import { RunError, type SluiceErrorOptions } from '../errors.ts'
import type { ErrorCode } from '../model/errorCodes.ts'

/**
 * Returns the error that rejects a whole file: no row of the file is used. `at` is `line 7` or `byte 4096`, and never a value of the
 * file, because it may be personal (docs/guarantees.md#no-raw-identifier-at-rest). `remedy`, `members`: see `FileError`.
 */
export function fileError(
  code: FileErrorCode,
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
  /** Names of the first two files of an archive, if the user must choose one. */
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

/** Returns the error for a part that is larger than `limitBytes` (limits.ts `recordBytes`). `what`: the part, such as `a line`. */
export function recordTooLarge(options: {
  readonly name: string
  readonly what: string
  readonly limitBytes: number
  /** First line of the part; undefined if the part is in several places. */
  readonly line?: number
  readonly hint: string
}): RunError {
  const { name, what, limitBytes, line, hint } = options
  const at = line === undefined ? {} : { at: `line ${line}` }
  return fileError('FILE_RECORD_TOO_LARGE', `${what} is larger than ${limitBytes} bytes`, { name, ...at, hint })
}

/** Error codes of whole files with their meanings; docs/errors.md lists them. */
export const fileErrorCodes = {
  FILE_EMPTY: 'the file is empty',
  FILE_TRUNCATED: 'the file ends inside a record, an element or a compressed stream',
  FILE_CORRUPT: 'a compressed stream or archive is damaged: checksum, length or structure',
  FILE_TRAILING_BYTES: 'bytes follow the end of a compressed stream',
  FILE_DOUBLE_PACKED: 'the file is compressed twice',
  FILE_ARCHIVE: 'the archive does not have exactly one usable member',
  FILE_BOMB: 'the file decompresses to more than the limits allow',
  FILE_TOO_LARGE: 'the file is larger than the limits allow',
  FILE_ENCODING: 'bytes that are not of the encoding the file is read in',
  FILE_DOCTYPE: 'an XML document type or processing instruction',
  FILE_MALFORMED: 'the file breaks the rules of its format',
  FILE_TOO_DEEP: 'elements nested deeper than the limit',
  FILE_RECORD_TOO_LARGE: 'a record above the limit',
  FILE_UNCLOSED_QUOTE: 'a quote that is never closed includes the following records',
  FILE_FIELD_TOO_LARGE: 'a field above the limit',
  FILE_TOO_MANY_COLUMNS: 'more columns than the limit',
  FILE_DUPLICATE_COLUMN: 'several columns have the same name and one of them is read',
  FILE_NO_HEADER: 'the first row looks like data, not like column names',
  FILE_COMMENT_HEADER: 'a comment row as wide as the header comes before it',
  FILE_FAULTY_ROWS: 'more than one row in a hundred cannot be read',
  FILE_NOT_JSON_LINES: 'objects spread over several lines, or one object for the whole file',
  HEADER_MISMATCH: 'the header does not match the configured delimiter',
  WRONG_FORMAT: 'the file has a format that cannot be read',
  UNEXPECTED_CONTENT: 'a web page where data was expected',
  DIGEST_MISMATCH: 'the bytes do not have the digest that was declared for them',
} as const

export type FileErrorCode = keyof typeof fileErrorCodes

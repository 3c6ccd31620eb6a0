import { fileError, recordTooLargeError } from '../fileError.ts'
import type { ReadLimits } from '../limits.ts'
import { maxPathKeys, type RecordsPlace } from './findRecords.ts'
import { jsonOf } from '../../unknownValue.ts'

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * Finds the array of the records in a file such as `{"data": {"products": [ … ]}}`. At the end of the file, checks that the text around the
 * array is valid, closed JSON. If the place was detected, also checks that no other array of objects is within `maxPathKeys`. Keeps the
 * text around the array in memory, at most `recordBytes`.
 *
 * @throws RunError FILE_RECORD_TOO_LARGE, FILE_MALFORMED; from `end` also FILE_TRUNCATED and WRONG_FORMAT
 */
export class JsonSurroundings {
  readonly #name: string
  readonly #limitBytes: number
  readonly #place: RecordsPlace
  #bytes = Buffer.alloc(4096)
  #length = 0
  /** Open objects and arrays, outermost first. `key`: undefined for the root and for elements of arrays. */
  readonly #open: { readonly isArray: boolean; readonly key: string | undefined }[] = []
  /** Index in `#bytes` of the start of the last string. */
  #stringStart = 0
  #inString = false
  #escaped = false
  /** Key of the value that follows; undefined outside of an object's value. */
  #key: string | undefined
  /** True once the array of the records was opened. */
  #foundRecords = false
  /** True once the root object was closed. */
  #closedRoot = false

  constructor(name: string, limits: Pick<ReadLimits, 'recordBytes'>, place: RecordsPlace) {
    this.#name = name
    this.#limitBytes = limits.recordBytes
    this.#place = place
  }

  /**
   * Takes one byte outside of the array. Returns true if the byte opens the array of the records. The caller does not pass the content
   * of the array, and calls `arrayClosed` at its closing bracket.
   */
  take(byte: number): boolean {
    this.#append(byte)
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false
      else if (byte === backslash) this.#escaped = true
      else if (byte === quote) this.#inString = false
    } else if (byte === quote) {
      this.#inString = true
      this.#stringStart = this.#length - 1
    } else if (byte === colon) {
      this.#key = this.#lastString()
      // A further colon has no key. Without this line, each one would parse the same string again.
      this.#stringStart = this.#length - 1
    } else if (byte === comma) this.#key = undefined
    else if (byte === openBrace || byte === openBracket) {
      const isRecords = byte === openBracket && this.#isPlace()
      this.#open.push({ isArray: byte === openBracket, key: this.#key })
      this.#key = undefined
      if (isRecords && this.#foundRecords) throw this.#malformedError(`"${this.#path}" is repeated`)
      this.#foundRecords ||= isRecords
      return isRecords
    } else if (byte === closeBrace || byte === closeBracket) this.#pop()
    return false
  }

  /** Takes the closing bracket of the array of the records. */
  arrayClosed(): void {
    this.#append(closeBracket)
    this.#pop()
  }

  /** Checks the text around the array, at the end of the file. `line`: last line. */
  end(line: number): void {
    if (!this.#closedRoot) {
      throw fileError('FILE_TRUNCATED', 'the object around the records is not closed', {
        name: this.#name,
        at: `line ${line}`,
        hint: 'Export the file again.',
      })
    }
    const around = jsonOf(this.#bytes.toString('utf8', 0, this.#length))
    if (around === undefined) throw this.#malformedError('the text around the records is not valid JSON')
    if (!this.#foundRecords) {
      throw fileError('WRONG_FORMAT', `the file has no array at "${this.#path}"`, {
        name: this.#name,
        hint: 'Name the array of the records: `json: { records: data.products }`, or leave it out if there is only one.',
      })
    }
    // The array of the records is empty in `around`, because `take` did not get its content.
    const other = this.#place.isDetected ? arraysOfObjects(around)[0] : undefined
    if (other !== undefined) {
      throw fileError('WRONG_FORMAT', `records may be at "${this.#path}" or at "${other}"`, {
        name: this.#name,
        hint: `Choose one: \`json: { records: ${this.#path} }\`.`,
      })
    }
  }

  get #path(): string {
    return this.#place.path.join('.')
  }

  #isPlace(): boolean {
    const { path } = this.#place
    return (
      this.#open.length === path.length &&
      this.#key === path.at(-1) &&
      this.#open.every(({ isArray, key }, depth) => !isArray && (depth === 0 || key === path[depth - 1]))
    )
  }

  #pop(): void {
    if (this.#open.pop() === undefined) throw this.#malformedError('a bracket is closed that was never opened')
    this.#key = undefined
    this.#closedRoot ||= this.#open.length === 0
  }

  /** Returns the last string, which is a key. Returns undefined if it is malformed, so that it matches no key. */
  #lastString(): string | undefined {
    if (this.#bytes[this.#stringStart] !== quote) return undefined
    const text = jsonOf(this.#bytes.toString('utf8', this.#stringStart, this.#length - 1))
    return typeof text === 'string' ? text : undefined
  }

  #append(byte: number): void {
    if (this.#length === this.#limitBytes) {
      throw recordTooLargeError({
        name: this.#name,
        part: 'the text around the records',
        limitBytes: this.#limitBytes,
        hint: 'Export only the records, as a JSON array or one object per line.',
      })
    }
    if (this.#length === this.#bytes.length) {
      const larger = Buffer.alloc(this.#length * 2)
      this.#bytes.copy(larger)
      this.#bytes = larger
    }
    this.#bytes[this.#length++] = byte
  }

  #malformedError(message: string) {
    return fileError('FILE_MALFORMED', message, { name: this.#name, hint: 'Export the file again as valid JSON.' })
  }
}

/** Returns the paths of the arrays that contain an object or array. A path has at most `maxPathKeys` keys. */
function arraysOfObjects(value: unknown, path: readonly string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.some((item) => typeof item === 'object' && item !== null) ? [path.join('.')] : []
  return path.length === maxPathKeys ? [] : Object.entries(value).flatMap(([key, inner]) => arraysOfObjects(inner, [...path, key]))
}

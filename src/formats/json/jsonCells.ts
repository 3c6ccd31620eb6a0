import type { Cell, RowFault } from '../../model/record.ts'
import { addText, maxNameLength, type ColumnRegistry, type OpenCells } from '../columnRegistry.ts'
import type { RowFaultCode } from '../rowCounts.ts'
import { jsonOf } from '../../unknownValue.ts'

/**
 * Reads one JSON object into cells by column. Adds new columns to `columns`. Returns the first fault instead of throwing it.
 *
 * - A number keeps its source text, so that a large number loses no digit.
 * - `true` and `false` are texts. Null is an absent cell.
 * - A nested object gives columns named by its path (`price.value`).
 * - An array of scalars gives one cell of several texts.
 * - An array of objects gives such a cell for each inner key (`images.src`).
 * - A `__proto__` key is ignored with its value.
 *
 * These are faults:
 * - a repeated key, or two keys that give the same column
 * - a key that contains a NUL, or is an email or phone number
 * - too many different keys, a key with a long path, or too many levels
 * - half of a surrogate pair
 * - any other text than RFC 8259 permits
 *
 * JSON.parse is not used, because it does not detect repeated keys. The tests compare the results of both.
 */
export function readJsonCells(
  text: string,
  columns: ColumnRegistry,
  limits: { readonly jsonDepth: number; readonly columns: number },
): JsonCells {
  const scanner = new JsonScanner(text, columns, limits)
  try {
    scanner.readDocument()
    return { cells: scanner.cells }
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    scanner.readRest()
    return { cells: scanner.cells, fault: { code: error.code, message: error.message } }
  }
}

/** Cells of a record by index of their column in the registry. If there is a fault, those before it, and those of `readRest`. */
export interface JsonCells {
  readonly cells: readonly (Cell | undefined)[]
  readonly fault?: RowFault
}

/** First fault of a record. Thrown and caught in this file. */
class JsonFault extends Error {
  readonly code: RowFaultCode
  constructor(code: RowFaultCode, message: string) {
    super(message)
    this.code = code
  }
}

const numberPattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
// The patterns exclude control characters, because they must be escaped (RFC 8259 section 7).
const plainStringPattern = /"([^"\\\u0000-\u001f]*)"/y
const escapedStringPattern = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y

// A key such as `hero@2x.png` is the name of an image.
const emailKey = /^[^\s@]+@(?!\dx\.[a-z]+$)[^\s@]+\.[a-z]{2,}$/i
const phoneKey = /^\+\d[\d\s().-]{6,}\d$/

/** Returns true for a key that is an email or an international phone number (docs/guarantees.md#no-raw-identifier-at-rest). */
function isPersonal(key: string): boolean {
  return (key.includes('@') && emailKey.test(key)) || (key.charCodeAt(0) === 43 && phoneKey.test(key))
}

/** Matches a string, a bracket, a comma, a colon or any other word. A string may have any characters, and may be cut off. Takes linear time. */
const looseToken = /"[^"\\]*(?:\\[^][^"\\]*)*"?|[{}[\],:]|[^\s"{}[\],:]+/g

class JsonScanner {
  readonly cells: OpenCells = []
  readonly #text: string
  readonly #columns: ColumnRegistry
  readonly #limits: { readonly jsonDepth: number; readonly columns: number }
  #at = 0
  #depth = 0

  constructor(text: string, columns: ColumnRegistry, limits: { readonly jsonDepth: number; readonly columns: number }) {
    this.#text = text
    this.#columns = columns
    this.#limits = limits
  }

  readDocument(): void {
    if (this.#peek() !== '{') throw new JsonFault('ROW_JSON', 'the record is not a JSON object')
    this.#readObject('', false, false)
    if (this.#peek() !== '') throw this.#unexpectedError()
  }

  /**
   * Reads the scalars of the outermost object after a fault, as far as they can be found. The key of the record may be among them. With it,
   * the record stays as it was (docs/guarantees.md#nothing-lost).
   */
  readRest(): void {
    const rest = this.#text.slice(this.#at)
    const quotes = [...rest.matchAll(/\\[^]|"/g)].filter(([match]) => match === '"').length
    // An odd number: the fault is a quote inside a text (`"5" nail"`), and the next quote ends that text.
    const start = quotes % 2 === 0 ? 0 : rest.indexOf('"') + 1
    let depth = this.#depth
    let key: string | undefined
    let isValue = false
    for (const [token] of rest.slice(start).matchAll(looseToken)) {
      if (token === '{' || token === '[') depth++
      else if (token === '}' || token === ']') depth--
      else if (depth === 1 && token !== ',') {
        if (token === ':') {
          isValue = key !== undefined
          continue
        }
        const text = scalarOf(token)
        if (isValue && key !== undefined && text !== undefined) this.#setIfEmpty(key, text)
        key = isValue || !token.startsWith('"') ? undefined : text
        isValue = false
        continue
      }
      key = undefined
      isValue = false
    }
  }

  /** Sets the cell of a key, unless it has a value or the key is not allowed. */
  #setIfEmpty(key: string, text: string): void {
    if (key === '__proto__' || key.length > maxNameLength || key.includes('\0') || isPersonal(key)) return
    const position = this.#columns.position(key, this.#limits.columns * 8)
    if (position >= 0) this.cells[position] ??= text
  }

  /** `isRepeated`: true inside an array. `isIgnored`: true inside the value of a `__proto__` key. */
  #readObject(path: string, isRepeated: boolean, isIgnored: boolean): void {
    this.#enter()
    const keys = new Set<string>()
    if (this.#peek() === '}') return this.#leave()
    for (;;) {
      if (this.#peek() !== '"') throw this.#unexpectedError()
      const key = this.#readString()
      if (keys.has(key)) throw new JsonFault('ROW_JSON_KEYS', 'a key is repeated in one object')
      // Postgres cannot store such a column name.
      if (key.includes('\0')) throw new JsonFault('TEXT_BROKEN', 'a key contains a NUL character')
      if (isPersonal(key)) throw new JsonFault('ROW_JSON_NAME', 'a key is an email or phone number')
      keys.add(key)
      if (this.#peek() !== ':') throw this.#unexpectedError()
      this.#at++
      this.#readValue(path === '' ? key : `${path}.${key}`, isRepeated, isIgnored || key === '__proto__')
      const next = this.#peek()
      if (next === '}') return this.#leave()
      if (next !== ',') throw this.#unexpectedError()
      this.#at++
    }
  }

  #readArray(path: string, isIgnored: boolean): void {
    this.#enter()
    if (this.#peek() === ']') return this.#leave()
    for (;;) {
      this.#readValue(path, true, isIgnored)
      const next = this.#peek()
      if (next === ']') return this.#leave()
      if (next !== ',') throw this.#unexpectedError()
      this.#at++
    }
  }

  #readValue(path: string, isRepeated: boolean, isIgnored: boolean): void {
    const first = this.#peek()
    if (first === '{') return this.#readObject(path, isRepeated, isIgnored)
    if (first === '[') return this.#readArray(path, isIgnored)
    const scalar = this.#readScalar(first)
    if (scalar === undefined || isIgnored) return
    if (path.length > maxNameLength) throw new JsonFault('ROW_COLUMNS', `a key with its path is longer than ${maxNameLength} characters`)
    // Eight times the limit: see `ReadLimits.columns`.
    const position = this.#columns.position(path, this.#limits.columns * 8)
    if (position < 0) throw new JsonFault('ROW_COLUMNS', 'the records name too many different keys')
    if (!isRepeated) {
      // `{"a": {"b": …}, "a.b": …}` has two values for the column `a.b`.
      if (this.cells[position] !== undefined) throw new JsonFault('ROW_JSON_KEYS', 'two keys of the record give the same column')
      this.cells[position] = scalar
      return
    }
    if (this.cells[position] === undefined) this.cells[position] = [scalar]
    else addText(this.cells, position, scalar)
  }

  #readScalar(first: string): string | undefined {
    if (first === '"') return this.#readString()
    for (const word of ['true', 'false', 'null'] as const) {
      if (first === word[0] && this.#text.startsWith(word, this.#at)) {
        this.#at += word.length
        return word === 'null' ? undefined : word
      }
    }
    numberPattern.lastIndex = this.#at
    const number = numberPattern.exec(this.#text)?.[0]
    if (number === undefined) throw this.#unexpectedError()
    this.#at += number.length
    return number
  }

  #readString(): string {
    plainStringPattern.lastIndex = this.#at
    const plain = plainStringPattern.exec(this.#text)
    if (plain !== null) {
      this.#at += plain[0].length
      return plain[1] ?? ''
    }
    escapedStringPattern.lastIndex = this.#at
    const escaped = escapedStringPattern.exec(this.#text)?.[0]
    if (escaped === undefined) throw this.#unexpectedError()
    this.#at += escaped.length
    // The pattern has checked the grammar, so JSON.parse only unescapes and returns a string.
    const value = JSON.parse(escaped) as string
    if (!value.isWellFormed()) throw new JsonFault('TEXT_BROKEN', 'a text contains half of a surrogate pair')
    return value
  }

  /** Returns the next character after JSON whitespace; empty at the end. */
  #peek(): string {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return this.#text.charAt(this.#at)
      this.#at++
    }
  }

  #enter(): void {
    this.#at++
    if (++this.#depth > this.#limits.jsonDepth)
      throw new JsonFault('ROW_JSON_DEPTH', `the record is nested deeper than ${this.#limits.jsonDepth} levels`)
  }

  #leave(): void {
    this.#at++
    this.#depth--
  }

  #unexpectedError(): JsonFault {
    return new JsonFault('ROW_JSON', `the record is not valid JSON at character ${this.#at + 1}`)
  }
}

/** Returns the text of a string or number; undefined for any other token. */
function scalarOf(token: string): string | undefined {
  const value = jsonOf(token)
  if (typeof value === 'number') return token
  return typeof value === 'string' && value.isWellFormed() ? value : undefined
}

/**
 * Scans a plain response for the proof that every sent user is confirmed. `confirmsEveryUser` defines plain. `parseAnswer` (json.ts) reads
 * all other responses. It takes more than twice as long for 2,500 results with an echo of the request.
 */
import { maxAnswerBytes } from './json.ts'

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const zero = 0x30
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

const maxDepth = 16
const maxKeys = 32
const ascii = (text: string): Uint8Array => Buffer.from(text, 'latin1')
const dataKey = ascii('data')
const errorKeys = [ascii('errors'), ascii('operation_errors')]
const countKeys = [ascii('{"success_count":'), ascii(',"total_count":')] as const
const literals = [ascii('true'), ascii('false'), ascii('null')]

/**
 * Returns true if `body` is plain and confirms all `users`. A plain body
 * - is one compact JSON object in printable ASCII
 * - has no escapes, repeated keys, `errors` or `operation_errors`
 * - has only whole numbers, of at most nine digits
 * - has at most `maxDepth` levels, and at most `maxKeys` keys per object
 *
 * Its `data` must be one result or a list of results. Each result must have exactly two counts, and they must be equal. The counts of all
 * results must add up to `users`. Other members of the body are ignored.
 */
export function confirmsEveryUser(body: Buffer, users: number): boolean {
  return body.length <= maxAnswerBytes && !body.includes('__proto__') && new ConfirmationScan(body).sumOfCounts() === users
}

class ConfirmationScan {
  readonly #bytes: Buffer
  #at = 0
  /** Positions of the keys of the open objects, as pairs of start and end. */
  readonly #keys: number[] = []

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Returns the number of confirmed users of all results; undefined if the response is not plain. */
  sumOfCounts(): number | undefined {
    let sum: number | undefined
    const isPlain = this.#object((start, end) => {
      if (errorKeys.some((key) => this.#isText(start, end, key))) return false
      if (!this.#isText(start, end, dataKey)) return this.#value(1)
      sum = this.#results()
      return sum !== undefined
    })
    return isPlain && this.#at === this.#bytes.length ? sum : undefined
  }

  /** Reads the value of `data`, and returns the number of confirmed users; undefined for another form. */
  #results(): number | undefined {
    if (!this.#take(openBracket)) return this.#result()
    let sum = 0
    do {
      const start = this.#at
      const count = this.#result()
      if (count === undefined) return undefined
      sum += count * (1 + this.#skipCopies(start))
    } while (this.#take(comma))
    return this.#take(closeBracket) ? sum : undefined
  }

  /** Reads `{"success_count":N,"total_count":N}` and returns N; undefined for another form, or if the counts differ. */
  #result(): number | undefined {
    if (!this.#takeText(countKeys[0])) return undefined
    const success = this.#count()
    if (success === undefined || !this.#takeText(countKeys[1])) return undefined
    return this.#count() === success && this.#take(closeBrace) ? success : undefined
  }

  /** Reads a whole number of at most nine digits, without leading zeros; undefined for another form. */
  #count(): number | undefined {
    const start = this.#at
    let count = 0
    for (let digit = this.#digit(); digit !== -1; digit = this.#digit()) {
      count = count * 10 + digit
      this.#at++
    }
    const digits = this.#at - start
    return digits === 0 || digits > 9 || (digits > 1 && this.#bytes[start] === zero) ? undefined : count
  }

  #digit(): number {
    const digit = (this.#bytes[this.#at] ?? 0) - zero
    return digit >= 0 && digit <= 9 ? digit : -1
  }

  /** Reads a plain value at most `maxDepth` levels deep; false for another form. */
  #value(depth: number): boolean {
    if (depth > maxDepth) return false
    switch (this.#bytes[this.#at]) {
      case openBrace:
        return this.#object(() => this.#value(depth + 1))
      case openBracket:
        return this.#array(depth)
      case quote:
        return this.#string()
      default:
        return this.#count() !== undefined || literals.some((literal) => this.#takeText(literal))
    }
  }

  #array(depth: number): boolean {
    this.#at++
    if (this.#take(closeBracket)) return true
    do {
      const start = this.#at
      if (!this.#value(depth + 1)) return false
      this.#skipCopies(start)
    } while (this.#take(comma))
    return this.#take(closeBracket)
  }

  /**
   * Skips the following elements that equal the element just read, and returns their number. `start`: start of the element just read.
   * Compares blocks that double in size, because most results of a response are equal.
   */
  #skipCopies(start: number): number {
    const bytes = this.#bytes
    const end = this.#at
    const period = end - start + 1
    if (bytes[end] !== comma || end + period > bytes.length || bytes.compare(bytes, start, end, end + 1, end + period) !== 0) return 0
    let copies = 1
    for (let block = 1; block >= 1;) {
      const from = end + copies * period
      const to = from + block * period
      if (to <= bytes.length && bytes.compare(bytes, end, end + block * period, from, to) === 0) {
        copies += block
        block = copies
      } else block = block >>> 1
    }
    this.#at = end + copies * period
    return copies
  }

  /** Reads an object without repeated keys; false for another form. `member` reads the value after each key; false ends the scan. */
  #object(member: (keyStart: number, keyEnd: number) => boolean): boolean {
    if (!this.#take(openBrace)) return false
    if (this.#take(closeBrace)) return true
    const keysStart = this.#keys.length
    do {
      const start = this.#at + 1
      if (!this.#string()) return false
      const end = this.#at - 1
      if (this.#isKnownKey(keysStart, start, end) || this.#keys.length - keysStart >= 2 * maxKeys) return false
      this.#keys.push(start, end)
      if (!this.#take(colon) || !member(start, end)) return false
    } while (this.#take(comma))
    this.#keys.length = keysStart
    return this.#take(closeBrace)
  }

  /** Returns true if the open object has this key already. `keysStart`: position of its first key in `#keys`. */
  #isKnownKey(keysStart: number, start: number, end: number): boolean {
    for (let at = keysStart; at < this.#keys.length; at += 2) {
      const known = this.#keys[at] ?? 0
      if ((this.#keys[at + 1] ?? 0) - known !== end - start) continue
      let equalBytes = 0
      while (equalBytes < end - start && this.#bytes[known + equalBytes] === this.#bytes[start + equalBytes]) equalBytes++
      if (equalBytes === end - start) return true
    }
    return false
  }

  /** Reads a string of printable ASCII without escapes; false for another form. */
  #string(): boolean {
    if (this.#bytes[this.#at] !== quote) return false
    const bytes = this.#bytes
    for (let at = this.#at + 1; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0
      if (byte === quote) {
        this.#at = at + 1
        return true
      }
      if (byte < 0x20 || byte > 0x7e || byte === 0x5c) return false
    }
    return false
  }

  /** Reads `byte`; false if the next byte is another one. */
  #take(byte: number): boolean {
    if (this.#bytes[this.#at] !== byte) return false
    this.#at++
    return true
  }

  /** Reads `text`; false if the next bytes are others. */
  #takeText(text: Uint8Array): boolean {
    for (let i = 0; i < text.length; i++) if (this.#bytes[this.#at + i] !== text[i]) return false
    this.#at += text.length
    return true
  }

  #isText(start: number, end: number, text: Uint8Array): boolean {
    if (end - start !== text.length) return false
    for (let i = 0; i < text.length; i++) if (this.#bytes[start + i] !== text[i]) return false
    return true
  }
}

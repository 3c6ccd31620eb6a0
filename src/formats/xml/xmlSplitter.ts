import { StringDecoder } from 'node:string_decoder'
import { CarryBuffer } from '../carryBuffer.ts'
import { fileError, recordTooLargeError } from '../fileError.ts'
import type { ErrorCode } from '../../model/errorCodes.ts'
import type { ReadLimits } from '../limits.ts'
import { RecordBatch, type RecordSplitter } from '../recordBatch.ts'
import { findXmlFault, linesIn } from './xmlFault.ts'

export interface XmlSplitterOptions {
  /** Name of the source in messages. */
  readonly name: string
  readonly limits: Pick<ReadLimits, 'recordBytes' | 'fieldBytes' | 'xmlDepth'>
  /** Local name of the record elements, at any depth and under any root. */
  readonly item?: string
  /** Proposal for `item`, for the hint if the root is unknown. */
  readonly likelyItem?: string
  /** Receives all text outside the items (prolog, root, channel) in pieces, in order. `line`: line of the first character of the piece. */
  readonly onSkeletonText: (text: string, line: number) => void
  /** Called at the start of an item, after `onSkeletonText` has received all text before the item. */
  readonly onItemStart: () => void
}

/** States of the scan. */
const inText = 0
const afterLt = 1
const startTag = 2
const attribute = 3
const endTag = 4
const bang = 5
const comment = 6
const cdata = 7
const instruction = 8

/** Table by byte: 1 for every byte except LF, CR, ", ', < and >. */
const ordinary = new Uint8Array(256).fill(1)
for (const byte of [0x0a, 0x0d, 0x22, 0x27, 0x3c, 0x3e]) ordinary[byte] = 0

/**
 * Splits a feed into its items by tokens. An `</item>` inside CDATA, a comment or an attribute does not end an item. Items are `item` below
 * `rss` and `channel`, `entry` below `feed`, or the configured element, with any prefix. A record is the text from `<item` to the end of
 * `</item>`. Keeps one chunk and one item in memory. docs/benchmarks.md#feeds-xml has the times of whole feeds.
 *
 * Checks depth and sizes, and rejects document types and processing instructions. The item parser checks whether an item is well-formed.
 * Passes all text outside the items to `onSkeletonText`.
 *
 * @throws RunError FILE_DOCTYPE, FILE_TOO_DEEP, FILE_RECORD_TOO_LARGE, FILE_FIELD_TOO_LARGE, FILE_MALFORMED, WRONG_FORMAT,
 * UNEXPECTED_CONTENT
 *
 * @throws RunError FILE_TRUNCATED from `end` if an element or token is open, or if there is no element
 */
export class XmlSplitter implements RecordSplitter {
  readonly #options: XmlSplitterOptions
  readonly #decoder = new StringDecoder('utf8')
  readonly #carry = new CarryBuffer()
  readonly #batch = new RecordBatch()
  #state = inText
  #tokenStart = 0
  #quote = 0
  #depth = 0
  /** Depth at which the layout has its items; -1 if the item is configured, because it may be at any depth. */
  #itemDepth = -1
  #itemName = ''
  /** Name of the open item with its prefix. */
  #itemTag: Buffer = Buffer.alloc(0)
  /** Depth of the start tag of the open item; -1 outside of items. */
  #openItemDepth = -1
  #itemLine = 1
  /** Line of the first character of the next piece for `onSkeletonText`. */
  #skeletonLine = 1
  #line = 1
  #lastByte = 0
  /** Number of characters in the pieces for `onSkeletonText` since the last piece with a `>`. */
  #textLength = 0
  #sawRoot = false
  /** Layout of the feed; undefined before its first tag, and for other XML. */
  root: 'google-rss' | 'google-atom' | undefined

  constructor(options: XmlSplitterOptions) {
    this.#options = options
  }

  push(chunk: Buffer): RecordBatch {
    const { carried } = this.#carry
    const bytes = this.#carry.append(chunk)
    const { length } = this.#carry
    const batch = this.#batch
    batch.begin(bytes)
    // Start of the open item, or of the text that the skeleton has not received yet.
    let from = 0
    let state = this.#state
    let token = this.#tokenStart
    let line = this.#line
    for (let i = carried; i < length; i++) {
      // Most bytes matter only right after < and <!, so they are skipped here. The index is below the length, and the table has 256
      // entries.
      if (state !== afterLt && state !== bang) while (ordinary[bytes[i] as number] === 1 && ++i < length);
      if (i === length) break
      const byte = bytes[i] as number // below the length
      if (byte === 0x0a) {
        if ((i > 0 ? bytes[i - 1] : this.#lastByte) !== 0x0d) line++
      } else if (byte === 0x0d) line++
      if (state === inText) {
        if (byte === 0x3c) {
          state = afterLt
          token = i
        }
      } else if (state === startTag) {
        if (byte === 0x22 || byte === 0x27) {
          this.#quote = byte
          state = attribute
        } else if (byte === 0x3e) {
          state = inText
          this.#line = line
          const selfClosed = bytes[i - 1] === 0x2f
          if (this.#open(bytes, { from, token, end: i, selfClosed })) {
            // The text before this item is outside the items.
            this.#passSkeleton(bytes, from, token)
            this.#options.onItemStart()
            from = token
            this.#itemLine = line - countLines(bytes, token, i)
            if (selfClosed) {
              batch.add(from, i + 1, this.#itemLine, 0)
              from = i + 1
              this.#skeletonLine = line
            }
          }
        }
      } else if (state === attribute) {
        if (byte === this.#quote) state = startTag
      } else if (state === endTag) {
        if (byte === 0x3e) {
          state = inText
          this.#line = line
          if (this.#close(bytes, { from, token, end: i })) {
            batch.add(from, i + 1, this.#itemLine, 0)
            from = i + 1
            this.#skeletonLine = line
          }
        }
      } else if (state === afterLt) {
        if (byte === 0x2f) state = endTag
        else if (byte === 0x21) state = bang
        else if (byte === 0x3f) state = instruction
        else state = startTag
      } else if (state === bang) {
        if (byte === 0x2d) state = comment
        else if (byte === 0x5b && this.#depth > 0) state = cdata
        else {
          this.#line = line
          throw this.#error(
            'FILE_DOCTYPE',
            'the file has a document type declaration',
            'Remove the <!DOCTYPE …>: entities and external files are never read.',
          )
        }
      } else if (state === comment) {
        if (byte === 0x3e && bytes[i - 1] === 0x2d && bytes[i - 2] === 0x2d && i - token >= 6) state = inText // at least `<!---->`
      } else if (state === cdata) {
        if (byte === 0x3e && bytes[i - 1] === 0x5d && bytes[i - 2] === 0x5d && i - token >= 11) state = inText // at least `<![CDATA[]]>`
      } else if (byte === 0x3e && bytes[i - 1] === 0x3f) {
        state = inText
        this.#line = line
        this.#checkInstruction(bytes, token, i)
      }
    }
    this.#line = line
    this.#lastByte = bytes[length - 1] ?? 0
    this.#state = state
    this.#keep(bytes, length, from, token, state)
    return batch
  }

  end(): RecordBatch {
    if (this.#state !== inText || this.#depth > 0 || !this.#sawRoot) throw this.#truncatedError()
    const rest = this.#carry.takeRest()
    this.#passSkeletonText(rest.toString('utf8'))
    this.#batch.begin(rest)
    return this.#batch
  }

  /** Counts a start tag, and checks its size and depth. Returns true if the tag starts an item. `from`: start of the open item. */
  #open(
    bytes: Buffer,
    tag: { readonly from: number; readonly token: number; readonly end: number; readonly selfClosed: boolean },
  ): boolean {
    const { from, token, end, selfClosed } = tag
    const depth = this.#depth
    if (end - token > this.#options.limits.fieldBytes)
      throw this.#error('FILE_FIELD_TOO_LARGE', 'a tag with its attributes is too large', 'Shorten the attributes.')
    if (!selfClosed && ++this.#depth > this.#options.limits.xmlDepth) {
      throw this.#error(
        'FILE_TOO_DEEP',
        `elements are nested deeper than ${this.#options.limits.xmlDepth} levels`,
        'Export the feed in the usual RSS or Atom layout.',
      )
    }
    if (this.#openItemDepth !== -1 && this.#options.item === undefined && this.#startsAgain(bytes, token + 1))
      throw this.#unclosedItemError(bytes.toString('utf8', from, end + 1), 'contains the start of another one')
    if (this.#openItemDepth !== -1 || (depth !== 0 && depth !== this.#itemDepth && this.#options.item === undefined)) return false
    const qualified = tagName(bytes, token + 1, end)
    const name = qualified.slice(qualified.indexOf(':') + 1)
    if (depth === 0) {
      if (!this.#sawRoot) this.#setRoot(name)
      return false
    }
    if (name !== this.#itemName) return false
    if (!selfClosed) {
      this.#openItemDepth = depth
      this.#itemTag = Buffer.from(qualified)
    }
    return true
  }

  /** Counts an end tag. Returns true if the tag ends an item. */
  #close(bytes: Buffer, { from, token, end }: { readonly from: number; readonly token: number; readonly end: number }): boolean {
    this.#depth--
    if (this.#depth < 0) throw this.#error('FILE_MALFORMED', 'an element is closed that was never opened', 'Export the feed again.')
    if (this.#openItemDepth === -1 || this.#depth !== this.#openItemDepth) return false
    if (tagName(bytes, token + 2, end) !== this.#itemTag.toString())
      throw this.#unclosedItemError(bytes.toString('utf8', from, end + 1), 'is closed by another tag')
    this.#openItemDepth = -1
    return true
  }

  /** Returns true if the tag name at `start` is that of the open item. */
  #startsAgain(bytes: Buffer, start: number): boolean {
    const name = this.#itemTag
    if (bytes[start] !== name[0] || bytes.compare(name, 0, name.length, start, start + name.length) !== 0) return false
    const next = bytes[start + name.length] ?? 0
    return next === 0x3e || next === 0x2f || next <= 0x20
  }

  #unclosedItemError(item: string, problem: string) {
    const fault = findXmlFault(item)
    return fileError('FILE_MALFORMED', fault?.message ?? `the item that starts on line ${this.#itemLine} ${problem}`, {
      name: this.#options.name,
      at: `line ${this.#itemLine + (fault?.line ?? 0)}`,
      hint: 'Close every element in the order in which they were opened.',
    })
  }

  /**
   * Returns the error for a file that ends inside an element or token, or has no element. Outside of items, its line is the last line.
   * Inside an item, it is the line of a fault, an open comment or CDATA section, else of the item.
   */
  #truncatedError() {
    const { name } = this.#options
    const hint = 'Export or fetch the file again.'
    if (!this.#sawRoot) return fileError('FILE_TRUNCATED', 'the file contains no element', { name, at: `line ${this.#line}`, hint })
    const openText = this.#carry.takeRest().toString('utf8')
    const fault = this.#openItemDepth === -1 ? undefined : findXmlFault(openText)
    if (fault !== undefined)
      return fileError('FILE_TRUNCATED', `the file ends inside an item: ${fault.message}`, {
        name,
        at: `line ${this.#itemLine + fault.line}`,
        hint,
      })
    const openPart =
      this.#state === cdata
        ? 'a CDATA section'
        : this.#state === comment
          ? 'a comment'
          : this.#openItemDepth === -1
            ? 'the root element'
            : 'an item'
    const isInSection = this.#state === cdata || this.#state === comment
    const line = this.#openItemDepth === -1 ? this.#line : this.#itemLine + (isInSection ? linesIn(openText.slice(0, this.#tokenStart)) : 0)
    return fileError('FILE_TRUNCATED', `${openPart} is not closed`, { name, at: `line ${line}`, hint })
  }

  /** Chooses the layout by the root element. @throws RunError UNEXPECTED_CONTENT, WRONG_FORMAT */
  #setRoot(name: string): void {
    this.#sawRoot = true
    const { item } = this.#options
    if (item !== undefined && !/^html$/i.test(name)) this.#itemName = item
    else if (name === 'rss') [this.#itemDepth, this.#itemName, this.root] = [2, 'item', 'google-rss']
    else if (name === 'channel') [this.#itemDepth, this.#itemName, this.root] = [1, 'item', 'google-rss']
    else if (name === 'feed') [this.#itemDepth, this.#itemName, this.root] = [1, 'entry', 'google-atom']
    else if (/^html$/i.test(name))
      throw this.#error(
        'UNEXPECTED_CONTENT',
        'the source is a web page, not a feed',
        'Check the address and the credentials: a login page looks like this.',
      )
    else
      throw fileError('WRONG_FORMAT', 'the root element is neither <rss> nor <feed>', {
        name: this.#options.name,
        at: `line ${this.#line}`,
        hint: `Export the feed as Google Shopping RSS 2.0 or Atom, or as CSV; or name the element that contains a product, \`xml: { item: ${this.#options.likelyItem ?? 'product'} }\`, and map its columns.`,
        ...(this.#options.likelyItem === undefined ? {} : { remedy: { xml: { item: this.#options.likelyItem } } }),
      })
  }

  /** Rejects a processing instruction, except the XML declaration. @throws RunError FILE_DOCTYPE */
  #checkInstruction(bytes: Buffer, token: number, end: number): void {
    if (/^<\?xml[\s?]/.test(bytes.toString('latin1', token, Math.min(end + 1, token + 16)))) return
    throw this.#error(
      'FILE_DOCTYPE',
      'the file has a processing instruction',
      'Remove the <?…?> instruction: style sheets and other files are never read.',
    )
  }

  /** Passes complete text to the skeleton, and keeps the open item or token for the next bytes. */
  #keep(bytes: Buffer, length: number, from: number, token: number, state: number): void {
    let start = from
    if (this.#openItemDepth === -1) {
      start = state === inText ? length : Math.max(from, token)
      this.#passSkeleton(bytes, from, start)
    }
    this.#carry.release(start)
    this.#tokenStart = token - start
    if (this.#carry.carried > this.#options.limits.recordBytes) {
      throw this.#tooLargeError(
        'an item, comment or tag',
        'Check that every item, comment and CDATA section is closed.',
        this.#openItemDepth === -1 ? this.#line : this.#itemLine,
      )
    }
  }

  #passSkeleton(bytes: Buffer, from: number, to: number): void {
    if (to > from) this.#passSkeletonText(this.#decoder.write(bytes.subarray(from, to)))
  }

  #passSkeletonText(text: string): void {
    this.#textLength = text.includes('>') ? 0 : this.#textLength + text.length
    if (this.#textLength > this.#options.limits.recordBytes)
      throw this.#tooLargeError('the text between two elements', 'Check the head of the feed.', this.#line)
    this.#options.onSkeletonText(text, this.#skeletonLine)
    this.#skeletonLine += linesIn(text)
  }

  #tooLargeError(part: string, hint: string, line: number) {
    return recordTooLargeError({ name: this.#options.name, part, limitBytes: this.#options.limits.recordBytes, line, hint })
  }

  #error(code: ErrorCode, message: string, hint: string) {
    return fileError(code, message, { name: this.#options.name, at: `line ${this.#line}`, hint })
  }
}

/** Returns the name at `start` of a tag that ends before `end`, with its prefix. */
function tagName(bytes: Buffer, start: number, end: number): string {
  let to = start
  while (to < end) {
    const byte = bytes[to]
    if (byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d || byte === 0x2f) break
    to++
  }
  return bytes.toString('utf8', start, to)
}

/** Counts the line ends in `bytes[from, to)`: LF, CRLF, CR. */
function countLines(bytes: Buffer, from: number, to: number): number {
  let lines = 0
  for (let i = from; i < to; i++) if (bytes[i] === 0x0a || (bytes[i] === 0x0d && bytes[i + 1] !== 0x0a)) lines++
  return lines
}

import type { ColumnRegistry } from '../columnRegistry.ts'
import type { ItemCells } from './itemCells.ts'
import { atomNamespace, productNamespace, productNamespaceStart, xincludeNamespace } from './namespaces.ts'

/** Start tag of an element, to be looked up by the text between `<` and `>`. */
interface PlainElement {
  readonly start: string
  /** End tag; empty for a tag such as `<g:brand/>`. */
  readonly end: string
  readonly column: string
  readonly fromProduct: boolean
  readonly hasPrefixG: boolean
  /** Position of the column; -1 before the first use. */
  position: number
  /** Tag that followed this one in the last item. Items mostly have the same elements in the same order. */
  next: PlainElement | undefined
}

/** Matches the text of a start tag without attributes: a name in ASCII. A prefix and a slash at the end are optional. */
const plainTag = /^(?:([A-Za-z_][\w.-]*):)?([A-Za-z_][\w.-]*)(\/?)$/
/** Matches a character that XML does not allow. */
const notAllowed = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/
const decimalReference = /^#\d{1,7}$/
const references: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
])
/** Maximum number of known tags. Items with further tags are left to the strict parser. */
const maxTags = 1_000
const slash = 0x2f
const bang = 0x21
const cdataStart = '<![CDATA['

/**
 * Reads items of plain XML into cells. Plain XML has only elements, texts, CDATA, and references by decimal number or by the names of XML.
 * The elements have no attributes and names in ASCII. Their prefixes are bound around the items, or `g`.
 *
 * Checks everything that can be wrong in such an item. `FeedItemReader` reads any other item with the strict parser. A property test
 * compares the results of both parsers.
 *
 * An item of 10 fields and 1.3 kB takes 5 µs, and 20 µs with saxes (docs/decisions/parsers.md).
 */
export class PlainItemReader {
  readonly #columns: ColumnRegistry
  readonly #namespaces: Readonly<Record<string, string>>
  readonly #cells: ItemCells
  /** Tags by the text between `<` and `>`. */
  readonly #elements = new Map<string, PlainElement>()
  /** Elements that are open, outermost first. */
  readonly #open: PlainElement[] = []
  /** Element that the next item probably starts with. */
  #first: PlainElement | undefined
  /** True if the prefix `g` is bound around the items. */
  readonly #scopeBindsG: boolean
  /** True if an element of any item used `g:` without a declaration. */
  prefixAssumed = false

  constructor(columns: ColumnRegistry, namespaces: Readonly<Record<string, string>>, cells: ItemCells) {
    this.#columns = columns
    this.#namespaces = namespaces
    this.#cells = cells
    this.#scopeBindsG = namespaces['g'] !== undefined
  }

  /** Adds the cells of one item. Returns false if the item is not plain; the cells are then incomplete. */
  read(item: string): boolean {
    if (notAllowed.test(item)) return false
    const hasReturns = item.includes('\r')
    const open = this.#open
    let depth = 0
    let at = 0
    let expected = this.#first
    let last: PlainElement | undefined
    /** Text of the open child of the item. */
    let text = ''
    /** True if that child has child elements. */
    let hasChildren = false
    for (;;) {
      // `at` is at a `<`.
      const code = item.charCodeAt(at + 1)
      if (code === slash) {
        // An element is open, or the loop would have ended.
        const { end, position, fromProduct } = open[--depth] as PlainElement
        if (!item.startsWith(end, at)) return false
        at += end.length
        if (depth === 1 && !hasChildren) this.#cells.add(position, fromProduct, text.trim())
      } else if (code === bang) {
        if (depth === 0 || !item.startsWith(cdataStart, at)) return false
        const from = at + cdataStart.length
        const to = item.indexOf(']]>', from)
        if (to < 0) return false
        if (depth === 2) text += withoutReturns(item.slice(from, to), hasReturns)
        at = to + 3
      } else {
        const element: PlainElement | undefined =
          expected !== undefined && item.startsWith(expected.start, at) ? expected : this.#elementAt(item, at)
        if (element === undefined) return false
        if (last === undefined) this.#first = element
        else last.next = element
        last = element
        expected = element.next
        at += element.start.length
        if (depth === 1) {
          if (element.position < 0) element.position = this.#columns.position(element.column)
          if (element.hasPrefixG && !this.#scopeBindsG) this.prefixAssumed = true
          text = ''
          hasChildren = false
        } else if (depth > 1) hasChildren = true
        if (element.end !== '') open[depth++] = element
        else if (depth === 1) this.#cells.add(element.position, element.fromProduct, '')
      }
      if (depth === 0) return at === item.length
      const next = item.indexOf('<', at)
      if (next < 0) return false
      if (next > at) {
        const piece = plainText(withoutReturns(item.slice(at, next), hasReturns))
        if (piece === undefined) return false
        if (depth === 2) text += piece
        at = next
      }
    }
  }

  /** Returns the element of the start tag at `at`. Undefined if the tag is not plain, or new while `maxTags` are known. */
  #elementAt(item: string, at: number): PlainElement | undefined {
    const end = item.indexOf('>', at)
    if (end < 0) return undefined
    const tag = item.slice(at + 1, end)
    return this.#elements.get(tag) ?? this.#addTag(tag)
  }

  #addTag(tag: string): PlainElement | undefined {
    if (this.#elements.size >= maxTags) return undefined
    const [, prefix = '', local = '', empty = ''] = plainTag.exec(tag) ?? []
    const uri = local === '' ? undefined : this.#uriOf(prefix)
    if (uri === undefined || uri === xincludeNamespace) return undefined
    const fromProduct = uri.startsWith(productNamespaceStart)
    // Copied, because a part of a string keeps the whole item in memory.
    const [own, column] = [copyOf(tag), copyOf(local)]
    const omitsPrefix = fromProduct || prefix === '' || uri === atomNamespace
    const element: PlainElement = {
      start: `<${own}>`,
      end: empty === '' ? `</${own}>` : '',
      column: omitsPrefix ? column : `${copyOf(prefix)}:${column}`,
      fromProduct,
      hasPrefixG: prefix === 'g',
      position: -1,
      next: undefined,
    }
    this.#elements.set(own, element)
    return element
  }

  /**
   * Returns the namespace of a prefix. If `g` is not bound, returns the product namespace; for an empty prefix, the empty text. Returns
   * undefined for other unbound prefixes, `xml` and `xmlns`.
   */
  #uriOf(prefix: string): string | undefined {
    const bound = Object.hasOwn(this.#namespaces, prefix) ? this.#namespaces[prefix] : undefined
    if (prefix === '') return bound ?? ''
    if (prefix === 'xml' || prefix === 'xmlns' || bound === '') return undefined
    return bound ?? (prefix === 'g' ? productNamespace : undefined)
  }
}

/**
 * Returns a text with its references resolved. Returns undefined if a reference is not plain. Also returns undefined if the text has both
 * `]` and `>`, because they may be the forbidden `]]>`.
 */
function plainText(text: string): string | undefined {
  if (text.includes('>') && text.includes(']')) return undefined
  let at = text.indexOf('&')
  if (at < 0) return text
  let plain = ''
  let from = 0
  for (; at >= 0; at = text.indexOf('&', from)) {
    const end = text.indexOf(';', at)
    if (end < 0) return undefined
    const character = characterOf(text.slice(at + 1, end))
    if (character === undefined) return undefined
    plain += text.slice(from, at) + character
    from = end + 1
  }
  return plain + text.slice(from)
}

/** Returns the character of a reference without `&` and `;`; undefined for a reference that is not plain. */
function characterOf(reference: string): string | undefined {
  const named = references.get(reference)
  if (named !== undefined || !decimalReference.test(reference)) return named
  const code = Number(reference.slice(1))
  const isCharacter = (code >= 0x20 && code < 0xd800) || (code >= 0xe000 && code < 0xfffe) || (code >= 0x10000 && code <= 0x10ffff)
  return isCharacter ? String.fromCodePoint(code) : undefined
}

/** Replaces CRLF and CR by LF, as XML requires before parsing. */
function withoutReturns(text: string, hasReturns: boolean): string {
  return hasReturns ? text.replace(/\r\n?/g, '\n') : text
}

function copyOf(ascii: string): string {
  return Buffer.from(ascii, 'latin1').latin1Slice(0, ascii.length)
}

import { SaxesParser, type SaxesTagNS } from 'saxes'
import type { SourceDefinition } from '../../model/pipeline.ts'
import type { SourceRow, RowWarning } from '../../model/record.ts'
import { ColumnRegistry, unnamed, type ParsedRow } from '../columnRegistry.ts'
import { fileError, type SourceSettings } from '../fileError.ts'
import type { FormatContext, FormatEnd, FormatReader } from '../formatReader.ts'
import { rowsPerBatch } from '../limits.ts'
import { recordText, splitRecords, type RecordBatch } from '../recordBatch.ts'
import { AmpersandEscaper, escapeAmpersands } from './ampersands.ts'
import { entityTable, namesHtmlEntity } from './htmlEntities.ts'
import { XmlSplitter } from './xmlSplitter.ts'
import { XmlRecordReader } from './xmlRecord.ts'
import { excerptAt, findRawAmpersand, findXmlFault, linesIn, swallowedItemFinder, type XmlFault } from './xmlFault.ts'
import { productNamespace, productNamespaceStart, xincludeNamespace } from './namespaces.ts'
import { XmlItemError } from './fragmentParser.ts'
import { FeedItemReader, type ItemFindings } from './feedItem.ts'
import { withoutUndefined } from '../../withoutUndefined.ts'

type XmlSettings = NonNullable<SourceDefinition['xml']> &
  Pick<SourceDefinition, 'mapped'> & {
    /** True if errors may quote the text around a fault, because the file has products and not people. */
    readonly mayQuote?: boolean
    /** Element that looks like a record, for the hint if the root is not that of a feed. */
    readonly likelyItem?: string
  }

/**
 * Reads a Google Shopping feed, RSS 2.0 or Atom, in UTF-8. With `settings.item`, reads any XML; the elements of that name are the records.
 * Makes the repairs that `settings` allow, with warnings.
 *
 * Any error of well-formedness rejects the file. Unlike a CSV row, an invalid XML item has no certain end.
 *
 * @throws RunError FILE_MALFORMED, FILE_DOCTYPE, FILE_TOO_MANY_COLUMNS, WRONG_FORMAT and the errors of `XmlSplitter`
 */
export function readXml(chunks: AsyncIterable<Buffer>, context: FormatContext, settings: XmlSettings = {}): FormatReader {
  const reader = new XmlReader(context, settings)
  return { rows: reader.read(chunks), end: () => reader.end() }
}

class XmlReader {
  readonly #context: FormatContext
  readonly #settings: XmlSettings
  readonly #columns = new ColumnRegistry()
  readonly #skeleton: Skeleton
  readonly #splitter: XmlSplitter
  /** Scopes of the items that have started and were not read yet, in order. */
  readonly #scopes: Scope[] = []
  /** Reader of the items in `#scope`. `#shape`: the scope and the allowed repairs as a text (`RecordGate.beginShape`). */
  #items: FeedItemReader | XmlRecordReader | undefined
  #scope: Scope | undefined
  #shape: string | undefined
  #findSwallowed: ((item: string) => XmlFault | undefined) | undefined
  #rowCount = 0
  readonly #findings: ItemFindings = { overriddenCount: 0, prefixAssumed: false }

  constructor(context: FormatContext, settings: XmlSettings) {
    const { name, limits } = context
    const { item, likelyItem } = settings
    this.#context = context
    this.#settings = settings
    this.#skeleton = new Skeleton(name, settings)
    this.#splitter = new XmlSplitter({
      name,
      limits,
      onSkeletonText: (text, line) => this.#skeleton.write(text, line),
      onItemStart: () => this.#scopes.push(this.#skeleton.beginItem()),
      ...withoutUndefined({ item, likelyItem }),
    })
  }

  async *read(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly SourceRow[]> {
    this.#columns.add(this.#context.gate?.columns ?? [])
    for await (const batch of splitRecords(chunks, this.#splitter)) {
      for (let from = 0, to = 0; from < batch.count; from = to) {
        // There is one scope for each item that has begun.
        const scope = this.#scopes[from] as Scope
        // Rows that are yielded together have the same scope. A change of the shape drops the digests of rows that were not yielded yet.
        for (to = from; to < batch.count && to < from + rowsPerBatch && this.#scopes[to] === scope; to++);
        const rows = this.#rows(batch, from, to, this.#itemsIn(scope))
        if (rows.length > 0) yield rows
      }
      this.#scopes.splice(0, batch.count)
    }
    this.#skeleton.close()
  }

  end(): FormatEnd {
    const { overriddenCount, prefixAssumed } = this.#findings
    const { item } = this.#settings
    return {
      columns: this.#columns.names(),
      rowCount: this.#rowCount,
      finalNewline: null,
      proof: 'root element closed',
      notes: [
        ...(overriddenCount === 0
          ? []
          : [`a plain element differs from the product element of the same name ${overriddenCount} times; the product element counts`]),
        ...(item !== undefined && this.#rowCount === 0 ? [`the file has no element <${item}>`] : []),
        ...(prefixAssumed ? ['the prefix g is not declared; read as the product namespace'] : []),
        ...this.#skeleton.repaired.map((element) => `a raw & in the address of <${element}> outside the items was read as &amp;`),
      ],
    }
  }

  /** Returns the reader of items in a scope. Reports the shape to the gate if it changes. */
  #itemsIn(scope: Scope): FeedItemReader | XmlRecordReader {
    if (this.#items !== undefined && scope === this.#scope) return this.#items
    const { htmlEntities = false, escapeAmpersands: escapes = false, item } = this.#settings
    const shape = JSON.stringify(htmlEntities || escapes ? [scope, htmlEntities, escapes] : scope)
    this.#scope = scope
    if (this.#items !== undefined && shape === this.#shape) return this.#items
    this.#shape = shape
    this.#context.gate?.beginShape(shape)
    this.#items =
      item === undefined
        ? new FeedItemReader(this.#columns, scope, htmlEntities, this.#findings)
        : new XmlRecordReader(this.#columns, scope, htmlEntities)
    return this.#items
  }

  /** Returns the rows of the items from index `from` to below `to`, without those that the gate knows. */
  #rows(batch: RecordBatch, from: number, to: number, items: FeedItemReader | XmlRecordReader): readonly SourceRow[] {
    const rows: ParsedRow[] = []
    for (let i = from; i < to; i++) {
      const line = batch.lineOf(i)
      if (this.#context.gate?.skips(batch.bytes, batch.startOf(i), batch.endOf(i), line) !== true)
        rows.push(this.#row(recordText(batch, i), line, items))
    }
    this.#rowCount += to - from
    return this.#columns.nameColumns(rows)
  }

  /** Returns the row of an item. @throws RunError FILE_MALFORMED, FILE_TOO_MANY_COLUMNS */
  #row(raw: string, line: number, items: FeedItemReader | XmlRecordReader): ParsedRow {
    const { name, limits } = this.#context
    const { htmlEntities = false, escapeAmpersands: escapes = false, item } = this.#settings
    this.#findSwallowed ??= swallowedItemFinder(item ?? (this.#splitter.root === 'google-atom' ? 'entry' : 'item'), item !== undefined)
    const swallowed = this.#findSwallowed(raw)
    if (swallowed !== undefined) throw faultError(name, raw, swallowed, line, this.#settings)
    const repaired = escapes ? escapeAmpersands(raw) : undefined
    const text = repaired?.text ?? raw
    const cells = this.#cells(text, line, items)
    if (cells.length > limits.columns) {
      throw fileError('FILE_TOO_MANY_COLUMNS', `the items name more than ${limits.columns} different elements`, {
        name,
        at: `line ${line}`,
        hint: 'Check the feed: an element name should not change from item to item.',
      })
    }
    const warnings = repaired === undefined && !htmlEntities ? [] : repairWarnings(repaired?.elements ?? [], items.htmlColumns)
    return warnings.length === 0 ? { line, columns: unnamed, cells } : { line, columns: unnamed, cells, warnings }
  }

  /** Returns the cells of an item. @throws RunError FILE_MALFORMED, with the place of the fault if it is found */
  #cells(text: string, line: number, items: FeedItemReader | XmlRecordReader): SourceRow['cells'] {
    try {
      return items.read(text)
    } catch (error) {
      if (!(error instanceof XmlItemError)) throw error
      const { name } = this.#context
      const fault = findXmlFault(text)
      throw fault === undefined
        ? malformedError(name, withoutValues(error.message), line + error.line, remedyFor(text, this.#settings))
        : faultError(name, text, fault, line, this.#settings)
    }
  }
}

/** Bindings of prefixes to namespaces around an item; the default namespace has the empty prefix. Items in one element share one object. */
type Scope = Readonly<Record<string, string>>

/** Strict parser of the part of a feed outside its items. Provides the prefixes that are bound at the items. */
class Skeleton {
  readonly #parser: SaxesParser<{ xmlns: true; additionalNamespaces: Record<string, string> }>
  readonly #scopes: Scope[] = []
  readonly #name: string
  readonly #escaper: AmpersandEscaper | undefined
  /** Line of the current piece in the file. `#parserLine`: line of the parser at the start of this piece. */
  #line = 1
  #parserLine = 1
  /** True if the next piece must set `#line`: at the start of the file, and after each item. */
  #mustSetLine = true
  /** True if the parser is between two tags inside of an element, where it ignores spaces. */
  #isBetweenTags = false
  /** First raw `&`, for the error message, because the parser fails at a later place. */
  #rawAmpersand: { readonly text: string; readonly fault: XmlFault; readonly line: number } | undefined

  constructor(name: string, settings: XmlSettings) {
    const { htmlEntities = false, escapeAmpersands = false, mapped = false, item } = settings
    this.#name = name
    this.#escaper = escapeAmpersands ? new AmpersandEscaper() : undefined
    const parser = new SaxesParser({ xmlns: true, additionalNamespaces: { g: productNamespace } })
    this.#parser = parser
    parser.ENTITIES = entityTable(htmlEntities, () => {})
    parser.on('error', (error) => {
      if (this.#rawAmpersand !== undefined)
        throw faultError(name, this.#rawAmpersand.text, this.#rawAmpersand.fault, this.#rawAmpersand.line, settings)
      const remedy = !htmlEntities && error.message.includes('undefined entity') ? htmlEntitiesRemedy : noRemedy
      throw malformedError(
        name,
        withoutValues(error.message.replace(/^\d+:\d+: /, '')),
        this.#line + parser.line - this.#parserLine,
        remedy,
      )
    })
    parser.on('doctype', () => {
      throw fileError('FILE_DOCTYPE', 'the file has a document type declaration', { name, hint: 'Remove the <!DOCTYPE …>.' })
    })
    parser.on('opentag', (tag) => {
      if (this.#scopes.length === 0 && tag.local === 'channel' && !mapped && item === undefined && !namesProducts(tag))
        throw bareChannelError(name)
      // Often it includes further items. Without them the read would be incomplete.
      if (tag.uri === xincludeNamespace)
        throw fileError('FILE_MALFORMED', 'the file includes another one by XInclude, which is not supported', {
          name,
          at: `line ${this.#line + parser.line - this.#parserLine}`,
          hint: 'Export all items into one file.',
        })
      if (!tag.isSelfClosing) this.#scopes.push({ ...this.#scopes.at(-1), ...tag.ns })
    })
    parser.on('closetag', (tag) => {
      if (!tag.isSelfClosing) this.#scopes.pop()
    })
  }

  /** Returns the scope of an item. Must be called at the start of the item: later, the elements around it may be closed. */
  beginItem(): Scope {
    if (this.#escaper !== undefined) this.#read(this.#escaper.end())
    this.#mustSetLine = true
    return this.#scopes.at(-1) ?? noScope
  }

  /** Local names of the elements outside the items with a repaired address. */
  get repaired(): readonly string[] {
    return [...(this.#escaper?.elements ?? [])]
  }

  /** Parses a piece. `line`: line of its first character in the file. @throws RunError FILE_MALFORMED, FILE_DOCTYPE, WRONG_FORMAT */
  write(text: string, line: number): void {
    if (this.#mustSetLine) this.#line = line
    this.#mustSetLine = false
    this.#read(this.#escaper === undefined ? text : this.#escaper.write(text))
  }

  /** Parses the rest. @throws RunError FILE_MALFORMED, also if the root element is not closed */
  close(): void {
    if (this.#escaper !== undefined) this.#read(this.#escaper.end())
    this.#parser.close()
    if (this.#scopes.length > 0) throw malformedError(this.#name, 'the root element is not closed', undefined)
  }

  #read(text: string): void {
    // Nearly every item has only a line end before it.
    if (this.#isBetweenTags && !/[^ \t\r\n]/.test(text)) {
      this.#line += linesIn(text)
      return
    }
    const fault = this.#rawAmpersand === undefined ? findRawAmpersand(text) : undefined
    if (fault !== undefined) this.#rawAmpersand = { text, fault, line: this.#line }
    this.#parserLine = this.#parser.line
    this.#parser.write(text)
    this.#isBetweenTags = this.#scopes.length > 0 && />[ \t\n]*$/.test(text)
    this.#line += linesIn(text)
  }
}

const noScope: Scope = {}

/**
 * Returns true if an attribute of the element has the product namespace as its value. The element may declare it with a prefix, as the
 * default, or with the common mistake `g="…"` (docs/inputs.md, case 144).
 */
function namesProducts(tag: SaxesTagNS): boolean {
  return Object.values(tag.attributes).some(({ value }) => value.startsWith(productNamespaceStart))
}

/**
 * Returns the error for a root element `channel` that does not declare the product namespace (docs/inputs.md, case 145). Such a feed can be
 * read only with a `map:`.
 */
function bareChannelError(name: string) {
  return fileError('WRONG_FORMAT', 'the root element is a bare <channel>: without <rss> and without the product namespace', {
    name,
    hint: 'Export the feed as Google Shopping RSS 2.0, or name its elements in `map:` of the pipeline, such as `map: { id: id, title: title }`.',
  })
}

function repairWarnings(elements: readonly string[], htmlColumns: readonly string[]): readonly RowWarning[] {
  return [
    ...elements.map((field) => ({ code: 'AMPERSAND_MENDED', field, message: 'a raw & in an address was read as &amp;' })),
    ...htmlColumns.map((field) => ({ code: 'ENTITY_HTML', field, message: 'an entity of HTML was read as its character' })),
  ]
}

/** Returns the setting that would make the item readable; `noRemedy` if there is none. */
function remedyFor(item: string, settings: XmlSettings): Remedy {
  if (settings.escapeAmpersands !== true && escapeAmpersands(item).elements.length > 0)
    return { text: ' Or set `xml.repair_ampersands` of the source.', remedy: { xml: { repair_ampersands: true } } }
  return settings.htmlEntities !== true && namesHtmlEntity(item) ? htmlEntitiesRemedy : noRemedy
}

/** Setting that would make the file readable, as a sentence for the hint and as a value. */
interface Remedy {
  readonly text: string
  readonly remedy?: SourceSettings
}
const noRemedy: Remedy = { text: '' }
const htmlEntitiesRemedy: Remedy = { text: ' Or set `xml.html_entities` of the source.', remedy: { xml: { html_entities: true } } }

/** Returns the error for a fault in `text`. `line`: line on which `text` starts. */
function faultError(name: string, text: string, fault: XmlFault, line: number, settings: XmlSettings) {
  const quote = settings.mayQuote === true ? `: ${excerptAt(text, fault.at)}` : ''
  return malformedError(name, `${fault.message}${quote}`, line + fault.line, remedyFor(text, settings))
}

function malformedError(name: string, message: string, line: number | undefined, remedy = noRemedy) {
  return fileError('FILE_MALFORMED', `not well-formed XML: ${message}`, {
    name,
    ...(line === undefined ? {} : { at: `line ${line}` }),
    hint: `Write & as &amp; and < as &lt;, close every element, and declare every prefix; then export the feed again.${remedy.text}`,
    ...(remedy.remedy === undefined ? {} : { remedy: remedy.remedy }),
  })
}

/** Returns the parser's message without values of the file, because they may be personal. */
function withoutValues(message: string): string {
  return message.replaceAll(/["'`<][^"'`>]*["'`>]/g, '…').slice(0, 200)
}

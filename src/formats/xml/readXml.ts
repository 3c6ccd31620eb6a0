import { SaxesParser } from 'saxes'
import type { SaxesTagNS } from 'saxes'
import type { SourceDefinition } from '../../pipeline/definition.ts'
import type { Row, RowMend } from '../../records/record.ts'
import { ColumnRegistry } from '../columnRegistry.ts'
import { fileError } from '../fileError.ts'
import type { FormatContext, FormatReader } from '../formatReader.ts'
import { rowsPerBatch } from '../limits.ts'
import { cutRecords, recordText } from '../recordBatch.ts'
import { AmpersandMender, mendAmpersands } from './ampersands.ts'
import { entityTable, namesHtmlEntity } from './htmlEntities.ts'
import { XmlCutter } from './xmlCutter.ts'
import { XmlElementReader } from './xmlElements.ts'
import { productNamespace, productNamespaces, XmlItemError, XmlItemReader } from './xmlItem.ts'

type XmlSettings = NonNullable<SourceDefinition['xml']> & Pick<SourceDefinition, 'mapped'>

/**
 * Reads a Google Shopping feed, RSS 2.0 or Atom, in UTF-8. Any break of well-formedness refuses the file: unlike a CSV
 * row, an XML item that cannot be read says nothing certain about where it ends. What `settings` allow is mended in the
 * items and said of their rows. With `item` any XML whose elements of that name are records.
 *
 * @throws RunError FILE_MALFORMED and those of `XmlCutter`
 */
export function readXml(
  chunks: AsyncIterable<Buffer>,
  context: FormatContext,
  settings: XmlSettings = {},
): FormatReader & { readonly root: () => 'google-rss' | 'google-atom' | undefined } {
  const columns = new ColumnRegistry()
  const { htmlEntities = false, mendAmpersands: mendsAmpersands = false, item } = settings
  const skeleton = new Skeleton(context.name, settings)
  const cutter = new XmlCutter({
    name: context.name,
    limits: context.limits,
    skeleton: (text) => skeleton.write(text),
    itemStarts: () => scopes.push(skeleton.beginItem()),
    ...(item === undefined ? {} : { item }),
  })
  /** Of the items that have begun and are not read yet, in their order. */
  const scopes: Scope[] = []
  let items: XmlItemReader | XmlElementReader | undefined
  let scope: Scope | undefined
  let shape: string | undefined
  let rowCount = 0
  let overridden = 0
  let prefixAssumed = false
  async function* rows(): AsyncGenerator<readonly Row[]> {
    columns.add(context.gate?.columns ?? [])
    for await (const batch of cutRecords(chunks, cutter)) {
      for (let from = 0, to = 0; from < batch.count; from = to) {
        // There is one for each item that has begun.
        const current = scopes[from] as Scope
        if (items === undefined || scope !== current) {
          scope = current
          const shapeNow = JSON.stringify(htmlEntities || mendsAmpersands ? [current, htmlEntities, mendsAmpersands] : current)
          if (items === undefined || shape !== shapeNow) {
            items =
              item === undefined ? new XmlItemReader(columns, current, htmlEntities) : new XmlElementReader(columns, current, htmlEntities)
            shape = shapeNow
            context.gate?.begin(shape)
          }
        }
        // Rows of one scope at once: the gate forgets what it was asked about when another begins.
        for (to = from; to < batch.count && to < from + rowsPerBatch && scopes[to] === current; to++);
        const before = items.overridden
        const parsed: Omit<Row, 'columns'>[] = []
        for (let i = from; i < to; i++) {
          // Index below the batch's count: the arrays are aligned.
          const line = batch.lines[i] as number
          if (context.gate?.known(batch.bytes, batch.starts[i] as number, batch.ends[i] as number, line) === true) {
            rowCount++
            continue
          }
          const raw = recordText(batch, i)
          const mended = mendsAmpersands ? mendAmpersands(raw) : undefined
          try {
            const cells = items.read(mended?.text ?? raw)
            if (cells.length > context.limits.columns) {
              throw fileError('FILE_TOO_MANY_COLUMNS', `the items name more than ${context.limits.columns} different elements`, {
                name: context.name,
                at: `line ${line}`,
                mend: 'Check the feed: an element name should not change from item to item.',
              })
            }
            const mends = mended === undefined && !htmlEntities ? [] : mendsOf(mended?.elements ?? [], items.htmlColumns)
            parsed.push(mends.length === 0 ? { line, cells } : { line, cells, mends })
          } catch (error) {
            if (error instanceof XmlItemError) throw malformed(context.name, error.message, line + error.line, settingFor(raw, settings))
            throw error
          }
        }
        rowCount += parsed.length
        overridden += items.overridden - before
        prefixAssumed ||= items.prefixAssumed
        if (parsed.length === 0) continue
        const names = columns.names()
        yield parsed.map(({ line, cells, mends }) =>
          mends === undefined ? { line, columns: names, cells } : { line, columns: names, cells, mends },
        )
      }
      scopes.splice(0, batch.count)
    }
    skeleton.close()
  }
  return {
    rows: rows(),
    root: () => cutter.root,
    end: () => ({
      columns: columns.names(),
      rowCount,
      finalNewline: null,
      proof: 'root element closed',
      notes: [
        ...(overridden === 0
          ? []
          : [`a plain element differs from the product element of the same name ${overridden} times; the product element counts`]),
        ...(item !== undefined && rowCount === 0 ? [`there is no element <${item}>`] : []),
        ...(prefixAssumed ? ['the prefix g is not declared; read as the product namespace'] : []),
        ...skeleton.mended.map((element) => `a raw & in the address of <${element}> outside the items was read as &amp;`),
      ],
    }),
  }
}

/** Prefix bindings around an item; the default namespace under the empty prefix. One object for each open element. */
type Scope = Readonly<Record<string, string>>

/** The feed without its items, checked by a strict parser; knows which prefixes are bound where the items stand. */
class Skeleton {
  readonly #parser: SaxesParser<{ xmlns: true; additionalNamespaces: Record<string, string> }>
  readonly #scopes: Scope[] = []
  readonly #name: string
  readonly #mender: AmpersandMender | undefined
  /** The piece that is read. */
  #piece = ''

  constructor(name: string, { htmlEntities = false, mendAmpersands: mends = false, mapped = false, item }: XmlSettings) {
    this.#name = name
    this.#mender = mends ? new AmpersandMender() : undefined
    const parser = new SaxesParser({ xmlns: true, additionalNamespaces: { g: productNamespace } })
    this.#parser = parser
    parser.ENTITIES = entityTable(htmlEntities, () => {})
    parser.on('error', (error) => {
      const setting =
        !mends && mendAmpersands(this.#piece).elements.length > 0
          ? ' Or set `xml.mend_ampersands` of the source.'
          : !htmlEntities && error.message.includes('undefined entity')
            ? ' Or set `xml.html_entities` where it is one of HTML.'
            : ''
      throw malformed(name, error.message.replace(/^\d+:\d+: /, ''), undefined, setting)
    })
    parser.on('doctype', () => {
      throw fileError('FILE_DOCTYPE', 'the file has a document type declaration', { name, mend: 'Remove the <!DOCTYPE …>.' })
    })
    parser.on('opentag', (tag) => {
      if (this.#scopes.length === 0 && tag.local === 'channel' && !mapped && item === undefined && !namesProducts(tag))
        throw bareChannel(name)
      if (!tag.isSelfClosing) this.#scopes.push({ ...this.#scopes.at(-1), ...tag.ns })
    })
    parser.on('closetag', (tag) => {
      if (!tag.isSelfClosing) this.#scopes.pop()
    })
  }

  /** Of the item that begins here: the open element may be closed by the time the item is parsed. */
  beginItem(): Scope {
    if (this.#mender !== undefined) this.#parser.write(this.#mender.end())
    return this.#scopes.at(-1) ?? noScope
  }

  /** Local names of the elements in which an address was mended. */
  get mended(): readonly string[] {
    return [...(this.#mender?.elements ?? [])]
  }

  write(text: string): void {
    this.#piece = text
    this.#parser.write(this.#mender === undefined ? text : this.#mender.write(text))
  }

  close(): void {
    if (this.#mender !== undefined) this.#parser.write(this.#mender.end())
    this.#parser.close()
    if (this.#scopes.length > 0) throw malformed(this.#name, 'the root element is not closed', undefined)
  }
}

const noScope: Scope = {}

/** Bound to a prefix, the default namespace, or by the common mistake `g="…"` (bad-inputs 144). */
function namesProducts(tag: SaxesTagNS): boolean {
  return Object.values(tag.attributes).some(({ value }) => value.startsWith(productNamespaces))
}

/** Nothing in such a file says that its elements are a product feed's; only its owner can (bad-inputs 145). */
function bareChannel(name: string) {
  return fileError('WRONG_FORMAT', 'the root element is a bare <channel>: neither <rss> nor the product namespace stands around it', {
    name,
    mend: 'Export the feed as Google Shopping RSS 2.0, or name its elements in `map:` of the pipeline, such as `map: { id: id, title: title }`.',
  })
}

function mendsOf(elements: readonly string[], htmlColumns: readonly string[]): readonly RowMend[] {
  return [
    ...elements.map((field) => ({ code: 'AMPERSAND_MENDED', field, message: 'a raw & in an address was read as &amp;' })),
    ...htmlColumns.map((field) => ({ code: 'ENTITY_HTML', field, message: 'an entity of HTML was read as its character' })),
  ]
}

/** The setting that would have read an item, by what stands in it. */
function settingFor(item: string, settings: XmlSettings): string {
  if (settings.mendAmpersands !== true && mendAmpersands(item).elements.length > 0) return ' Or set `xml.mend_ampersands` of the source.'
  return settings.htmlEntities !== true && namesHtmlEntity(item) ? ' Or set `xml.html_entities` of the source.' : ''
}

function malformed(name: string, message: string, line: number | undefined, setting = '') {
  return fileError('FILE_MALFORMED', `not well-formed XML: ${describe(message)}`, {
    name,
    ...(line === undefined ? {} : { at: `line ${line}` }),
    mend: `Write & as &amp; and < as &lt;, close every element, and declare every prefix; then export the feed again.${setting}`,
  })
}

/** The parser's sentence without values of the file: they may be anything. */
function describe(message: string): string {
  return message.replaceAll(/["'`<][^"'`>]*["'`>]/g, '…').slice(0, 200)
}

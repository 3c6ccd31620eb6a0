import { SaxesParser } from 'saxes'
import type { Row } from '../../records/record.ts'
import { ColumnRegistry } from '../columnRegistry.ts'
import { fileError } from '../fileError.ts'
import type { FormatContext, FormatReader } from '../formatReader.ts'
import { rowsPerBatch } from '../limits.ts'
import { cutRecords, recordText } from '../recordBatch.ts'
import { XmlCutter } from './xmlCutter.ts'
import { productNamespace, XmlItemError, XmlItemReader } from './xmlItem.ts'

/**
 * Reads a Google Shopping feed, RSS 2.0 or Atom, in UTF-8. Any break of well-formedness refuses the file: unlike a CSV
 * row, an XML item that cannot be read says nothing certain about where it ends.
 *
 * @throws RunError FILE_MALFORMED and those of `XmlCutter`
 */
export function readXml(
  chunks: AsyncIterable<Buffer>,
  context: FormatContext,
): FormatReader & { readonly root: () => 'google-rss' | 'google-atom' | undefined } {
  const columns = new ColumnRegistry()
  const skeleton = new Skeleton(context.name)
  const cutter = new XmlCutter({
    name: context.name,
    limits: context.limits,
    skeleton: (text) => skeleton.write(text),
    itemStarts: () => skeleton.keepItemScope(),
  })
  let items: XmlItemReader | undefined
  let scope: string | undefined
  let rowCount = 0
  let overridden = 0
  let prefixAssumed = false
  async function* rows(): AsyncGenerator<readonly Row[]> {
    for await (const batch of cutRecords(chunks, cutter)) {
      const current = JSON.stringify(skeleton.itemScope)
      if (items === undefined || scope !== current) {
        items = new XmlItemReader(columns, skeleton.itemScope)
        scope = current
        context.gate?.begin(current)
      }
      for (let from = 0; from < batch.count; from += rowsPerBatch) {
        const parsed = []
        for (let i = from; i < Math.min(batch.count, from + rowsPerBatch); i++) {
          // Index below the batch's count: the arrays are aligned.
          const line = batch.lines[i] as number
          if (context.gate?.known(batch.bytes, batch.starts[i] as number, batch.ends[i] as number, line) === true) {
            rowCount++
            continue
          }
          try {
            const cells = items.read(recordText(batch, i))
            if (cells.length > context.limits.columns) {
              throw fileError('FILE_TOO_MANY_COLUMNS', `the items name more than ${context.limits.columns} different elements`, {
                name: context.name,
                at: `line ${line}`,
                mend: 'Check the feed: an element name should not change from item to item.',
              })
            }
            parsed.push({ line, cells })
          } catch (error) {
            if (error instanceof XmlItemError) throw malformed(context.name, error.message, line + error.line)
            throw error
          }
        }
        rowCount += parsed.length
        overridden = items.overridden
        prefixAssumed ||= items.prefixAssumed
        if (parsed.length === 0) continue
        const names = columns.names()
        yield parsed.map(({ line, cells }) => ({ line, columns: names, cells }))
      }
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
        ...(prefixAssumed ? ['the prefix g is not declared; read as the product namespace'] : []),
      ],
    }),
  }
}

/** The feed without its items, checked by a strict parser; knows which prefixes are bound where the items stand. */
class Skeleton {
  readonly #parser: SaxesParser<{ xmlns: true; additionalNamespaces: Record<string, string> }>
  readonly #scopes: Readonly<Record<string, string>>[] = []
  readonly #name: string
  /** Prefix bindings where the last item begins; the default namespace under the empty prefix. */
  itemScope: Readonly<Record<string, string>> = {}

  constructor(name: string) {
    this.#name = name
    const parser = new SaxesParser({ xmlns: true, additionalNamespaces: { g: productNamespace } })
    this.#parser = parser
    parser.on('error', (error) => {
      throw malformed(name, error.message.replace(/^\d+:\d+: /, ''), undefined)
    })
    parser.on('doctype', () => {
      throw fileError('FILE_DOCTYPE', 'the file has a document type declaration', { name, mend: 'Remove the <!DOCTYPE …>.' })
    })
    parser.on('opentag', (tag) => {
      if (!tag.isSelfClosing) this.#scopes.push({ ...this.#scopes.at(-1), ...tag.ns })
    })
    parser.on('closetag', (tag) => {
      if (!tag.isSelfClosing) this.#scopes.pop()
    })
  }

  /** The open element may be closed by the time the items before it are parsed, so the scope is kept as they begin. */
  keepItemScope(): void {
    this.itemScope = this.#scopes.at(-1) ?? {}
  }

  write(text: string): void {
    this.#parser.write(text)
  }

  close(): void {
    this.#parser.close()
    if (this.#scopes.length > 0) throw malformed(this.#name, 'the root element is not closed', undefined)
  }
}

function malformed(name: string, message: string, line: number | undefined) {
  return fileError('FILE_MALFORMED', `not well-formed XML: ${describe(message)}`, {
    name,
    ...(line === undefined ? {} : { at: `line ${line}` }),
    mend: 'Write & as &amp; and < as &lt;, close every element, and declare every prefix; then export the feed again.',
  })
}

/** The parser's sentence without values of the file: they may be anything. */
function describe(message: string): string {
  return message.replaceAll(/["'`<][^"'`>]*["'`>]/g, '…').slice(0, 200)
}

import { SaxesParser, type SaxesTagNS } from 'saxes'
import { entityTable } from './htmlEntities.ts'
import { productNamespace, xincludeNamespace } from './namespaces.ts'

/** Error of an item that is not well-formed XML; `line` counts from 0 at the first line of the item. */
export class XmlItemError extends Error {
  readonly line: number
  constructor(message: string, line: number) {
    super(message)
    this.line = line
  }
}

/** Functions that receive the parts of an item, in order. */
export interface FragmentHandler {
  readonly open: (tag: SaxesTagNS) => void
  readonly text: (text: string) => void
  readonly close: () => void
  /** Called at each use of an entity of HTML. */
  readonly htmlEntity: () => void
}

/** Strict parser of one item after another, by saxes. Rejects elements of XInclude. */
export class FragmentParser {
  readonly #parser: SaxesParser<{ xmlns: true; fragment: true; additionalNamespaces: Record<string, string> }>
  readonly #entities: Record<string, string>

  /** `namespaces`: prefixes bound around the items. `htmlEntities`: true to resolve entities of HTML; if false, they are an error. */
  constructor(namespaces: Readonly<Record<string, string>>, htmlEntities: boolean, handler: FragmentHandler) {
    const parser = new SaxesParser({ xmlns: true, fragment: true, additionalNamespaces: { g: productNamespace, ...namespaces } })
    this.#parser = parser
    this.#entities = entityTable(htmlEntities, handler.htmlEntity)
    parser.on('error', (error) => {
      // saxes starts its messages with `line:column: `.
      throw new XmlItemError(error.message.replace(/^\d+:\d+: /, ''), parser.line - 1)
    })
    parser.on('opentag', (tag) => {
      if (tag.uri === xincludeNamespace) throw new XmlItemError('XInclude is not supported', parser.line - 1)
      handler.open(tag)
    })
    parser.on('text', handler.text)
    parser.on('cdata', handler.text)
    parser.on('closetag', handler.close)
  }

  /** Parses an item. @throws XmlItemError; the parser cannot be used after an error */
  parse(item: string): void {
    // At each `close`, saxes 6 sets its own table again. That table accepts `&constructor;`.
    this.#parser.ENTITIES = this.#entities
    this.#parser.write(item).close()
  }
}

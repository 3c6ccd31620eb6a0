/** Parts of JSON that TypeScript's library for es2024 does not declare. V8 has them since 11.4 (Node 21). */
interface JSON {
  /** Parses with the text of each number as `context.source`. */
  parse(text: string, reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown
  /** Makes a value that `stringify` writes as `text`. */
  rawJSON(text: string): unknown
}

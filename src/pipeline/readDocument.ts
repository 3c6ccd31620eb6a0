/** Parses YAML and JSON, and keeps the line of each value for messages. */
import { isMap, isScalar, isSeq, LineCounter, parseDocument, visit, type Document, type Scalar, type YAMLMap } from 'yaml'
import type { Problem } from '../errors.ts'
import type { LineOf } from './problems.ts'

type ToError = (problems: readonly Problem[]) => Error

/**
 * Parses YAML.
 *
 * @throws the error that `toError` returns for all syntax errors and repeated keys, or for more than `maxAliases` expansions of aliases
 */
export function readYaml(text: string, file: string, toError: ToError): { readonly input: unknown; readonly lineOf: LineOf } {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false })
  const errors = document.errors.map(({ message, pos }) => ({ message, at: pos[0] }))
  const syntaxProblems = [...errors, ...repeatedKeys(document)].toSorted((a, b) => a.at - b.at)
  if (syntaxProblems.length > 0)
    throw toError(syntaxProblems.map(({ message, at }) => ({ path: '', message, where: `${file}:${lines.linePos(at).line}` })))
  keepTexts(document.contents, false)
  let input: unknown
  try {
    input = document.toJS({ maxAliasCount: maxAliases })
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error
    throw toError([
      {
        path: '',
        message: `expands aliases (*name) more than ${maxAliases} times`,
        where: file,
        hint: 'write the values instead of the aliases',
      },
    ])
  }
  return { input, lineOf: lineFinder(document, lines) }
}

/** Settings with values that are texts, also in lists and mappings below them. */
const textSettings: ReadonlySet<unknown> = new Set(['only', 'except', 'values', 'not_values', 'const', 'default'])

/**
 * Keeps the text of unquoted keys, ids and values that YAML reads as numbers or booleans. Otherwise `not_values: [01]` would mean 1, and an
 * id `1e3` would be 1000. `isText`: true inside a setting of `textSettings`.
 */
function keepTexts(node: unknown, isText: boolean): void {
  if (isSeq(node)) for (const item of node.items) keepTexts(item, isText)
  else if (isScalar(node) && isText) keepText(node)
  else if (isMap(node))
    for (const { key, value } of node.items) {
      if (isScalar(key)) keepText(key)
      const name = isScalar(key) ? key.value : undefined
      if (isScalar(value) && typeof value.value === 'number' && String(name).endsWith('_id')) keepText(value)
      keepTexts(value, isText || textSettings.has(name))
    }
}

function keepText(scalar: Scalar): void {
  const { value, source } = scalar
  if ((typeof value === 'number' || typeof value === 'boolean') && source !== undefined && source !== String(value)) scalar.value = source
}

/** Maximum number of expansions of aliases. Without a limit, a small file could become a huge document. */
const maxAliases = 20

/** Parses JSON. @throws the error that `toError` returns for a syntax error or a repeated key */
export function readJson(text: string, file: string, toError: ToError): { readonly input: unknown; readonly lineOf: LineOf } {
  let input: unknown
  try {
    input = JSON.parse(text)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const at = /line (\d+)/.exec(message)?.[1]
    const where = at === undefined ? file : `${file}:${at}`
    throw toError([{ path: '', message: `is not JSON: ${message.replace(/"[^"]*"\.\.\. /g, '')}`, where }])
  }
  const lines = new LineCounter()
  // The parser of YAML finds lines and repeated keys. YAML includes JSON.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false })
  const [repeated] = repeatedKeys(document)
  if (repeated !== undefined) throw toError([{ path: '', message: repeated.message, where: `${file}:${lines.linePos(repeated.at).line}` }])
  return { input, lineOf: lineFinder(document, lines) }
}

/** Finds repeated keys. The option `uniqueKeys` of the library compares each key with all others: minutes for a large file. */
function repeatedKeys(document: Document): { readonly message: string; readonly at: number }[] {
  const found: { message: string; at: number }[] = []
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>()
      for (const { key } of map.items) {
        if (!isScalar(key)) continue
        if (seen.has(key.value)) found.push({ message: 'Map keys must be unique', at: key.range?.[0] ?? 0 })
        seen.add(key.value)
      }
    },
  })
  return found
}

/** Returns a function that finds the line of a value. Indexes the keys of each mapping, because a file may have many problems. */
function lineFinder(document: Document, lines: LineCounter): LineOf {
  const indexes = new WeakMap<YAMLMap, Map<string, unknown>>()
  const indexOf = (map: YAMLMap) => {
    const known = indexes.get(map)
    if (known !== undefined) return known
    // In reverse order, so that the first of several equal keys remains.
    const index = new Map(map.items.toReversed().map(({ key, value }) => [String(isScalar(key) ? key.value : key), value]))
    indexes.set(map, index)
    return index
  }
  const valueIn = (node: unknown, step: string | number): unknown =>
    isMap(node) ? indexOf(node).get(String(step)) : isSeq(node) ? node.items[Number(step)] : undefined
  return (parts) => {
    let line = 1
    let node: unknown = document.contents
    for (const step of parts) {
      node = valueIn(node, step)
      const range = typeof node === 'object' && node !== null && 'range' in node ? node.range : undefined
      if (Array.isArray(range) && typeof range[0] === 'number') ({ line } = lines.linePos(range[0]))
    }
    return line
  }
}

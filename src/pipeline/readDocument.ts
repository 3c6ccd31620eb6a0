/** Parses YAML and JSON, and keeps the line of each value for messages. */
import { LineCounter, parseDocument, type Document } from 'yaml'
import type { Problem } from '../errors.ts'
import type { LineOf, ValuePath } from './problems.ts'

type Fail = (problems: readonly Problem[]) => Error

/**
 * Parses YAML.
 *
 * @throws the error that `fail` returns for all syntax errors, or for more than `maxAliases` expansions of aliases
 */
export function readYaml(text: string, file: string, fail: Fail): { readonly input: unknown; readonly lineOf: LineOf } {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true })
  if (document.errors.length > 0)
    throw fail(document.errors.map((error) => ({ path: '', message: error.message, where: `${file}:${lines.linePos(error.pos[0]).line}` })))
  let input: unknown
  try {
    input = document.toJS({ maxAliasCount: maxAliases })
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error
    throw fail([
      {
        path: '',
        message: `expands aliases (*name) more than ${maxAliases} times`,
        where: file,
        hint: 'write the values instead of the aliases',
      },
    ])
  }
  return { input, lineOf: (parts) => lineIn(document, lines, parts) }
}

/** Maximum number of expansions of aliases. Without a limit, a small file could become a huge document. */
const maxAliases = 20

/** Parses JSON. @throws the error that `fail` returns for a syntax error or a repeated key */
export function readJson(text: string, file: string, fail: Fail): { readonly input: unknown; readonly lineOf: LineOf } {
  let input: unknown
  try {
    input = JSON.parse(text)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const at = /line (\d+)/.exec(message)?.[1]
    const where = at === undefined ? file : `${file}:${at}`
    throw fail([{ path: '', message: `is not JSON: ${message.replace(/"[^"]*"\.\.\. /g, '')}`, where }])
  }
  const lines = new LineCounter()
  // The parser of YAML finds lines and repeated keys. YAML includes JSON.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const repeated = document.errors.find(({ code }) => code === 'DUPLICATE_KEY')
  if (repeated !== undefined) throw fail([{ path: '', message: repeated.message, where: `${file}:${lines.linePos(repeated.pos[0]).line}` }])
  return { input, lineOf: (parts) => lineIn(document, lines, parts) }
}

function lineIn(document: Document, lines: LineCounter, parts: ValuePath): number | undefined {
  for (let length = parts.length; length > 0; length--) {
    const node: unknown = document.getIn(parts.slice(0, length), true)
    const range = typeof node === 'object' && node !== null && 'range' in node ? node.range : undefined
    if (Array.isArray(range) && typeof range[0] === 'number') return lines.linePos(range[0]).line
  }
  return 1
}

/** Only `src/destinations/` branches on the type of a destination. All other code uses the interface (docs/architecture.md). */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'
import { expect, test } from 'vitest'
import { destinationTypes } from '../../../src/destinations/index.ts'

const src = join(import.meta.dirname, '../../../src')
const kinds = destinationTypes().map(({ kind }) => kind)

/** Files that may name the types, with the reason. The sandbox is the service itself, and imports nothing of the engine. */
const exceptions: Readonly<Record<string, string>> = {
  'cli/commands/sandbox/sandboxDefaults.ts': 'the ids that every sandbox starts with',
}

const sqlBranch = new RegExp(`kind\\s*(?:=|<>|!=|in)\\s*\\(?'(?:${kinds.join('|')})'`)

interface Node {
  readonly type: string
  readonly [part: string]: unknown
}

/** Returns the branches on a type in a source text: comparisons, cases, tables by type, conditions of statements. */
function branchesOf(text: string): string[] {
  const found: string[] = []
  // Most files name no type, and parsing takes most of the time.
  if (!kinds.some((kind) => text.includes(kind))) return found
  visit(parseSync('file.ts', text).program as unknown as Node, (node) => {
    if (node.type === 'BinaryExpression' && /^[!=]==?$/.test(String(node['operator'])) && [node['left'], node['right']].some(isKind))
      found.push('comparison')
    else if (node.type === 'SwitchCase' && isKind(node['test'])) found.push('case')
    else if (node.type === 'ObjectExpression' && keysOf(node).filter((key) => kinds.includes(key)).length > 1) found.push('table')
    else if (node.type === 'TemplateElement' && sqlBranch.test(String((node['value'] as { raw: string }).raw))) found.push('statement')
    else if (node.type === 'Literal' && sqlBranch.test(String(node['value']))) found.push('statement')
  })
  return found
}

function isKind(node: unknown): boolean {
  return isNode(node) && node.type === 'Literal' && kinds.includes(String(node['value']))
}

function keysOf(node: Node): string[] {
  return (node['properties'] as Node[]).map(({ key }) => (isNode(key) ? String(key['name'] ?? key['value']) : ''))
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}

function visit(node: Node, look: (node: Node) => void): void {
  look(node)
  for (const part of Object.values(node)) for (const child of Array.isArray(part) ? part : [part]) if (isNode(child)) visit(child, look)
}

test('no module but the destinations branches on the type of a destination', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !/^(?:destinations|sandbox)\//.test(name),
  )
  expect(files.length, 'the checker must see the code it checks').toBeGreaterThan(400)
  const branches = files.flatMap((file) => branchesOf(readFileSync(join(src, file), 'utf8')).map((what) => ({ file, what })))
  expect(branches.filter(({ file }) => !(file in exceptions))).toEqual([])
  expect(Object.keys(exceptions).filter((file) => !branches.some((branch) => branch.file === file))).toEqual([])
})

test.for([
  ["if (kind === 'catalog') stop()", ['comparison']],
  ["switch (kind) { case 'audience': stop() }", ['case']],
  ["const word = { catalog: 'products', audience: 'people' }[kind]", ['table']],
  ["query(`select from destination d where d.kind = 'do-not-reach'`)", ['statement']],
  ["const guess = 'catalog'", []],
] as const)('%s: %j', ([text, expected]) => {
  expect(branchesOf(text)).toEqual(expected)
})

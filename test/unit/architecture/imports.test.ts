/** Imports follow the table of modules in docs/architecture.md, and no file imports itself through others. */
import { readFileSync, readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import { expect, test } from 'vitest'
import { circlesOf, illegalImports, importsOf, moduleOf, parseMap, permissionsOf } from './moduleMap.ts'

const src = join(import.meta.dirname, '../../../src')
const map = parseMap(readFileSync(join(src, '../docs/architecture.md'), 'utf8'))
const files = new Map(
  readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [name.split(sep).join('/'), readFileSync(join(src, name), 'utf8')]),
)
const imports = importsOf(files)

test('every import is permitted by the row of its module', () => {
  expect(files.size, 'the checker must see the code it checks').toBeGreaterThan(100)
  expect(imports.length).toBeGreaterThan(300)
  expect(illegalImports(map, files)).toEqual([])
})

test('every permission is used', () => {
  const used = new Set(imports.flatMap((each) => (permissionsOf(map, each) ?? []).map((name) => `${moduleOf(map, each.file)} -> ${name}`)))
  const given = [...map].flatMap(([folder, names]) => names.map((name) => `${folder} -> ${name}`))
  // Files beside the folders of the sandbox need none.
  expect(given.filter((one) => !used.has(one) && one !== 'sandbox -> sandbox')).toEqual([])
})

test('the table has a row for every folder, and no row for a folder that does not exist', () => {
  expect(map.size, 'the checker must see the table').toBeGreaterThan(30)
  const folders = new Set([...files.keys()].flatMap((file) => (file.includes('/') ? [file.split('/')[0]] : [])))
  expect([...folders].filter((folder) => !map.has(folder ?? '') && folder !== 'service')).toEqual([])
  const modules = new Set([...files.keys()].map((file) => moduleOf(map, file)))
  expect([...map.keys()].filter((folder) => !modules.has(folder))).toEqual([])
})

test('no file imports itself through others, not even a type or on demand', () => {
  expect(circlesOf(imports)).toEqual([])
})

test.for([
  ["import { b } from './b.ts'", "import { a } from './a.ts'"],
  ["import type { B } from './b.ts'", "import { a } from './a.ts'"],
  ["const load = () => import('./b.ts')", "export { a } from './a.ts'"],
])('finds the circle %s', ([a = '', b = '']) => {
  expect(
    circlesOf(
      importsOf(
        new Map([
          ['a.ts', a],
          ['b.ts', b],
          ['c.ts', "import { a } from './a.ts'"],
        ]),
      ),
    ),
  ).toEqual(['a.ts -> b.ts -> a.ts'])
})

/** A file of a module that does not exist, for imports that break its row. */
const fileIn = (folder: string) => (folder === 'index' ? 'index.ts' : `${folder.replace('<area>', 'campaigns')}/fixture.ts`)

test.for([...map].filter(([, names]) => names[0] !== 'everything'))(
  'finds imports that the row of %s does not permit',
  ([folder, names]) => {
    const from = fileIn(folder)
    const others = [...map.keys()].filter((other) => other !== 'model' && other !== folder)
    const found = others.filter((other) => {
      const path = `${'../'.repeat(from.split('/').length - 1) || './'}${fileIn(other)}`
      return illegalImports(map, new Map([[from, `import { other } from '${path}'`]])).length > 0
    })
    const isNamed = (other: string) => names.some((name) => other === name || other.startsWith(`${name}/`))
    const isBeside = (other: string) => folder.startsWith('sandbox') && other === 'sandbox'
    expect(found).toEqual(others.filter((other) => !isNamed(other) && !isBeside(other)))
    expect(found.length).toBeGreaterThan(0)
  },
)

test('the sandbox is an independent implementation: it imports neither the client nor the wait policy', () => {
  expect(imports.filter(({ file, to }) => file.startsWith('sandbox/') && /^(http|service\/client)\//.test(to))).toEqual([])
  expect(illegalImports(map, new Map([['sandbox/start.ts', `import { sign } from '../service/client/signing.ts'`]]))).toHaveLength(1)
})

test('only the command line ends the process', () => {
  const enders = [...files].filter(([file, text]) => /process\.exit\(/.test(text) && !file.startsWith('cli/'))
  expect(enders.map(([file]) => file)).toEqual([])
})

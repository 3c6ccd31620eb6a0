/** The version of a function covers its text, the names around it that it uses, and the modules that it imports. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { computeCodeVersion } from '../../../src/pipeline/codeVersion.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'sluice-code-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
    await writeFile(path.join(folder, name), text)
  }
}
const version = () => computeCodeVersion(path.join(folder, 'shop.ts'))

const modules = {
  'shop.ts': `import { price } from './prices.ts'\nimport type { Row } from "./row.ts"\nexport default { price }\n`,
  'prices.ts': `export * from './lib/rates.ts'\nimport table from './table.json' with { type: 'json' }\nconst late = () => import('./late.ts')\n`,
  'lib/rates.ts': `import '../prices.ts'\nimport path from 'node:path'\nexport const price = 1\n`,
  'table.json': '{ "process": 1 }',
  'late.ts': 'export const late = 1\n',
  'row.ts': 'export type Row = string\n',
  'other.ts': 'export const other = 1\n',
}

test('the version changes with every directly or indirectly imported module, and with no other', async () => {
  await write(modules)
  const first = await version()
  expect(first.isSelfContained).toBe(true)
  for (const [name, text] of Object.entries(modules)) {
    await write({ [name]: `${text} ` })
    expect([name, (await version()).digest === first.digest]).toEqual([name, name === 'other.ts'])
    await write({ [name]: text })
  }
  expect(await version()).toEqual(first)
})

test.for([
  [`import { readFileSync } from 'node:fs'`, 'files'],
  [`import { get } from "http"`, 'the network'],
  [`const at = Date.now()`, 'the clock'],
  [`const today = new Date()`, 'the clock'],
  [`const chance = Math.random()`, 'chance'],
  [`const rate = process.env['RATE']`, 'the environment'],
  [`const module = await import(name)`, 'a module with a name of the moment'],
  ['const module = await import(`./rates.ts`)', 'a name that is put together'],
  [`const rates = require('./rates.cjs')`, 'another way to load'],
  [`import { rate } from 'nowhere-installed'`, 'a package that is not there'],
  [`import { rate } from '#rates'`, 'a name of the package around it'],
] as const)('%s makes the results of its functions uncertain: %s', async ([text]) => {
  await write({ 'shop.ts': `import './helper.ts'\n`, 'helper.ts': `${text}\n` })
  expect((await version()).isSelfContained).toBe(false)
})

test.for([
  [`const when = new Date(row['sold'])`],
  [`import { createHash } from 'node:crypto'`],
  [`import { definePipeline } from 'sluice'`],
  [`import { definePipeline } from 'sluice/pipeline'`],
])('%s depends on its arguments only', async ([text = '']) => {
  await write({ 'shop.ts': `${text}\n` })
  expect((await version()).isSelfContained).toBe(true)
})

test('a package counts by its version, and a linked package has no known version', async () => {
  const manifest = (version: string) => JSON.stringify({ name: 'rates', version, main: 'index.js' })
  await write({ 'shop.ts': `import 'rates'\n`, 'node_modules/rates/package.json': manifest('1.0.0'), 'node_modules/rates/index.js': '' })
  const first = await version()
  expect(first.isSelfContained).toBe(true)
  await write({ 'node_modules/rates/package.json': manifest('1.0.1') })
  expect((await version()).digest).not.toBe(first.digest)
  await write({ 'sources/package.json': manifest('1.0.1'), 'sources/index.js': '' })
  await rm(path.join(folder, 'node_modules/rates'), { recursive: true })
  await symlink(path.join(folder, 'sources'), path.join(folder, 'node_modules/rates'))
  expect((await version()).isSelfContained).toBe(false)
})

test('a long process reads a changed helper, and then the pipeline has another version', async () => {
  const pipeline = (more = '') => `import { definePipeline } from 'sluice'
import { clean } from './helper.ts'
${more}
export default definePipeline({
  source: { url: 'crm.csv' },
  map: { key: 'id', email: (row) => clean(row['mail']) },
  destination: { kind: 'audience', account_id: 'a', audience_id: 'b' },
})
`
  const from = (file: string) => JSON.stringify(new URL(`../../../src/${file}`, import.meta.url).href)
  const script = `
    import { writeFile } from 'node:fs/promises'
    const { loadFile } = await import(${from('pipeline/load.ts')})
    const said = []
    for (const text of ['a', 'a', 'b']) {
      await writeFile('helper.ts', 'export const clean = (text: unknown): string => "' + text + '"')
      const [{ definitionHash, map }] = await loadFile('shop.ts')
      said.push([map.email.compute({}), definitionHash])
    }
    await writeFile('shop.ts', ${JSON.stringify(pipeline('export const at = Date.now()'))})
    for (let i = 0; i < 2; i++) said.push(['', (await loadFile('shop.ts'))[0].definitionHash])
    process.stdout.write(JSON.stringify(said))`
  await write({ 'shop.ts': pipeline() })
  const node = process.execPath
  const { stdout } = await promisify(execFile)(node, ['--input-type=module', '-e', script], { cwd: folder })
  const said = JSON.parse(stdout) as [string, string][]
  expect(said.map(([answer]) => answer)).toEqual(['a', 'a', 'b', '', ''])
  const [first, second, changed, once, again] = said.map(([, hash]) => hash)
  expect(second).toBe(first)
  expect(new Set([first, changed, once, again]).size, 'one for each text, and a new one each time if it is unknown').toBe(4)
})

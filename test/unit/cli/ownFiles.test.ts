import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { formats, ownFile, packageFile } from '../../../src/cli/ownFiles.ts'

const src = join(import.meta.dirname, '../../../src')
const urlOf = (file: string) => pathToFileURL(join(src, file)).href

test('finds the file of every import between the files of Sluice', () => {
  const imports = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .flatMap((file) =>
      [...readFileSync(join(src, file), 'utf8').matchAll(/^(?:import|export) [^;'"=()]*?from '(\.[^']+\.ts)'/gm)].map(
        ([, target = '']) => ({
          file,
          target,
        }),
      ),
    )
  expect(imports.length).toBeGreaterThan(2_000)
  const missing = imports.filter(({ file, target }) => {
    const found = ownFile(target, urlOf(file))
    return found?.format !== 'module-typescript' || !existsSync(fileURLToPath(found.url))
  })
  expect(missing).toEqual([])
})

test.each([
  ['a package', 'zod', urlOf('cli/main.ts')],
  ['a module of Node', 'node:fs', urlOf('cli/main.ts')],
  ['another type of file', './catalog.json', urlOf('cli/main.ts')],
  ['a file outside of Sluice', '../../scripts/words.ts', urlOf('cli/main.ts')],
  ['an import of another program', './rules.ts', pathToFileURL('/srv/pipelines/shop.ts').href],
  ['an import of a pipeline with a version', './rules.ts', `${pathToFileURL('/srv/pipelines/shop.ts').href}?version=1`],
  ['the entry of the process', '/srv/main.ts', undefined],
])('leaves %s to Node', (_, specifier, parentURL) => {
  expect(ownFile(specifier, parentURL)).toBeUndefined()
})

const modules = join(import.meta.dirname, '../../../node_modules')
/** Folder of the files that a package loads, and the folder of the package.json that gives their format. */
const places = {
  zod: ['zod', 'zod'],
  yaml: ['yaml/dist', 'yaml'],
  commander: ['commander', 'commander'],
} as const satisfies Record<keyof typeof formats, readonly [string, string]>

/** Imports of files by their path in a package, without its folders `locales` and `mini`. */
function importsIn(folder: string): readonly { readonly parentURL: string; readonly target: string }[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js') && !/(?:^|[\\/])(?:locales|mini)[\\/]/.test(name))
    .flatMap((name) =>
      [...readFileSync(join(folder, name), 'utf8').matchAll(/^[^*\n]*?(?: from |require\()["'](\.[^"']+\.js)["']/gm)].map(
        ([, target = '']) => ({ parentURL: pathToFileURL(join(folder, name)).href, target }),
      ),
    )
}

test.each([
  ['zod', 50],
  ['yaml', 200],
  ['commander', 5],
] as const)('finds the file of every import between the files of %s', (name, atLeast) => {
  const folder = join(modules, places[name][0])
  const from = { folder: `${pathToFileURL(folder).href}/`, format: formats[name] }
  const imports = importsIn(folder)
  expect(imports.length).toBeGreaterThan(atLeast)
  const missing = imports.filter(({ parentURL, target }) => {
    const found = packageFile(target, parentURL, from)
    return found?.format !== formats[name] || !existsSync(fileURLToPath(found.url))
  })
  expect(missing).toEqual([])
  // Node itself resolves the package to a file in this folder, and reads its files in the format that the hook returns.
  expect(import.meta.resolve(name)).toBe(new URL(basename(import.meta.resolve(name)), from.folder).href)
  expect(JSON.parse(readFileSync(join(modules, places[name][1], 'package.json'), 'utf8'))).toMatchObject({ type: formats[name] })
})

const zod = { folder: `${pathToFileURL(join(modules, 'zod')).href}/`, format: formats.zod }

test('replaces the messages of zod in all languages by the English ones', () => {
  const found = packageFile('../locales/index.js', `${zod.folder}v4/classic/external.js`, zod)
  expect(found?.url).toBe(`${zod.folder}v4/locales/en.js`)
})

test.each([
  ['an import of a package by zod', 'other', `${zod.folder}index.js`],
  ['an import of another package', './core.js', pathToFileURL('/srv/node_modules/other/index.js').href],
  ['a file outside of zod', '../other/index.js', `${zod.folder}index.js`],
  ['the entry of the process', '/srv/main.js', undefined],
])('leaves %s to Node, beside zod', (_, specifier, parentURL) => {
  expect(packageFile(specifier, parentURL, zod)).toBeUndefined()
})

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { ownFile, zodFile } from '../../../src/cli/ownFiles.ts'

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

const zodPath = join(import.meta.dirname, '../../../node_modules/zod')
const zod = `${pathToFileURL(zodPath).href}/`

test('finds the file of every import between the files of zod, and of its messages only the English ones', () => {
  const imports = ['v4/classic', 'v4/core'].flatMap((folder) =>
    readdirSync(join(zodPath, folder))
      .filter((name) => name.endsWith('.js'))
      .flatMap((name) =>
        [...readFileSync(join(zodPath, folder, name), 'utf8').matchAll(/^(?:import|export) [^;]*?from "(\.[^"]+)"/gm)].map(
          ([, target = '']) => ({
            file: join(folder, name),
            target,
          }),
        ),
      ),
  )
  expect(imports.length).toBeGreaterThan(50)
  const found = imports.map(({ file, target }) => zodFile(target, pathToFileURL(join(zodPath, file)).href, zod))
  expect(found.filter((file) => file?.format !== 'module' || !existsSync(fileURLToPath(file.url)))).toEqual([])
  const messages = found.flatMap((file) => (file?.url.includes('/locales/') === true ? [file.url] : []))
  expect(new Set(messages)).toEqual(new Set([pathToFileURL(join(zodPath, 'v4/locales/en.js')).href]))
  // Node reads the files as what the hook says.
  expect(JSON.parse(readFileSync(join(zodPath, 'package.json'), 'utf8'))).toMatchObject({ type: 'module' })
})

test.each([
  ['an import of a package by zod', 'other', `${zod}index.js`],
  ['an import of another package', './core.js', pathToFileURL('/srv/node_modules/other/index.js').href],
  ['a file outside of zod', '../other/index.js', `${zod}index.js`],
  ['the entry of the process', '/srv/main.js', undefined],
])('leaves %s to Node, beside zod', (_, specifier, parentURL) => {
  expect(zodFile(specifier, parentURL, zod)).toBeUndefined()
})

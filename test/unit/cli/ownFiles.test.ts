import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { ownFile } from '../../../src/cli/ownFiles.ts'

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

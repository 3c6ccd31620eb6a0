import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { sourcesDigest } from '../../../bin/sourcesDigest.js'

const bin = join(import.meta.dirname, '../../../bin')

/** Returns a folder like that of the repository. Its program prints whether it is the source or the bundle, which is current. */
function repository(below = ''): string {
  const root = mkdtempSync(join(tmpdir(), 'sluice-launcher-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const home = join(root, below)
  for (const folder of ['src/cli', 'src/sync', 'dist/cli']) mkdirSync(join(home, folder), { recursive: true })
  cpSync(bin, join(home, 'bin'), { recursive: true })
  writeFileSync(join(home, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(home, 'src/cli/main.ts'), "const program: string = 'source'\nconsole.log(program)\n")
  writeFileSync(join(home, 'src/sync/plan.ts'), 'export const size = 25\n')
  writeFileSync(join(home, 'dist/cli/main.js'), "console.log('bundle')\n")
  writeFileSync(join(home, 'dist/sources.sha256'), sourcesDigest(home))
  return home
}

function started(home: string): string {
  return spawnSync(process.execPath, [join(home, 'bin/sluice.js')], { encoding: 'utf8' }).stdout.trim()
}

test('the bundle runs while it was made of the present sources', () => {
  expect(started(repository())).toBe('bundle')
})

test.each<[string, (home: string) => void]>([
  ['changed', (home) => appendFileSync(join(home, 'src/sync/plan.ts'), '\n')],
  [
    'changed to other text of the same length',
    (home) => {
      const file = join(home, 'src/sync/plan.ts')
      writeFileSync(file, 'export const size = 26\n')
      // A second write in the same milliseconds may leave the time of the first one.
      utimesSync(file, new Date(), new Date(Date.now() + 1_000))
    },
  ],
  ['replaced by an older one', (home) => utimesSync(join(home, 'src/sync/plan.ts'), 1_700_000_000, 1_700_000_000)],
  ['added', (home) => writeFileSync(join(home, 'src/sync/diff.ts'), '')],
  ['removed', (home) => rmSync(join(home, 'src/sync/plan.ts'))],
  ['renamed', (home) => renameSync(join(home, 'src/sync/plan.ts'), join(home, 'src/sync/plans.ts'))],
])('the sources run after a file was %s', (_, change) => {
  const home = repository()
  change(home)
  expect(started(home)).toBe('source')
})

test('the sources run without a bundle, and with one that was not completed', () => {
  const home = repository()
  rmSync(join(home, 'dist/sources.sha256'))
  expect(started(home)).toBe('source')
  rmSync(join(home, 'dist'), { recursive: true })
  expect(started(home)).toBe('source')
})

test('an installed package always runs its bundle', () => {
  const home = repository('node_modules/sluice')
  rmSync(join(home, 'dist/sources.sha256'))
  expect(started(home)).toBe('bundle')
})

/** README and docs name exactly the exit codes of the command line. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { exitCodes, exitCodeOfStatus, worstFirst } from '../../../src/cli/exitCodes.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const known = exitCodes.map(([code]) => code)

test('README lists every exit code', () => {
  const table = read('README.md').split('| Exit code |')[1]?.split('\n\n')[0] ?? ''
  expect([...table.matchAll(/`(\d+)`/g)].map(([, code]) => code)).toEqual(known)
})

test('every exit code in the docs is one of the command line', () => {
  const named = globSync('docs/**/*.md', { cwd: root }).flatMap((file) =>
    [...read(file).matchAll(/\bexits?(?: codes?)? `?(\d+)(?:`?(?:,| or) `?(\d+))?/gi)].flatMap(([, ...codes]) =>
      codes.filter((code) => code !== undefined).map((code) => ({ file, code })),
    ),
  )
  expect(named.length, 'the check must see the codes that it checks').toBeGreaterThan(25)
  expect(named.filter(({ code }) => !known.includes(code))).toEqual([])
})

test('docs/states.md has the exit code of every status', () => {
  const picture = read('docs/states.md').split('## Plan')[0] ?? ''
  for (const [status, code] of Object.entries(exitCodeOfStatus))
    expect(picture, status).toMatch(new RegExp(`▶ ${status} [^▶]*exit (?:\\d+, )*${code}\\b`))
})

test('every code of a run has a meaning and a rank among several pipelines', () => {
  for (const code of Object.values(exitCodeOfStatus)) {
    expect(known).toContain(String(code))
    expect(worstFirst).toContain(code)
  }
})

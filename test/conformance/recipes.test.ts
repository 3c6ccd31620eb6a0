/** The recipes of docs/sandbox-recipes.md: each TypeScript block runs as it is written. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const page = readFileSync(new URL('../../docs/sandbox-recipes.md', import.meta.url), 'utf8')
const recipes = page.split(/^## /m).flatMap((section) => {
  const [, text] = /```ts\n([\s\S]*?)```/.exec(section) ?? []
  return text === undefined ? [] : [[section.slice(0, section.indexOf('\n')), text] as const]
})
const folder = mkdtempSync(join(tmpdir(), 'sluice-recipes-'))

test('the page has its recipes', () => {
  expect(recipes.map(([title]) => title)).toEqual(['Test your campaign tool in CI', 'Arm a fault', 'Move the clock', 'Several users'])
})

test.for(recipes)('%s', ([, text], { task }) => {
  const file = join(folder, `${task.id}.ts`)
  writeFileSync(file, text.replaceAll("from 'sluice'", `from '${new URL('../../src/index.ts', import.meta.url).href}'`))
  const { status, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' })
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' })
})

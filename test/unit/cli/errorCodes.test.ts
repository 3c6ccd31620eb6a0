/** Each code in the source has a heading in docs/errors.md, and each heading has a code. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { errorsDoc } from '../../../scripts/errorsDoc.ts'
import { errorGroups } from '../../../src/model/errorCodes.ts'
import { guardedCodes } from '../../../src/pipeline/schema.ts'
import { qualityCodes, withholdsByDefault } from '../../../src/mapping/statistics/qualityCodes.ts'
import { recordCodes } from '../../../src/mapping/rejectCodes.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Expressions that give an error its code in this repository. */
const patterns = [
  /new (?:Usage|Config|Run)Error\(\s*'([A-Z][A-Z_]+)'/g,
  /fileError\(\s*'([A-Z_]+)'/g,
  /readonly code(?:: string)? = '([A-Z_]+)'/g,
  /'(GUARD_[A-Z_]+)'/g,
  /error {2}([A-Z_]+) {2}/g,
]

const used = new Map<string, string>()
const files = globSync('{src,bin}/**/*.{ts,js}', { cwd: root }).filter((file) => !/^src\/sandbox\/(?!state\/)|errorCodes\.ts$/.test(file))
for (const file of files) {
  const text = readFileSync(join(root, file), 'utf8')
  const own = /cli\/(present|main)\.ts$/.test(file) ? [/code: '([A-Z_]+)'/g] : []
  for (const pattern of [...patterns, ...own]) for (const [, code = ''] of text.matchAll(pattern)) used.set(code, file)
}
const documented = errorGroups.flatMap(({ codes }) => Object.keys(codes))

test('the scan finds the code that it checks', () => {
  expect(files.length).toBeGreaterThan(100)
  expect(used.size).toBeGreaterThan(60)
})

test('every code of the source is documented', () => {
  expect([...used].filter(([code]) => !documented.includes(code)).map(([code, file]) => `${code} in ${file}`)).toEqual([])
})

test('every documented code exists in the source, once in the table', () => {
  const all = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n')
  expect(documented.filter((code) => !used.has(code) && !all.includes(`'${code}'`))).toEqual([])
  expect(documented.length).toBe(new Set(documented).size)
})

test('docs/errors.md is up to date, and has a hint for every code', () => {
  expect(readFileSync(join(root, 'docs/errors.md'), 'utf8')).toBe(errorsDoc())
  for (const { codes } of errorGroups)
    for (const [meaning, hint] of Object.values(codes)) expect(meaning.length * hint.length).toBeGreaterThan(0)
})

test('every note that may withhold a run has its heading and a meaning', () => {
  const page = errorsDoc()
  for (const code of guardedCodes) expect(page).toMatch(new RegExp(`### GUARD_${code}\\n\\n[A-Z].{20,}`))
  const codes = Object.keys({ ...recordCodes, ...qualityCodes })
  expect(codes.filter((code) => withholdsByDefault(code) && !guardedCodes.includes(code))).toEqual([])
})

import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { rejectsDoc } from '../../../scripts/rejectsDoc.ts'
import { recordCodes } from '../../../src/mapping/rejectCodes.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const sources = ['src/mapping', 'src/formats', 'src/sources', 'src/sync'].flatMap((folder) =>
  (readdirSync(path.join(root, folder), { recursive: true }) as string[])
    .filter((file) => file.endsWith('.ts') && !file.endsWith('rejectCodes.ts'))
    .map((file) => readFileSync(path.join(root, folder, file), 'utf8')),
)

test('docs/rejects.md is up to date with the code', () => {
  expect(readFileSync(path.join(root, 'docs/rejects.md'), 'utf8')).toBe(rejectsDoc())
})

test('every code of the table is used somewhere', () => {
  expect(sources.length).toBeGreaterThan(30)
  const unused = Object.keys(recordCodes).filter((code) => !sources.some((text) => text.includes(`'${code}'`)))
  expect(unused).toEqual([])
})

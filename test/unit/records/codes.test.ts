import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { rejectsDoc } from '../../../scripts/rejectsDoc.ts'
import { rowFaultMends } from '../../../src/formats/rowFaults.ts'
import { recordCodes } from '../../../src/records/rejectCodes.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const sources = ['src/records', 'src/formats', 'src/sync'].flatMap((folder) =>
  (readdirSync(path.join(root, folder), { recursive: true }) as string[])
    .filter((file) => file.endsWith('.ts') && !file.endsWith('rejectCodes.ts'))
    .map((file) => readFileSync(path.join(root, folder, file), 'utf8')),
)

test('docs/rejects.md is what the code says', () => {
  expect(readFileSync(path.join(root, 'docs/rejects.md'), 'utf8')).toBe(rejectsDoc())
})

test('every code of the table is used somewhere, so that none is promised in vain', () => {
  expect(sources.length).toBeGreaterThan(30)
  const unused = Object.keys(recordCodes).filter((code) => !sources.some((text) => text.includes(`'${code}'`) || code in rowFaultMends))
  expect(unused).toEqual([])
})

test('what readers hold against a row is listed, with the same mend', () => {
  expect(Object.keys(rowFaultMends).length).toBeGreaterThan(5)
  for (const [code, mend] of Object.entries(rowFaultMends))
    expect(recordCodes[code as keyof typeof recordCodes]).toMatchObject({ outcome: 'reject', mend })
})

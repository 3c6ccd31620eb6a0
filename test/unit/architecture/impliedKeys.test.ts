/** Only `db/impliedKeys.ts` reads the columns that say whether keys are implied. All other code uses its conditions. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const src = join(import.meta.dirname, '../../../src')

test('no other file has a condition on the columns of implied keys', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  expect(files.length, 'the checker must see the code it checks').toBeGreaterThan(100)
  const reads = files.filter((name) => /\bload_id is (?:not )?null|not (?:\S+\.)?keys_stored/.test(readFileSync(join(src, name), 'utf8')))
  // The index of the schema repeats the condition, because a migration contains it.
  expect(reads.toSorted()).toEqual(['db/impliedKeys.ts', 'db/schema/sending.ts'])
})

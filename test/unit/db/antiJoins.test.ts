/** Conditions that Postgres cannot compute by a hash once their sets are large. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const src = fileURLToPath(new URL('../../../src', import.meta.url))

/** Files with such a condition on a small set: the runs of the pipelines. */
const small = ['db/rejects.ts', 'db/runs/end.ts']

/**
 * If there are more keys than its memory for a hash (`work_mem`) holds, Postgres compares each row with each key. With 3,000,000 withheld
 * deletes and as many that an earlier plan was allowed to send, such a statement did not end.
 */
test('no statement has "not in" with a query, which compares every row with every key of a large set', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const found = files.filter((file) => /\bnot in \(\s*(select\b|\$\{)/.test(readFileSync(join(src, file), 'utf8')))
  expect(found.toSorted()).toEqual(small)
})

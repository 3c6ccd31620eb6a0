import { expect, test } from 'vitest'
import { operator } from '../../../src/cli/operator.ts'

test('a long reason is cut between characters, because Postgres rejects half of one', () => {
  expect(operator(`${'a'.repeat(499)}😀`).reason).toBe('a'.repeat(499))
})

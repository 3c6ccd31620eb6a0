/** Comparison of cells with values of the pipeline file. */
import { expect, test } from 'vitest'
import { comparableText } from '../../../src/mapping/text.ts'

test.for([
  [' Yes ', 'yes'],
  ['1.0', '1'],
  ['0.00', '0'],
  ['-1.0', '-1'],
  ['10', '10'],
  ['1.10', '1.10'],
  ['v1.0', 'v1.0'],
  ['1.0.0', '1.0.0'],
  ['.0', '.0'],
  ['', ''],
] as const)('%j is compared as %j', ([text, compared]) => {
  expect(comparableText(text)).toBe(compared)
})

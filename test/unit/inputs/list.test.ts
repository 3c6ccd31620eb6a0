import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { caseTests, inputsDoc } from '../../../scripts/inputsDoc.ts'
import { badInputs } from '../../support/badInputs.ts'

test('the list has every number once', () => {
  expect(badInputs.map(([number]) => number)).toEqual(Array.from({ length: 222 }, (_, i) => i + 1))
})

test('every case has a test that names it', () => {
  const tested = caseTests()
  expect(badInputs.filter(([number]) => !tested.has(number)).map(([number, what]) => `${number} ${what}`)).toEqual([])
})

test('docs/inputs.md is up to date with the list and the tests', () => {
  expect(readFileSync(new URL('../../../docs/inputs.md', import.meta.url), 'utf8')).toBe(inputsDoc())
})

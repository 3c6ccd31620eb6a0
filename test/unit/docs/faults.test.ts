/** Every fault of the catalogue has a test that names it, or a reason why not; the page lists them. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { faultsDoc, faultTests } from '../../../scripts/faultsDoc.ts'
import { faultCatalogue } from '../../support/faultCatalogue.ts'

test('every fault has a test that names it, or a reason why it has none', () => {
  const tests = faultTests()
  expect(faultCatalogue.filter(({ id, open }) => tests.has(id) === (open !== undefined)).map(({ id, fault }) => `${id} ${fault}`)).toEqual(
    [],
  )
})

test('no test names a fault that is not in the catalogue', () => {
  const known = new Set(faultCatalogue.map(({ id }) => id))
  expect([...faultTests().keys()].filter((id) => !known.has(id))).toEqual([])
})

test('docs/faults.md is up to date with the catalogue and the tests', () => {
  expect(readFileSync(new URL('../../../docs/faults.md', import.meta.url), 'utf8')).toBe(faultsDoc())
})

/** docs/coverage.md is up to date: every row of the specification has an endpoint, and a test that proves it. */
import { expect, test } from 'vitest'
import { fileURLToPath } from 'node:url'
import { coverageDoc, missingRows, readTests, testsOf, unprovenRows } from '../../../scripts/coverageDoc.ts'
import { endpoints, findEndpoint } from '../../../src/service/contract/index.ts'
import type { Endpoint } from '../../../src/service/contract/endpoint.ts'
import { ruleRows, specRows } from '../../support/specRows.ts'

const tests = readTests(fileURLToPath(new URL('../..', import.meta.url)))

test('the checker finds rows and tests', () => {
  expect(specRows.length).toBeGreaterThan(60)
  expect(ruleRows.length).toBeGreaterThan(40)
  expect(tests.length).toBeGreaterThan(200)
  expect(tests.filter(({ title }) => title === '')).toEqual([])
})

test('every row of the specification has its entry in the contract', () => {
  expect(missingRows(endpoints)).toEqual([])
})

test('finds a row without an entry, and a missing parameter of the line item update', () => {
  expect(missingRows(endpoints.filter(({ name }) => name !== 'products.put'))).toEqual([
    '4.2 PUT /12/product_catalogs/:product_catalog_id/products',
  ])
  expect(
    missingRows(
      endpoints.map((one) =>
        one.name === 'lineItems.update' ? { ...one, parameters: one.parameters.filter(({ name }) => name !== 'goal') } : one,
      ),
    ),
  ).toEqual(['4.6 goal'])
})

test('every row of states, errors and limits is proved by a test with that name', () => {
  expect(unprovenRows(tests)).toEqual([])
  expect(unprovenRows([])).toHaveLength(ruleRows.length)
})

test('tests are found by the name of the endpoint and by its path', () => {
  expect(testsOf(findEndpoint('products.put') as Endpoint, tests).map(({ file }) => file)).toEqual(
    expect.arrayContaining(['conformance/client.test.ts', 'conformance/sandboxCatalogs.test.ts']),
  )
})

test('the page names every endpoint', () => {
  const text = coverageDoc(tests)
  expect(endpoints.filter(({ name }) => !text.includes(`### ${name}\n`))).toEqual([])
})

/** docs/coverage.md is up to date: every row of the specification has an endpoint, and a test that proves it. */
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { fileURLToPath } from 'node:url'
import { coverageDoc, missingRows, readTests, testsOf, unprovenRows } from '../../../scripts/coverageDoc.ts'
import { endpoints, findEndpoint } from '../../../src/service/contract/index.ts'
import type { Endpoint } from '../../../src/service/contract/endpoint.ts'
import { specParameters, type SpecParameter } from '../../support/specParameters.ts'
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

/** Returns the facts about a parameter that differ between specification and contract. Facts that the specification does not give are left out. */
function differences({ method, path, name, ...expected }: SpecParameter, contract: readonly Endpoint[]): readonly string[] {
  const found = contract.find((one) => one.method === method && one.path === path)?.parameters.find((one) => one.name === name)
  const text = (value: unknown): string | undefined => (value === undefined ? undefined : String(value))
  const actual: Omit<SpecParameter, 'method' | 'path' | 'name'> = {
    required: found?.required === true,
    values: found?.values,
    default: text(found?.default),
    bounds: `${found?.min},${found?.max}`,
    maxItems: text(found?.maxItems),
    maxLength: text(found?.maxLength),
  }
  const sorted = (value: unknown): unknown => (Array.isArray(value) ? value.toSorted() : value)
  const facts = Object.keys(actual) as (keyof typeof actual)[]
  const wrong = facts.filter((fact) => expected[fact] !== undefined && !isDeepStrictEqual(sorted(expected[fact]), sorted(actual[fact])))
  return found === undefined ? [`${method} ${path} ${name}`] : wrong.map((fact) => `${method} ${path} ${name} ${fact}`)
}

test('every parameter of the specification is in the contract with its presence, default, bounds and values', () => {
  expect(specParameters.length).toBeGreaterThan(190)
  expect(specParameters.flatMap((one) => differences(one, endpoints))).toEqual([])
})

test('finds a parameter with another default, a missing value, another bound and a missing parameter', () => {
  const changed = endpoints.map((one): Endpoint => {
    const parameters = one.parameters
      .filter(({ name }) => one.name !== 'audiences.targeted' || name !== 'with_active')
      .map((parameter) => ({
        ...parameter,
        ...(one.name === 'cards.list' && parameter.name === 'count' ? { default: 200, max: 1000 } : {}),
        ...(one.name === 'mediaLibrary.list' && parameter.name === 'media_type' ? { values: ['IMAGE', 'VIDEO'] } : {}),
      }))
    return { ...one, parameters }
  })
  expect(specParameters.flatMap((one) => differences(one, changed))).toEqual([
    'GET /12/accounts/:account_id/custom_audiences/:custom_audience_id/targeted with_active',
    'GET /12/accounts/:account_id/cards count default',
    'GET /12/accounts/:account_id/cards count bounds',
    'GET /12/accounts/:account_id/media_library media_type values',
  ])
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

/** The contract is consistent: names, paths, parameters, rules, limits, codes. */
import { describe, expect, test } from 'vitest'
import { endpoints, findEndpoint } from '../../../src/service/contract/index.ts'
import { limitOf, rateLimits } from '../../../src/service/contract/rateLimits.ts'
import { userIdentifiers } from '../../../src/service/contract/audienceResources.ts'
import { resources } from '../../../src/service/contract/resources.ts'
import { identifierTypes } from '../../../src/model/record.ts'
import { adsCodesByStatus, adsErrorStatus } from '../../support/serviceErrorCodes.ts'

const named = endpoints.map((endpoint) => [endpoint.name, endpoint] as const)

const OUTSIDE = /^outside the specification/

test('the contract is not empty', () => {
  expect(endpoints.length).toBeGreaterThan(100)
})

test('names are unique and consist of area and verb', () => {
  const names = endpoints.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names.filter((name) => !/^[a-z][A-Za-z0-9]*\.[a-z][A-Za-z]*$/.test(name))).toEqual([])
})

test('no two endpoints have the same method and path, aliases included', () => {
  // Names of path parameters do not distinguish two paths.
  const routes = endpoints.flatMap(({ method, path, aliases = [] }) =>
    [path, ...aliases].map((one) => `${method} ${one.replace(/:[a-z_]+/g, ':')}`),
  )
  expect(routes.filter((route, index) => routes.indexOf(route) !== index)).toEqual([])
})

describe.each(named)('%s', (_name, endpoint) => {
  test('names its source, a known limit class and a known resource', () => {
    expect(endpoint.source).toMatch(endpoint.outsideSpec === true ? OUTSIDE : /^(?:spec|docs\/spec-notes)/)
    expect(Object.keys(rateLimits)).toContain(endpoint.limit)
    expect(Object.keys(resources)).toContain(endpoint.answer.resource)
  })

  test('has a parameter for each segment of its path, and a segment for each', () => {
    const segments = [...endpoint.path.matchAll(/:([a-z_]+)/g)].map(([, name]) => name)
    expect(endpoint.parameters.filter((one) => one.in === 'path').map(({ name }) => name)).toEqual(segments)
    expect(endpoint.parameters.filter((one) => one.in === 'path' && one.required !== true)).toEqual([])
  })

  test('has each parameter once, with its values if the type needs them, and with a source', () => {
    const names = endpoint.parameters.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const parameter of endpoint.parameters) {
      if (parameter.type === 'enum' || parameter.type === 'csv-enum') expect(parameter.values?.length, parameter.name).toBeGreaterThan(0)
      if (parameter.in !== 'path')
        expect(parameter.source, parameter.name).toMatch(parameter.outsideSpec === true ? OUTSIDE : /^(?:spec|docs\/spec-notes)/)
      if (parameter.default !== undefined && parameter.values !== undefined) expect(parameter.values).toContain(parameter.default)
    }
  })

  test('has only rules about its own parameters', () => {
    const names = new Set(endpoint.parameters.map(({ name }) => name))
    for (const rule of endpoint.rules ?? []) {
      if (rule.kind === 'other') {
        expect(rule.text).not.toBe('')
        // A hint shows such a rule only for the names in backticks.
        for (const name of names)
          if (new RegExp(`(?<![\\w.])${name.replaceAll('.', '\\.')}(?!\\w)`).test(rule.text))
            expect(rule.text).toMatch(new RegExp(`\`${name}[\`.]`))
      } else expect(rule.names.filter((name) => !names.has(name))).toEqual([])
      expect(rule.source).toMatch(/^(spec|docs\/spec-notes|outside the specification)/)
    }
  })

  test('has body fields only with a JSON body', () => {
    if (endpoint.body !== 'json') expect(endpoint.parameters.filter((one) => one.in === 'body')).toEqual([])
  })
})

test('every resource names its source and its fields once', () => {
  expect(Object.keys(resources).length).toBeGreaterThan(30)
  for (const [name, { fields, source }] of Object.entries(resources)) {
    const names = fields.map((one) => one.name)
    expect(new Set(names).size, name).toBe(names.length)
    expect(source, name).toMatch(/^(spec|docs\/spec-notes|outside the specification)/)
  }
})

test('every limit class has a positive limit, a window and a source', () => {
  for (const name of Object.keys(rateLimits)) {
    const { limit, windowMs, source } = limitOf(name)
    expect(limit, name).toBeGreaterThan(0)
    expect(windowMs, name).toBeGreaterThanOrEqual(60_000)
    expect(source, name).toMatch(/^(spec|docs\/spec-notes|assumed)/)
  }
  expect(() => limitOf('nothing')).toThrow(RangeError)
})

test('the limits that count all endpoints, or all users of an app, together', () => {
  const names = (part: 'shared' | 'app') =>
    Object.entries(rateLimits).flatMap(([name, { shared, per }]) => ((part === 'shared' ? shared : per === 'app') ? [name] : []))
  expect(names('shared')).toEqual(['ads_writes'])
  expect(names('app')).toContain('v2_lookups')
})

test('targeting criteria have no update, alone or in a batch', () => {
  expect(findEndpoint('targetingCriteria.update')).toBeUndefined()
  const types = (name: string) => findEndpoint(name)?.parameters.find((one) => one.name === 'operation_type')?.values
  expect(types('targetingCriteria.batch')).toEqual(['Create', 'Delete'])
  expect(types('lineItems.batch')).toEqual(['Create', 'Update', 'Delete'])
})

test('the catalogue of codes is complete: as many as published, each with one status', () => {
  const all = [...adsCodesByStatus.values()].flat()
  expect(all).toHaveLength(77)
  expect(adsErrorStatus.size).toBe(all.length)
  expect(adsErrorStatus.get('ACCOUNT_NOT_FOUND')).toBe(403)
  expect(adsErrorStatus.get('LINE_ITEM_NOT_FOUND')).toBe(404)
})

test('members are mapped to the identifiers that the service accepts', () => {
  expect(identifierTypes).toEqual(userIdentifiers)
})

test('endpoints are found by name', () => {
  expect(findEndpoint('products.put')?.path).toBe('/12/product_catalogs/:product_catalog_id/products')
  expect(findEndpoint('products.nope')).toBeUndefined()
})

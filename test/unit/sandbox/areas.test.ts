/** The sandbox is complete: a handler for each endpoint, a folder for each area. */
import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { areaRefs } from '../../../src/sandbox/areaRefs.ts'
import { areas } from '../../../src/sandbox/areas.ts'
import { endpoints } from '../../../src/service/contract/index.ts'

test('every endpoint of the contract has a handler, and every handler an endpoint', () => {
  const handled = areas.flatMap((area) => Object.keys(area.handlers))
  const named = endpoints.map(({ name }) => name)
  expect(named.length, 'the check must see the contract').toBeGreaterThan(100)
  expect(named.filter((name) => !handled.includes(name))).toEqual([])
  expect(handled.filter((name) => !named.includes(name))).toEqual([])
  expect(new Set(handled).size).toBe(handled.length)
})

test('every folder is an area or a layer of request handling', () => {
  // Found by files, because git leaves empty folders.
  const files = readdirSync(new URL('../../../src/sandbox/', import.meta.url), { recursive: true, encoding: 'utf8' })
  const folders = [...new Set(files.filter((file) => file.endsWith('.ts') && file.includes('/')).map((file) => file.split('/')[0]))]
  expect(folders.toSorted()).toEqual([...areas.map(({ ref }) => ref.name), 'faults', 'http', 'ledger', 'state', 'verify'].toSorted())
})

test('every area has its own reference, listed under its name', () => {
  expect(areas.map(({ ref }) => ref)).toEqual(Object.values(areaRefs))
  expect(Object.values(areaRefs).map(({ name }) => name)).toEqual(Object.keys(areaRefs))
})

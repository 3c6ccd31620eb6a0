import { expect, test } from 'vitest'
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

/** Pages of product sets. */
import { expect, test } from 'vitest'
import { readSetPage } from '../../../src/destinations/productSets.ts'

test.for([null, undefined, ''])('a page with the cursor %j is the last one', (next_cursor) => {
  expect(readSetPage({ data: [{ id: 's1' }], next_cursor })).toMatchObject({ sets: [{ id: 's1' }], cursor: undefined })
})

test('a cursor continues the listing, as text or as a number', () => {
  expect(readSetPage({ data: [], next_cursor: 'c1' })).toEqual({ sets: [], cursor: 'c1' })
  expect(readSetPage({ data: [], next_cursor: 17 })).toEqual({ sets: [], cursor: '17' })
})

test.for([[false], [0.5], [{}], [['c']]])('a page with the unreadable cursor %j proves nothing', ([next_cursor]) => {
  expect(readSetPage({ data: [{ id: 's1' }], ...(next_cursor === undefined ? {} : { next_cursor }) })).toBeUndefined()
})

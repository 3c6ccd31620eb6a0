import { expect, test } from 'vitest'
import type { SourceFacts } from '../../../src/formats/rows.ts'
import { formerSources } from '../../../src/sync/read/formerSources.ts'

const factsOf = (uris: readonly string[]) => uris.map((uri) => ({ uri }) as SourceFacts)

/** Sources by letter; the number in `expected` is the place of the former source, or undefined. */
test.for<[was: string, now: string, expected: readonly (number | undefined)[]]>([
  ['ab', 'ab', [0, 1]],
  ['ab', 'ba', [1, 0]],
  ['ab', 'b', [1]],
  ['b', 'ab', [undefined, 0]],
  // A pattern that selects a new file.
  ['ab', 'ac', [0, 1]],
  // The same, beside a new source.
  ['a', 'bc', [0, undefined]],
  ['ab', 'bc', [1, 0]],
  ['abc', 'x', [0]],
  // Two sheets of one workbook.
  ['aa', 'aa', [0, 1]],
  ['aa', 'a', [0]],
  ['a', 'aa', [0, undefined]],
  ['aab', 'baa', [2, 0, 1]],
])('sources %s and then %s', ([was, now, expected]) => {
  const before = factsOf([...was])
  expect(formerSources([...now], before)).toEqual(expected.map((place) => (place === undefined ? undefined : before[place])))
})

test('an address of a pipeline is that of its facts, which have no user, password and query', () => {
  const written = [
    's3://b/k.csv?endpoint=https://s3.example.com',
    'postgresql://u:p@db.example.com/shop',
    'https://Shop.example.com/feed.csv?k=1',
  ]
  const before = factsOf(['https://shop.example.com/feed.csv', 's3://b/k.csv', 'postgres://db.example.com/shop'])
  expect(formerSources(written, before)).toEqual([before[1], before[2], before[0]])
})

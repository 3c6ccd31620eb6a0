import { expect, test } from 'vitest'
import type { SourceFacts } from '../../../src/formats/rows.ts'
import { fallenSources } from '../../../src/sync/read/fallenRows.ts'
import { formerSources } from '../../../src/sync/read/formerSources.ts'

const factsOf = (uris: readonly string[]) => uris.map((uri) => ({ uri }) as SourceFacts)

/** Sources by letter. The number in `expected` is the place of the former source, or undefined. */
test.for<[was: string, now: string, expected: readonly (number | undefined)[]]>([
  ['ab', 'ab', [0, 1]],
  ['ab', 'ba', [1, 0]],
  ['ab', 'b', [1]],
  ['b', 'ab', [undefined, 0]],
  // A pattern that selects a new file.
  ['ab', 'ac', [0, 1]],
  ['ab', 'bc', [1, 0]],
  // A file that was split in two, and one that replaces three.
  ['a', 'bc', [undefined, undefined]],
  ['abc', 'x', [undefined]],
  // Two sheets of one workbook.
  ['aa', 'aa', [0, 1]],
  ['aa', 'a', [undefined]],
  ['a', 'aa', [undefined, undefined]],
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

test('two patterns with the same earlier file have none, because it is not known which selected it', () => {
  const patterns = ['/d/*.csv', '/d/b*.csv']
  expect(formerSources(['/d/a2.csv', '/d/b2.csv'], factsOf(['/d/b1.csv']), patterns)).toEqual([undefined, undefined])
  // Nor by order.
  const two = factsOf(['/d/b1.csv', '/x/list.csv'])
  expect(formerSources(['/d/a2.csv', '/d/b2.csv'], two, patterns)).toEqual([undefined, undefined])
})

test('a pattern may be the address of a local file', () => {
  const before = factsOf(['/d/eu-1.csv'])
  expect(formerSources(['/d/eu-2.csv', '/d/new.csv'], before, ['file:///d/eu-*.csv', '/d/new.csv'])).toEqual([before[0], undefined])
})

test('a source of a pattern whose rows fell is found beside an added source', () => {
  const patterns = ['/e/eu-*.csv', '/e/us-*.csv', '/e/new.csv']
  const rowsOf = (rows: Readonly<Record<string, number>>) =>
    Object.entries(rows).map(([uri, count]) => ({ uri, rows: count }) as SourceFacts)
  const before = rowsOf({ '/e/eu-1.csv': 100, '/e/us-1.csv': 100 })
  const now = rowsOf({ '/e/eu-2.csv': 0, '/e/us-2.csv': 100, '/e/new.csv': 100 })
  expect(fallenSources(now, before, patterns)).toEqual([{ uri: '/e/eu-2.csv', before: 100, now: 0 }])
})

test('a pattern beside a new source has the earlier file that matches it', () => {
  const before = factsOf(['/exports/crm-1.csv', 'sftp://h.example.com/out/eu-1.csv'])
  const now = ['/exports/crm-2.csv', '/exports/new.csv', 'sftp://h.example.com/out/eu-*.csv']
  const patterns = ['/exports/crm-*.csv', '/exports/new.csv', 'sftp://u@h.example.com/out/eu-*.csv']
  expect(formerSources(now, before, patterns)).toEqual([before[0], undefined, before[1]])
})

import { expect, test } from 'vitest'
import type { SourceFacts } from '../../../src/formats/rows.ts'
import { formerSource } from '../../../src/sync/read/formerSource.ts'

/** Sources by letter; the number in `expected` is the place of the former source, or undefined. */
test.for<[was: string, now: string, expected: readonly (number | undefined)[]]>([
  ['ab', 'ab', [0, 1]],
  ['ab', 'ba', [1, 0]],
  ['ab', 'b', [1]],
  ['b', 'ab', [undefined, 0]],
  // A pattern that selects a new file.
  ['ab', 'ac', [0, 1]],
  // The former source of `c` is not `b`, which is still read.
  ['ab', 'bc', [1, undefined]],
  ['abc', 'x', [undefined]],
  // Two sheets of one workbook.
  ['aa', 'aa', [0, 1]],
  ['aa', 'a', [undefined]],
  ['a', 'aa', [undefined, undefined]],
])('sources %s and then %s', ([was, now, expected]) => {
  const before = [...was].map((uri) => ({ uri }) as SourceFacts)
  expect([...now].map((_, index) => formerSource([...now], index, before))).toEqual(
    expected.map((place) => (place === undefined ? undefined : before[place])),
  )
})

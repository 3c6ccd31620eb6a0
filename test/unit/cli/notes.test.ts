import { expect, test } from 'vitest'
import { noteLines } from '../../../src/cli/reports/notes.ts'

const unknown = (field: string, more = '') => ({
  code: 'COLUMN_UNKNOWN',
  field,
  message: `the column "${field}" is not used${more}`,
  count: 1,
  lines: [1],
})

test('unused columns share one line, except those with a suggestion and those already named', () => {
  const notes = [
    { code: 'CONSENT_UNMAPPED', field: 'Newsletter', message: 'Newsletter is not read', count: 1, lines: [1] },
    unknown('First Name'),
    unknown('titel', '; did you mean title?'),
    unknown('Newsletter'),
    unknown('Tags\u001b[2J'),
    { code: 'COLUMN_VANISHED', field: 'Phone', message: 'the column "Phone" is missing, the last read had it', count: 1, lines: [] },
  ]
  expect(noteLines(notes)).toEqual([
    'note  CONSENT_UNMAPPED  1 ×  Newsletter is not read   line 1',
    'note  COLUMN_UNKNOWN  1 ×  the column "titel" is not used; did you mean title?   line 1',
    String.raw`note  COLUMN_UNKNOWN  2 ×  not used: "First Name", "Tags\u001b[2J"`,
    'note  COLUMN_VANISHED  1 ×  in the last run, missing now: "Phone"',
  ])
})

test('a note on many rows shows the first three of its lines', () => {
  const note = { code: 'EMAIL_ROLE', field: 'email', message: 'i***@s***.example', count: 5, lines: [2, 3, 4, 5] }
  expect(noteLines([note])).toEqual(['note  EMAIL_ROLE  5 ×  i***@s***.example   line 2, 3, 4 …'])
  expect(noteLines([])).toEqual([])
})

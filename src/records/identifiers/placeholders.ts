import { hash } from 'node:crypto'

/** What exports write for "nothing" (bad-inputs 102). Compared in lower case. */
export const placeholders: ReadonlySet<string> = new Set([
  '',
  'null',
  '(null)',
  '<null>',
  'undefined',
  'n/a',
  'na',
  '#n/a',
  'none',
  'nil',
  'nan',
  '0',
  '-',
  '--',
  '—',
  '.',
  '?',
  '+',
  'false',
  'unknown',
  'not set',
  '(not set)',
  'empty',
  '""',
  "''",
])

/** Addresses that stand for nobody in particular, yet would be hashed happily (bad-inputs 110, 118). */
export const nobody: ReadonlySet<string> = new Set([
  'test@test.com',
  'test@example.com',
  'none@none.com',
  'no@no.com',
  'na@na.com',
  'null@null.com',
  'noemail@noemail.com',
  'no@email.com',
  'none@email.com',
  'email@email.com',
  'asdf@asdf.com',
  'a@a.com',
  'abc@abc.com',
])

/** Digests of all of these, in the spellings they are hashed in: refused wherever a digest is given (bad-inputs 102, 118). */
export const junkDigests: ReadonlySet<string> = new Set(
  [
    ...placeholders,
    ...nobody,
    ' ',
    'NULL',
    'None',
    'N/A',
    'NA',
    'NaN',
    'Undefined',
    'test',
    '00000000-0000-0000-0000-000000000000',
    '0000000000',
    '+0000000000',
    '1111111111',
    '+1',
    '1',
  ].map((text) => hash('sha256', text)),
)

/** True where a text, trimmed, stands for nothing. */
export function isPlaceholder(text: string): boolean {
  return text.length <= 9 && placeholders.has(text.toLowerCase())
}

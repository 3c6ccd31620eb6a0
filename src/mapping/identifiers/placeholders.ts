/** Values that do not identify a person: texts for an empty value, made-up addresses, and their digests. */
import { hash } from 'node:crypto'

/** Texts that exports write for an empty value, in lower case (docs/inputs.md, case 102). */
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

/** Valid addresses that do not belong to a person. They are not sent (docs/inputs.md, cases 110 and 118). */
export const placeholderAddresses: ReadonlySet<string> = new Set([
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

/** Returns a text as programs may write it: in lower case, in capitals, with capitals at the start of each word. */
const spellingsOf = (text: string) => [text, text.toUpperCase(), text.replace(/(?<![a-z.])[a-z]/g, (first) => first.toUpperCase())]

/**
 * SHA-256 in hex of placeholders and test values in usual spellings, also with the line end that a shell adds. A row cannot have such an
 * identifier (docs/inputs.md, cases 102 and 118).
 */
export const placeholderDigests: ReadonlySet<string> = new Set(
  [
    ...[...placeholders, ...placeholderAddresses].flatMap(spellingsOf),
    ' ',
    'NaN',
    'test',
    '00000000-0000-0000-0000-000000000000',
    '0000000000',
    '+0000000000',
    '1111111111',
    '+1',
    '1',
  ].flatMap((text) => [text, `${text}\n`, `${text}\r\n`].map((spelling) => hash('sha256', spelling))),
)

/** Returns true if a trimmed text stands for an empty value. */
export function isPlaceholder(text: string): boolean {
  // The longest placeholders have nine characters.
  return text.length <= 9 && placeholders.has(text.toLowerCase())
}

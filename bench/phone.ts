/** Compares phone normalization with the library alone, for different numbers in common spellings. */
import { parsePhoneNumberFromString } from 'libphonenumber-js/max'
import { normalizePhone } from '../src/mapping/identifiers/phone.ts'
import { phoneOf } from './data.ts'
import { median, times, type Bench } from './figure.ts'

const spellings: readonly ((digits: string) => string)[] = [
  (digits) => `+${digits}`,
  (digits) => `+1 (${digits.slice(1, 4)}) ${digits.slice(4, 7)}-${digits.slice(7)}`,
  (digits) => `+1-${digits.slice(1, 4)}-${digits.slice(4, 7)}-${digits.slice(7)}`,
  (digits) => `(${digits.slice(1, 4)}) ${digits.slice(4, 7)}-${digits.slice(7)}`,
  (digits) => `${digits.slice(1, 4)}.${digits.slice(4, 7)}.${digits.slice(7)}`,
]

export const bench: Bench = async ({ small, report }) => {
  const count = small ? 50_000 : 400_000
  const numbers = Array.from({ length: count }, (_, at) => spellings[at % spellings.length]?.(phoneOf(at).replace(/\D/g, '')) ?? '')
  // The library is so slow that a tenth of the numbers is enough.
  const part = numbers.slice(0, count / 10)
  const library = (text: string) => parsePhoneNumberFromString(text, 'US')?.number
  const normalize = (text: string) => {
    const result = normalizePhone(text, 'US')
    return 'text' in result ? result.text : undefined
  }
  const mismatches = part.filter((text) => library(text) !== normalize(text)).length
  const slow = median([0, 1, 2].map(() => each(part, library)))
  const fast = median([0, 1, 2].map(() => each(numbers, normalize)))
  report({ figure: 'libphonenumber-js', measured: `${slow.toFixed(2)} µs per number`, ratio: '1' })
  report({
    figure: 'phone normalizing, common spellings',
    measured: `${fast.toFixed(3)} µs per number, ${mismatches} mismatches`,
    ratio: `${times(slow / fast)} faster`,
    target: '20 x, 0 mismatches',
    met: slow >= 20 * fast && mismatches === 0,
  })
}

/** Returns the microseconds per number. */
function each(numbers: readonly string[], normalize: (text: string) => string | undefined): number {
  let found = 0
  const started = performance.now()
  for (const text of numbers) if (normalize(text) !== undefined) found++
  const spent = ((performance.now() - started) * 1000) / numbers.length
  if (found !== numbers.length) throw new Error(`${numbers.length - found} numbers were not recognized`)
  return spent
}

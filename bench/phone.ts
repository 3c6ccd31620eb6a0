/** Phone normalizing on common spellings, every number another one, against the library alone. */
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

export const bench: Bench = async ({ small, say }) => {
  const count = small ? 50_000 : 400_000
  const numbers = Array.from({ length: count }, (_, at) => spellings[at % spellings.length]?.(phoneOf(at).replace(/\D/g, '')) ?? '')
  // The library is slow enough to be measured on a part of them.
  const part = numbers.slice(0, count / 10)
  const library = (text: string) => parsePhoneNumberFromString(text, 'US')?.number
  const ours = (text: string) => {
    const result = normalizePhone(text, 'US')
    return 'text' in result ? result.text : undefined
  }
  const mismatches = part.filter((text) => library(text) !== ours(text)).length
  const slow = median([0, 1, 2].map(() => each(part, library)))
  const fast = median([0, 1, 2].map(() => each(numbers, ours)))
  say({ figure: 'libphonenumber-js', measured: `${slow.toFixed(2)} µs per number`, ratio: '1' })
  say({
    figure: 'phone normalizing, common spellings',
    measured: `${fast.toFixed(3)} µs per number, ${mismatches} mismatches`,
    ratio: `${times(slow / fast)} faster`,
    reach: '20 x, 0 mismatches',
    met: slow >= 20 * fast && mismatches === 0,
  })
}

/** Microseconds per number. */
function each(numbers: readonly string[], normalize: (text: string) => string | undefined): number {
  let found = 0
  const started = performance.now()
  for (const text of numbers) if (normalize(text) !== undefined) found++
  const spent = ((performance.now() - started) * 1000) / numbers.length
  if (found !== numbers.length) throw new Error(`${numbers.length - found} numbers were refused`)
  return spent
}

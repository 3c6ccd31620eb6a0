import { UsageError } from '../../errors.ts'

/**
 * Parses the whole number that was given for the flag `name`, such as `--limit`. `bounds`: smallest and largest permitted value.
 *
 * @throws {UsageError} `INVALID_VALUE` for another text or number
 */
export function parseCount(name: string, value: string, bounds: { readonly min: number; readonly max: number }): number {
  const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
  if (number >= bounds.min && number <= bounds.max) return number
  throw new UsageError(
    'INVALID_VALUE',
    `${name} takes a whole number from ${bounds.min} to ${bounds.max}, not "${value.slice(0, 40)}". Nothing was read or sent.`,
    {
      where: name,
      hint: `${name} ${bounds.min}`,
    },
  )
}

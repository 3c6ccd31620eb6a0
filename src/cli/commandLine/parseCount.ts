import { UsageError } from '../../errors.ts'

/**
 * Parses the whole number of the flag `name`, for example `--limit`. Both bounds are permitted values.
 *
 * @throws {UsageError} `INVALID_VALUE`
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

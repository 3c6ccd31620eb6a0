/** Checks that create-only fields, which clients send back on an update, equal the stored values. */
import { isDeepStrictEqual } from 'node:util'
import { recordOf } from '../../unknownValue.ts'
import { adsRefusals, invalidParameter, type AdsError } from '../refusal.ts'

/** Compares fields that a client sent back with the record that `read` returns. @throws {Refusal} that names each field that differs */
export function refuseChangedFields(sentBack: ReadonlyMap<string, unknown>, read: () => unknown): void {
  const errors = changedFieldErrors(sentBack, recordOf(read()))
  if (errors.length > 0) throw adsRefusals(errors)
}

function changedFieldErrors(sentBack: ReadonlyMap<string, unknown>, record: Readonly<Record<string, unknown>>): AdsError[] {
  return [...sentBack].flatMap(([name, value]) =>
    isSameValue(value, record[name])
      ? []
      : [{ ...invalidParameter(name, 'the stored value: it is set on creation only', value), details: `${name} cannot be changed` }],
  )
}

/**
 * Returns true for equal values. These count as equal too: empty and null values, lists of the same texts in another order, a number and
 * its text.
 */
export function isSameValue(sent: unknown, stored: unknown): boolean {
  return isDeepStrictEqual(comparable(sent), comparable(stored))
}

/**
 * Converts a value for the comparison. An unset value or empty list becomes null, a list of texts is sorted, and a number becomes its text.
 * Other values stay unchanged.
 */
function comparable(value: unknown): unknown {
  if (value === null || value === undefined || value === '') return null
  if (Array.isArray(value)) {
    if (value.length === 0) return null
    return value.every((item) => typeof item === 'string') ? value.toSorted() : value
  }
  return typeof value === 'bigint' || typeof value === 'number' ? String(value) : value
}

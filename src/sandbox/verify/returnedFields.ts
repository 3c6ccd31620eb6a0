/** Fields that a client sends back on an update although only the creation sets them: allowed while they say what is stored. */
import { isDeepStrictEqual } from 'node:util'
import { adsRefusals, invalidParameter, type AdsError } from '../refusal.ts'

/** @throws {Refusal} that names each field that differs from the record */
export function refuseChanged(returned: ReadonlyMap<string, unknown>, read: () => unknown): void {
  const errors = changedFields(returned, read() as Readonly<Record<string, unknown>>)
  if (errors.length > 0) throw adsRefusals(errors)
}

/** Returns an error for each returned field that differs from the record. */
export function changedFields(returned: ReadonlyMap<string, unknown>, record: Readonly<Record<string, unknown>>): AdsError[] {
  return [...returned].flatMap(([name, value]) =>
    isSameValue(value, record[name])
      ? []
      : [{ ...invalidParameter(name, 'the stored value: it is set on creation only', value), details: `${name} cannot be changed` }],
  )
}

/** Compares values by what they say: an unset field comes back as nothing, a list in any order, a number in any type. */
export function isSameValue(sent: unknown, stored: unknown): boolean {
  return isDeepStrictEqual(comparable(sent), comparable(stored))
}

function comparable(value: unknown): unknown {
  if (value === null || value === undefined || value === '') return null
  if (Array.isArray(value)) {
    if (value.length === 0) return null
    return value.every((item) => typeof item === 'string') ? value.toSorted() : value
  }
  return typeof value === 'bigint' || typeof value === 'number' ? String(value) : value
}

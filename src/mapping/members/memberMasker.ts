import { meaningOf } from '../consent/words.ts'
import { countryCode } from '../identifiers/country.ts'
import { hasNumberingPlan } from '../identifiers/phoneFast.ts'
import { parseInstant } from '../instant.ts'
import { maskIdentifier, maskText, maskUnknown } from '../redactPersonalData.ts'
import type { IdentifierType, SourceRow } from '../../model/record.ts'
import { comparableText, foldedText, trimText } from '../text.ts'
import type { MemberBinding } from './memberBinding.ts'

/**
 * Returns a function that masks the cells of a row. Cells of times, countries and tests are shown, unless they may be personal
 * (`mayBePersonal`). If cells may be in the wrong column, only those are shown that are certainly harmless (`isHarmless`).
 */
export function memberMasker(binding: MemberBinding): (row: SourceRow) => readonly string[] {
  const tests = [...binding.consent, ...binding.consentByType, ...binding.remove]
  const shownIndexes = new Set([
    ...tests.map(({ index }) => index),
    ...(binding.effectiveAt?.indexes ?? []),
    ...(binding.expiresAt?.indexes ?? []),
  ])
  const typesByIndex = new Map<number, IdentifierType>()
  for (const { type, indexes, country } of binding.identifiers) {
    if (typeof country === 'number') shownIndexes.add(country)
    for (const index of indexes) typesByIndex.set(index, type)
  }
  const testValues = new Set(tests.flatMap(({ test }) => test.values ?? test.notValues ?? []).map(comparableText))
  const maskOne = (text: string, index: number, mayBeShifted: boolean): string => {
    if (text === '') return ''
    const type = typesByIndex.get(index)
    if (type !== undefined) return maskIdentifier(type, trimText(text))
    if (!shownIndexes.has(index)) return maskText(text)
    return (mayBeShifted ? isHarmless(text, testValues) : !mayBePersonal(text)) ? text : maskUnknown(text)
  }
  return (row) => {
    // A fault of the joined file is not about the row's own cells.
    const mayBeShifted = row.fault !== undefined && !row.fault.code.startsWith('JOIN_')
    return row.columns.map((_, index) => {
      const cell = row.cells[index]
      if (cell === undefined) return ''
      return typeof cell === 'string'
        ? maskOne(cell, index, mayBeShifted)
        : cell.map((text) => maskOne(text, index, mayBeShifted)).join(',')
    })
  }
}

/** Returns true for a date or time, a country, a word of consent, or one of `testValues`. */
function isHarmless(text: string, testValues: ReadonlySet<string>): boolean {
  const trimmed = trimText(text)
  if (testValues.has(comparableText(trimmed)) || meaningOf(trimmed) !== undefined) return true
  return parseInstant(trimmed, 'utc-midnight', 'UTC') !== undefined || hasNumberingPlan(countryCode(trimmed))
}

/** Returns true for a text with an `@`, over 40 characters, or nine or more digits. An ISO date or time is not personal. */
function mayBePersonal(text: string): boolean {
  if (text.length > 40) return true
  const folded = foldedText(text)
  if (/@|%40/.test(folded)) return true
  return /^\P{Nd}*(?:\p{Nd}\P{Nd}*){9,}$/u.test(folded) && parseInstant(folded, 'utc-midnight', 'UTC') === undefined
}

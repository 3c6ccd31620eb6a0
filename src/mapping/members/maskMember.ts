import { parseInstant } from '../instant.ts'
import { maskIdentifier, maskText, maskUnknown } from '../mask.ts'
import type { IdentifierType, Row } from '../../model/record.ts'
import { trimText } from '../text.ts'
import type { MemberBinding } from './memberBinding.ts'

/**
 * Returns a function that masks the cells of a row. Identifiers are masked by their type. Other cells are masked too, because they may be
 * names or addresses. Cells of times, countries, removal tests and consent tests for the whole row are shown if they are not personal
 * (`mayBePersonal`).
 */
export function maskMember(binding: MemberBinding): (row: Row) => readonly string[] {
  const shownIndexes = new Set([
    ...binding.consent.map(({ index }) => index),
    ...binding.remove.map(({ index }) => index),
    ...(binding.effectiveAt?.indexes ?? []),
    ...(binding.expiresAt?.indexes ?? []),
  ])
  const typesByIndex = new Map<number, IdentifierType>()
  for (const { type, indexes, country } of binding.identifiers) {
    if (typeof country === 'number') shownIndexes.add(country)
    for (const index of indexes) typesByIndex.set(index, type)
  }
  const maskOne = (text: string, index: number): string => {
    if (text === '') return ''
    const type = typesByIndex.get(index)
    if (type !== undefined) return maskIdentifier(type, trimText(text))
    if (!shownIndexes.has(index)) return maskText(text)
    return mayBePersonal(text) ? maskUnknown(text) : text
  }
  return (row) =>
    row.columns.map((_, index) => {
      const cell = row.cells[index]
      if (cell === undefined) return ''
      return typeof cell === 'string' ? maskOne(cell, index) : cell.map((text) => maskOne(text, index)).join(',')
    })
}

/** Returns true for a text with an `@`, over 40 characters, or nine or more digits. False for digits of an ISO date or time. */
function mayBePersonal(text: string): boolean {
  if (text.includes('@') || text.length > 40) return true
  return /^\D*(?:\d\D*){9,}$/.test(text) && parseInstant(trimText(text), 'utc-midnight', 'UTC') === undefined
}

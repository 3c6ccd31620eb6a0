import { parseInstant } from '../instant.ts'
import { maskIdentifier, maskText, maskUnknown } from '../mask.ts'
import type { Row } from '../../model/record.ts'
import { trimText } from '../text.ts'
import type { MemberBinding } from './memberBinding.ts'

/**
 * Returns a function that masks the cells of a row: identifiers by their type, and other cells because they may be names or addresses.
 * Shows the cells of times, countries, removal tests, and consent tests for the whole row. Masks these cells too if they have an `@`, more
 * than 40 characters, or at least nine digits, unless they are an ISO date or time.
 */
export function maskMember(binding: MemberBinding): (row: Row) => readonly string[] {
  const shown = new Set([
    ...binding.consent.map(({ index }) => index),
    ...binding.remove.map(({ index }) => index),
    ...(binding.effectiveAt?.indexes ?? []),
    ...(binding.expiresAt?.indexes ?? []),
  ])
  const types = new Map(
    binding.identifiers.flatMap(({ type, indexes, country }) => {
      if (typeof country === 'number') shown.add(country)
      return indexes.map((index) => [index, type] as const)
    }),
  )
  const maskOne = (text: string, index: number): string => {
    if (text === '') return ''
    const type = types.get(index)
    if (type !== undefined) return maskIdentifier(type, trimText(text))
    if (shown.has(index))
      return text.includes('@') ||
        text.length > 40 ||
        (/^\D*(?:\d\D*){9,}$/.test(text) && parseInstant(trimText(text), 'utc-midnight', 'UTC') === undefined)
        ? maskUnknown(text)
        : text
    return maskText(text)
  }
  return (row) =>
    row.columns.map((_, index) => {
      const cell = row.cells[index]
      if (cell === undefined) return ''
      return typeof cell === 'string' ? maskOne(cell, index) : cell.map((text) => maskOne(text, index)).join(',')
    })
}

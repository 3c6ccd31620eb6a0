/** One row to one member: its identifiers, its key, consent and times (spec 4.3 rule 3, bad-inputs 6 and 8.2). */
import { isChild } from '../age.ts'
import { firstText } from '../fields.ts'
import { isPlaceholder } from '../identifiers/placeholders.ts'
import { parseInstant } from '../instant.ts'
import type { Cell, Mapped, Reject, Row } from '../record.ts'
import { mendOf, type RecordCode } from '../rejectCodes.ts'
import { trimText } from '../text.ts'
import { TransformFault } from '../transforms.ts'
import type { BoundTest, MemberBinding } from './memberBinding.ts'
import { maxIdentifiers, RowIdentifiers } from './rowIdentifiers.ts'

/** Pure. Where no identifier is usable the row is a reject; where only some are, they are left out with a warning. */
export function mapMember(row: Row, binding: MemberBinding): Mapped {
  const work = new RowIdentifiers(row, binding)
  const key = work.key()
  const reject = (code: RecordCode, field: string, message: string): Mapped => {
    const made: Reject = { line: row.line, code, field, message: `${field} ${message}`, mend: mendOf(code) }
    return { reject: key === undefined ? made : { ...made, key }, warnings: work.warnings }
  }
  if (binding.key !== undefined && key === undefined) return reject('KEY_MISSING', 'key', 'is missing')
  const wanted =
    binding.consent.every((test) => isOneOf(row, test)) &&
    !binding.ages.some((age) => isChild(row, age)) &&
    (binding.remove.length === 0 || !binding.remove.every((test) => isOneOf(row, test)))
  // Who withdraws is let go even if the export has blanked the identifiers: the key says who it was.
  if (!wanted && key !== undefined)
    return { record: { kind: 'member', key, line: row.line, identifiers: work.packed, wanted }, warnings: work.warnings }
  if (work.count > maxIdentifiers)
    return reject('TOO_MANY_IDENTIFIERS', work.firstField, `holds ${work.count} identifiers, ${maxIdentifiers} are allowed`)
  if (key === undefined || work.packed.length === 0) {
    const fault = work.fault
    return fault === undefined
      ? reject('NO_IDENTIFIER', work.firstField, 'and every other identifier are empty')
      : reject(fault.code, fault.field, fault.message)
  }
  const effectiveAtMs = effectiveAtOf(row, binding, work)
  const expiresAtMs = expiresAtOf(row, binding)
  if (expiresAtMs === null) return reject('EXPIRES_AT_INVALID', 'expires_at', 'is no ISO 8601 date or time with offset')
  if (effectiveAtMs !== undefined && expiresAtMs !== undefined && effectiveAtMs >= expiresAtMs)
    return reject('TIMES_CONTRADICT', 'effective_at', 'is not before expires_at')
  // The service would refuse the whole membership.
  if (effectiveAtMs !== undefined && expiresAtMs === undefined && effectiveAtMs >= binding.defaultEndMs)
    return reject('TIMES_CONTRADICT', 'effective_at', 'is not before the end that destination.expires_in gives')
  work.sayDropped()
  const record = { kind: 'member' as const, key, line: row.line, identifiers: work.packed, wanted }
  if (effectiveAtMs === undefined && expiresAtMs === undefined) return { record, warnings: work.warnings }
  return {
    record: {
      ...record,
      ...(effectiveAtMs === undefined ? {} : { effectiveAtMs }),
      ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    },
    warnings: work.warnings,
  }
}

/** The key of a row that is not mapped for another reason. */
export function memberKey(row: Row, binding: MemberBinding): Uint8Array | undefined {
  return new RowIdentifiers(row, binding).key()
}

/** Undefined: absent, or left out with a warning where it cannot be read. */
function effectiveAtOf(row: Row, { effectiveAt }: MemberBinding, work: RowIdentifiers): number | undefined {
  if (effectiveAt === undefined) return undefined
  let text: string
  try {
    text = trimText(firstText(effectiveAt.read(row)) ?? '')
  } catch (error) {
    if (!(error instanceof TransformFault)) throw error
    work.warn('TRANSFORM_DROPPED', 'effective_at', `${error.message} (${error.transform})`)
    return undefined
  }
  if (isPlaceholder(text)) return undefined
  const instant = parseInstant(text, 'utc-midnight')
  if (instant === undefined) work.warn('EFFECTIVE_AT_DROPPED', 'effective_at', 'is no ISO 8601 date or time with offset')
  return instant?.ms
}

/** Undefined: absent. Null: an expiry that cannot be read, which must not become a longer one. */
function expiresAtOf(row: Row, { expiresAt }: MemberBinding): number | undefined | null {
  if (expiresAt === undefined) return undefined
  const text = trimText(firstText(expiresAt.read(row)) ?? '')
  return isPlaceholder(text) ? undefined : (parseInstant(text, 'utc-midnight')?.ms ?? null)
}

/** An absent cell is an empty one: JSON and XML leave out what CSV writes as nothing. */
function isOneOf(row: Row, test: BoundTest): boolean {
  return test.values.has(trimText(firstText(row.cells[test.index] as Cell | undefined) ?? '').toLowerCase())
}

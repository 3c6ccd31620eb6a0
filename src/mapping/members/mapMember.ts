/**
 * Maps one row to one member: identifiers, key, consent (docs/guarantees.md#a-no-is-never-sent) and times (spec 4.3 rule 3;
 * docs/inputs.md).
 */
import { firstText } from '../fields.ts'
import { isPlaceholder } from '../identifiers/placeholders.ts'
import { parseInstant } from '../instant.ts'
import type { Cell, Mapped, MemberRecord, PackedIdentifier, Reject, SourceRow, Warning } from '../../model/record.ts'
import { hintOf } from '../rejectCodes.ts'
import { trimText } from '../text.ts'
import { TransformError } from '../transforms.ts'
import { passesTest, type BoundTest } from '../consent/consentTest.ts'
import type { MemberBinding } from './memberBinding.ts'
import { RowIdentifiers, maxIdentifiers, type IdentifierFault } from './rowIdentifiers.ts'
import { isChild } from './age.ts'

/**
 * Maps a row. Pure. Drops an unusable identifier with a warning if another one is usable.
 * - A row for an audience is rejected if it has no usable identifier, no key, too many identifiers or wrong times.
 * - A row that must not be sent needs only a key or an identifier. With a key column, a removal from a do-not-reach list needs the key.
 * - A row that adds a person to a do-not-reach list needs only an identifier.
 *
 * @throws {TransformError} if a transform of the key or of `expires_at` fails, unless the row adds a person to such a list
 */
export function mapMember(row: SourceRow, binding: MemberBinding): Mapped {
  const isPermitted = mayBeSent(row, binding)
  const identifiers = new RowIdentifiers(row, binding, isPermitted)
  const leavesList = binding.remove.length > 0 && binding.remove.every((test) => passesTest(row, test))
  const desired = isPermitted && !leavesList
  const addsToList = binding.isDoNotReach && desired
  const key = addsToList ? keyForList(identifiers) : identifiers.key()
  // A row that must not be sent, or whose identifiers all lack consent, becomes a record with `desired: false`. A key alone is enough,
  // because some exports leave the identifiers of such rows empty. Identifiers alone are enough too, so that no other row sends them.
  if (!desired || (identifiers.packed.length === 0 && identifiers.withoutConsent.length > 0)) {
    const recordKey = key ?? (binding.remove.length > 0 ? undefined : identifiers.keyOfIdentifiers())
    if (recordKey !== undefined)
      return {
        record: {
          kind: 'member',
          key: recordKey,
          line: row.line,
          identifiers: identifiers.all,
          desired: false,
        },
        warnings: identifiers.warnings,
      }
  }
  const effectiveAtMs = effectiveAtOf(row, binding, identifiers)
  const expiresAtMs = addsToList ? endForList(row, binding, identifiers) : expiresAtOf(row, binding)
  const faults = faultsOf(identifiers, { binding, key, effectiveAtMs, expiresAtMs })
  if (faults.length > 0 || key === undefined || expiresAtMs === null) return rejectOf(row, key, faults, identifiers.warnings)
  identifiers.warnDropped()
  const { packed, withoutConsent, bothForms, warnings } = identifiers
  const record: MemberRecord = { kind: 'member', key, line: row.line, identifiers: packed, desired }
  const hasOnlyIdentifiers = withoutConsent.length === 0 && bothForms === undefined
  if (hasOnlyIdentifiers && effectiveAtMs === undefined && expiresAtMs === undefined) return { record, warnings }
  return {
    record: {
      ...record,
      ...(withoutConsent.length === 0 ? {} : { withoutConsent }),
      ...(bothForms === undefined ? {} : { bothForms }),
      ...(effectiveAtMs === undefined ? {} : { effectiveAtMs }),
      ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    },
    warnings,
  }
}

/**
 * Returns the identifiers that the row opts out. Identifiers may repeat.
 * - Of a row without consent, or of a child: all identifiers.
 * - Of any other row: the identifiers of types without consent.
 *
 * A row without a match in the joined file lacks the cells of that file. A missing cell is not a no, so tests of these columns do not
 * apply. If the row has several different matches, it opts out the identifiers that any of them would opt out.
 */
export function identifiersOptedOut(row: SourceRow, binding: MemberBinding): readonly PackedIdentifier[] {
  const { unjoined, variants } = row.fault ?? {}
  if (unjoined !== undefined && variants !== undefined)
    return variants.flatMap((variant) => identifiersOptedOut(withCells(row, unjoined, variant), binding))
  const applicable = unjoined === undefined ? binding : withoutTestsOfColumns(unjoined, binding)
  const isPermitted = mayBeSent(row, applicable)
  if (isPermitted && applicable.consentByType.length === 0) return []
  const { all, withoutConsent } = new RowIdentifiers(row, applicable, isPermitted)
  return isPermitted ? withoutConsent : all
}

function withoutTestsOfColumns(indexes: readonly number[], binding: MemberBinding): MemberBinding {
  const isOther = ({ index }: BoundTest) => !indexes.includes(index)
  return { ...binding, consent: binding.consent.filter(isOther), consentByType: binding.consentByType.filter(isOther) }
}

/** Returns the row without its fault, with `cells` at these indexes. */
function withCells(row: SourceRow, indexes: readonly number[], cells: readonly (Cell | undefined)[]): SourceRow {
  const { fault: _, ...readable } = row
  const all = [...row.cells]
  indexes.forEach((index, at) => (all[index] = cells[at]))
  return { ...readable, cells: all }
}

/** Returns the reject with all `faults`; `more` has all but the first. */
function rejectOf(row: SourceRow, key: Uint8Array | undefined, faults: readonly IdentifierFault[], warnings: readonly Warning[]): Mapped {
  const [first, ...more] = faults.map(({ code, field, message }) => ({ code, field, message: `${field} ${message}`, hint: hintOf(code) }))
  if (first === undefined) throw new Error('a reject needs a fault')
  const isMisplaced = faults[0]?.isMisplaced
  const reject: Reject = {
    line: row.line,
    ...first,
    ...(more.length === 0 ? {} : { more }),
    ...(isMisplaced === undefined ? {} : { isMisplaced }),
  }
  return { reject: key === undefined ? reject : { ...reject, key }, warnings }
}

const noFaults: readonly IdentifierFault[] = []

function faultsOf(identifiers: RowIdentifiers, parts: Readonly<RowParts>): readonly IdentifierFault[] {
  const { binding, key, effectiveAtMs, expiresAtMs } = parts
  const { packed, valueCount, firstField } = identifiers
  const areKeyAndIdentifiersValid = key !== undefined && packed.length > 0 && valueCount <= maxIdentifiers
  if (areKeyAndIdentifiersValid && effectiveAtMs === undefined && expiresAtMs === undefined) return noFaults
  const faults: IdentifierFault[] = []
  if (binding.expectsKeyColumn && key === undefined) faults.push({ code: 'KEY_MISSING', field: 'key', message: 'is missing' })
  if (valueCount > maxIdentifiers)
    faults.push({
      code: 'TOO_MANY_IDENTIFIERS',
      field: firstField,
      message: `has ${valueCount} identifiers, ${maxIdentifiers} are allowed`,
    })
  else if (packed.length === 0 && identifiers.faults.length > 0) faults.push(...identifiers.faults)
  else if (packed.length === 0 && identifiers.withoutConsent.length === 0)
    faults.push({ code: 'NO_IDENTIFIER', field: firstField, message: 'is empty, and so is every other identifier' })
  faults.push(...timeFaults(binding, effectiveAtMs, expiresAtMs))
  return faults
}

interface RowParts {
  binding: MemberBinding
  key: Uint8Array | undefined
  effectiveAtMs: number | undefined
  /** Null if the cell cannot be read. */
  expiresAtMs: number | undefined | null
}

function timeFaults(
  binding: MemberBinding,
  effectiveAtMs: number | undefined,
  expiresAtMs: number | undefined | null,
): readonly IdentifierFault[] {
  if (expiresAtMs === null)
    return [{ code: 'EXPIRES_AT_INVALID', field: 'expires_at', message: 'is not an ISO 8601 date or time with offset' }]
  if (effectiveAtMs === undefined || effectiveAtMs < (expiresAtMs ?? binding.defaultEndMs)) return []
  // The service would refuse the whole membership.
  const nameOfEnd = expiresAtMs === undefined ? 'the end set by destination.expires_in' : 'expires_at'
  return [{ code: 'TIMES_CONTRADICT', field: 'effective_at', message: `is not before ${nameOfEnd}` }]
}

/**
 * Returns the key of a rejected row: the record with this key is kept as it was. Undefined if the row has no key. Also undefined if the row
 * has a fault of `join:` and opts out.
 *
 * @throws {TransformError} if a transform of the key fails
 */
export function keyOfRejectedRow(row: SourceRow, binding: MemberBinding): Uint8Array | undefined {
  return unjoinedRowOptsOut(row, binding) ? undefined : new RowIdentifiers(row, binding).key()
}

/** Returns true if a row with a fault of `join:` opts out. Of several matches in the joined file, one that opts out is enough. */
function unjoinedRowOptsOut(row: SourceRow, binding: MemberBinding): boolean {
  const { unjoined, variants } = row.fault ?? {}
  if (unjoined === undefined) return false
  if (variants !== undefined) return variants.some((variant) => !mayBeSent(withCells(row, unjoined, variant), binding))
  return !mayBeSent(row, withoutTestsOfColumns(unjoined, binding))
}

/**
 * Returns `effective_at` in milliseconds since 1970; undefined without a value. Adds a warning if the cell cannot be read or its transform
 * fails.
 */
function effectiveAtOf(row: SourceRow, { effectiveAt }: MemberBinding, identifiers: RowIdentifiers): number | undefined {
  if (effectiveAt === undefined) return undefined
  let text: string
  try {
    text = trimText(firstText(effectiveAt.read(row)) ?? '')
  } catch (error) {
    if (!(error instanceof TransformError)) throw error
    identifiers.warn('TRANSFORM_DROPPED', 'effective_at', `${error.message} (${error.transform})`)
    return undefined
  }
  if (isPlaceholder(text)) return undefined
  const instant = parseInstant(text, 'utc-midnight')
  if (instant === undefined) identifiers.warn('EFFECTIVE_AT_DROPPED', 'effective_at', 'is not an ISO 8601 date or time with offset')
  return instant?.ms
}

/** Returns the key of a row that adds a person to a do-not-reach list. */
function keyForList(identifiers: RowIdentifiers): Uint8Array | undefined {
  try {
    return identifiers.key() ?? identifiers.keyOfIdentifiers()
  } catch (error) {
    if (!(error instanceof TransformError)) throw error
    identifiers.warn('TRANSFORM_DROPPED', 'key', `${error.message} (${error.transform})`)
    return identifiers.keyOfIdentifiers()
  }
}

/**
 * Returns `expires_at` of a row that adds a person to a do-not-reach list. If the cell cannot be read, adds a warning and returns
 * undefined. Without an end, the person stays on the list while the row is in the source.
 */
function endForList(row: SourceRow, binding: MemberBinding, identifiers: RowIdentifiers): number | undefined {
  try {
    const endMs = expiresAtOf(row, binding)
    if (endMs !== null) return endMs
    identifiers.warn('EXPIRES_AT_DROPPED', 'expires_at', 'is not an ISO 8601 date or time with offset')
  } catch (error) {
    if (!(error instanceof TransformError)) throw error
    identifiers.warn('TRANSFORM_DROPPED', 'expires_at', `${error.message} (${error.transform})`)
  }
  return undefined
}

/**
 * Returns `expires_at` in milliseconds since 1970. Undefined for an empty cell, and for `latestEndMs` or later. Null if the cell cannot be
 * read. A row for an audience is rejected for null, because the default end could be later than the real end.
 *
 * @throws {TransformError} if a transform of `expires_at` fails
 */
function expiresAtOf(row: SourceRow, { expiresAt, latestEndMs }: MemberBinding): number | undefined | null {
  if (expiresAt === undefined) return undefined
  const text = trimText(firstText(expiresAt.read(row)) ?? '')
  if (isPlaceholder(text)) return undefined
  const endMs = parseInstant(text, 'utc-midnight')?.ms
  if (endMs === undefined) return null
  return endMs >= latestEndMs ? undefined : endMs
}

/** Returns false for a row without consent, and for a child. */
function mayBeSent(row: SourceRow, { consent, ages }: Pick<MemberBinding, 'consent' | 'ages'>): boolean {
  return consent.every((test) => passesTest(row, test)) && !ages.some((age) => isChild(row, age))
}

/** Binds the header of an export to the identifiers, tests and times of a member. */
import type { ConsentTest, Duration, Pipeline } from '../model/pipeline.ts'
import { headerCellsAt, fromText, hintsFor, describeMissing, unknownColumns, type BoundHeader } from './boundColumns.ts'
import { bindIdentifiers } from './members/bindIdentifiers.ts'
import { bindTests, consentUnknown } from './members/bindTests.ts'
import { identifiersOptedOut, mapMember, memberKey } from './members/mapMember.ts'
import { maskMember } from './members/maskMember.ts'
import type { BoundIdentifier, MemberBinding, MemberRules } from './members/memberBinding.ts'
import { MemberHeader } from './members/memberHeader.ts'
import { knownColumns } from './presets/index.ts'
import { UnmappedColumns } from './members/unmappedColumns.ts'
import { unmappedReport, type ReportedHeader } from './members/unmappedReport.ts'
import { normalizeHeader, readsCells, type BoundField } from './fields.ts'
import type { IdentifierType, Mapped, Warning } from '../model/record.ts'
import { comparableText } from './text.ts'

/** An `expires_at` from 2100 on counts as empty: exports write 9999-12-31 and similar dates for memberships without an end. */
const foreverMs = Date.UTC(2100, 0)

/** Differences between destinations that take members. */
export interface MemberPolicy {
  /** Types of identifiers that the destination takes. */
  readonly identifiers: readonly IdentifierType[]
  /** True if the header must have a key column. */
  readonly isKeyed: boolean
  /** True if columns of consent and age decide who is sent. */
  readonly appliesConsent: boolean
  /** True for lists from which `map.remove` and the tests of a preset remove members. */
  readonly hasRemovals: boolean
  /** True if `effective_at` is read from the rows. */
  readonly takesEffectiveAt: boolean
  /**
   * Longest membership that may be sent; undefined if there is no limit. A row whose `expires_at` is that far ahead, or further, gets the
   * default end and is renewed.
   */
  readonly longest?: Duration
  /** True if an email with an international domain is sent in both forms. */
  readonly bothEmailForms: boolean
}

/**
 * Returns a function that binds one header to the parts of a member. `today` decides who is a child, and the default and latest end of a
 * membership. All headers share the report on unmapped columns.
 */
export function memberBinder(
  pipeline: Pipeline,
  today: Date,
  policy: MemberPolicy & { readonly expiresIn: Duration },
): (columns: readonly string[]) => BoundHeader {
  const rules = memberRules(pipeline, policy)
  const ignored = new Set((pipeline.ignore ?? []).map(normalizeHeader))
  const isIgnored = (column: string) => ignored.has(normalizeHeader(column))
  const keptValues = keptValuesOf(pipeline)
  const unmapped = new UnmappedColumns({
    searchesConsent: policy.appliesConsent && pipeline.consent !== 'none',
    types: policy.identifiers.filter((type) => type === 'email' || type === 'phone_number'),
    today,
    isIgnored,
    keptValues,
  })
  /** Unmapped column → the first header that had it. */
  const headers = new Map<string, ReportedHeader>()
  return (columns) => {
    const header = new MemberHeader(pipeline, columns)
    const { preset, used, missing, warnings } = header
    const binding = bindHeader(header, { policy, today, rules })
    for (const name of preset?.irrelevant ?? []) ignored.add(normalizeHeader(name))
    // All columns that the mapping reads are in `used` by now. The others are searched for consent and identifiers.
    const { warnings: unmappedWarnings, checkRow } = unmapped.bind({ columns, used, identifiers: binding.identifiers })
    const unused = columns.filter((_, index) => !used.has(index))
    const reported = { header, identifiers: binding.identifiers }
    for (const column of unused) if (!headers.has(column)) headers.set(column, reported)
    return {
      map: (row) => withWarnings(mapMember(row, binding), checkRow(row)),
      reportUnmapped: () => unmappedReport(unmapped, (column) => headers.get(column) ?? reported),
      keyOf: (row) => memberKey(row, binding),
      optedOut: (row) => identifiersOptedOut(row, binding),
      mask: maskMember(binding),
      warnings: [
        ...warnings,
        ...unmappedWarnings,
        ...unknownColumns(columns, used, []).filter(({ field }) => !isIgnored(field) && keptValues(field) === undefined),
      ],
      used,
      missing,
      hints: hintsFor(unboundTypes(policy, header, binding), unused),
      mapping: {
        preset: preset?.name,
        ...(preset === undefined ? {} : { known: { columns: knownColumns(preset, columns), of: columns.length } }),
        fields: shownFields(binding, columns),
      },
      headerCells: headerCellsAt(
        columns,
        [binding.key, ...binding.identifiers].flatMap((one) => one?.indexes.slice(0, 1) ?? []),
      ),
    }
  }
}

/** Returns a function that returns the values of `only:` for the column of a row filter, as `SearchSettings.keptValues`. */
function keptValuesOf({ filters }: Pipeline): (column: string) => ReadonlySet<string> | undefined {
  const kept = new Map<string, Set<string>>()
  for (const { column, values, keep } of filters) {
    const ofColumn = kept.get(normalizeHeader(column)) ?? new Set()
    if (keep) for (const value of values) ofColumn.add(comparableText(value))
    kept.set(normalizeHeader(column), ofColumn)
  }
  return (column) => kept.get(normalizeHeader(column))
}

/** Returns the rules that `options.allow` sets for members. The policy of the destination may also request both forms of emails. */
function memberRules({ mapping }: Pipeline, policy: MemberPolicy): MemberRules {
  const allow = new Set(mapping.allow)
  return {
    email: {
      wrapped: allow.has('wrapped_email'),
      idnToAscii: allow.has('idn_to_ascii'),
      bothForms: allow.has('both_idn_forms') || policy.bothEmailForms,
    },
    bothPhones: allow.has('both_phone_forms'),
    base64: allow.has('base64_hash'),
    splitLists: allow.has('split_lists'),
  }
}

/** Binds one header to the parts of a member. Marks the used columns, and collects missing columns and warnings in `header`. */
function bindHeader(
  header: MemberHeader,
  {
    policy,
    today,
    rules,
  }: { readonly policy: MemberPolicy & { readonly expiresIn: Duration }; readonly today: Date; readonly rules: MemberRules },
): MemberBinding {
  const { pipeline, columns, preset, missing, warnings } = header
  if (pipeline.consent === undefined && policy.appliesConsent) warnings.push(...consentUnknown(preset, columns, 'consent'))
  if (pipeline.remove === undefined && policy.hasRemovals) warnings.push(...consentUnknown(preset, columns, 'remove'))
  const identifiers = bindIdentifiers(header, policy.identifiers)
  const key = header.field('key')
  const isKeyed = policy.isKeyed || key !== undefined || pipeline.map['key'] !== undefined
  if (key === undefined && isKeyed) missing.push(describeMissing('key', pipeline.map['key']?.columns ?? ['key'], columns))
  if (identifiers.length === 0)
    missing.push(
      describeMissing(
        policy.identifiers[0] ?? 'email',
        policy.identifiers.flatMap((type) => pipeline.map[type]?.columns ?? []),
        columns,
      ),
    )
  const [keyType, ...otherKeyTypes] = key === undefined ? [] : keyTypesOf(key, identifiers)
  return {
    key,
    isKeyed,
    keyType,
    otherKeyTypes: otherKeyTypes.filter((type) => type !== undefined),
    identifiers,
    effectiveAt: policy.takesEffectiveAt ? header.field('effective_at') : undefined,
    expiresAt: header.field('expires_at'),
    defaultEndMs: endOf(today, policy.expiresIn),
    latestEndMs: policy.longest === undefined ? foreverMs : endOf(today, policy.longest),
    ...bindTests(
      header,
      identifiers.map(({ type }) => type),
      { ...policy, today },
    ),
    rules,
  }
}

/**
 * Returns the identifier types of the key's columns, without repeats. If one of the columns is not an identifier, returns only the type of
 * the first column, which is undefined if it is not one. Empty if the key is a constant, computed or transformed.
 */
function keyTypesOf({ indexes, mapping }: BoundField, identifiers: readonly BoundIdentifier[]): readonly (IdentifierType | undefined)[] {
  if (!readsCells(mapping)) return []
  const types = new Set(indexes.map((column) => identifiers.find((one) => one.indexes.includes(column))?.type))
  return types.has(undefined) ? [...types].slice(0, 1) : [...types]
}

/** Returns the identifier types without a column. Leaves out `handle`, and the type that `missing` reports. */
function unboundTypes(
  { identifiers: types }: MemberPolicy,
  { missing }: MemberHeader,
  { identifiers }: MemberBinding,
): readonly IdentifierType[] {
  return types.filter(
    (type) => type !== 'handle' && !missing.some(({ field }) => field === type) && !identifiers.some((one) => one.type === type),
  )
}

/** Returns the bound parts of a member and their columns, for display. */
function shownFields(
  { key, identifiers, effectiveAt, expiresAt, consent, consentByType, remove }: MemberBinding,
  columns: readonly string[],
): BoundHeader['mapping']['fields'] {
  return [
    ...[key, ...identifiers, effectiveAt, expiresAt].flatMap((one) =>
      one === undefined ? [] : [{ field: one.field, from: fromText(one, columns) }],
    ),
    ...[...consent, ...consentByType].filter(({ index }) => index >= 0).map(({ test }) => ({ field: 'consent', from: shownTest(test) })),
    ...remove.filter(({ index }) => index >= 0).map(({ test }) => ({ field: 'remove', from: shownTest(test) })),
  ]
}

/**
 * Returns the end of a membership that starts today, in milliseconds since 1970. If the month of the end has no such day, takes the last
 * day of that month, as `addDuration` does for the end that is sent (`sync/plan/durations.ts`).
 */
function endOf(today: Date, expiresIn: Duration): number {
  if ('ms' in expiresIn) return today.getTime() + expiresIn.ms
  const end = new Date(today)
  end.setUTCDate(1)
  end.setUTCMonth(end.getUTCMonth() + expiresIn.months + 1, 0)
  end.setUTCDate(Math.min(end.getUTCDate(), today.getUTCDate()))
  return end.getTime()
}

/** Returns a test for display: `Newsletter "yes" or "true" (for phone_number)`. */
function shownTest({ column, values, notValues, after, before, appliesTo }: ConsentTest): string {
  const what =
    values !== undefined
      ? shownValues(values)
      : notValues !== undefined
        ? `not ${shownValues(notValues)}`
        : [...(after === undefined ? [] : [`after ${after}`]), ...(before === undefined ? [] : [`before ${before}`])].join(' and ')
  return `${column} ${what}${appliesTo === undefined ? '' : ` (for ${appliesTo})`}`
}

function shownValues(values: readonly string[]): string {
  return values.map((value) => (value === '' ? 'empty' : `"${value.toLowerCase()}"`)).join(' or ')
}

function withWarnings(mapped: Mapped, added: readonly Warning[]): Mapped {
  return added.length === 0 ? mapped : { ...mapped, warnings: [...mapped.warnings, ...added] }
}

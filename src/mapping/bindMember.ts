/** Binds the header of an export to the identifiers, tests and times of a member. */
import type { ConsentTest, Duration, Pipeline } from '../model/pipeline.ts'
import {
  headerCellsOf,
  describeSource,
  suggestedSettings,
  describeMissingColumn,
  unusedColumnWarnings,
  type BoundHeader,
  type MappingShown,
} from './boundColumns.ts'
import { addDuration } from './instant.ts'
import { bindIdentifiers } from './members/bindIdentifiers.ts'
import { bindTests, missingConsentColumnOfPreset, missingConsentWarnings } from './members/bindTests.ts'
import { identifiersOptedOut, mapMember, keyOfRejectedRow } from './members/mapMember.ts'
import { maskedField } from './members/maskedCells.ts'
import { memberMasker } from './members/memberMasker.ts'
import type { BoundIdentifier, MemberBinding, MemberRules } from './members/memberBinding.ts'
import { MemberHeader } from './members/memberHeader.ts'
import { countKnownColumns } from './presets/index.ts'
import { UnmappedColumns } from './members/unmappedColumns.ts'
import { unmappedReport, type ReportedHeader } from './members/unmappedReport.ts'
import { normalizeHeader, takesCellsUnchanged, type BoundField } from './fields.ts'
import type { IdentifierType, Mapped, Warning } from '../model/record.ts'
import { comparableText } from './text.ts'

/**
 * If the destination does not limit memberships, an `expires_at` from 2100 on counts as empty. Exports write dates such as 9999-12-31 for
 * memberships without an end.
 */
const noEndFromMs = Date.UTC(2100, 0)

/** Differences between destinations that take members. */
export interface MemberPolicy {
  /** Identifier types that the destination takes. */
  readonly identifiers: readonly IdentifierType[]
  readonly requiresKey: boolean
  /** True if columns of consent and age decide who is sent. */
  readonly appliesConsent: boolean
  /**
   * True for a do-not-reach list. A row that meets `map.remove` takes its person off the list. Without `map.remove`, the consent tests of
   * the preset decide this.
   */
  readonly isDoNotReach: boolean
  /** True if `effective_at`, the start of a membership, is read from the rows. */
  readonly takesEffectiveAt: boolean
  /**
   * Longest membership that may be sent; undefined if there is no limit. An `expires_at` that is at least this far ahead counts as empty.
   */
  readonly longestMembership?: Duration
  /** True if an email with an international domain is sent in both forms. */
  readonly sendsBothEmailForms: boolean
}

/**
 * Returns a function that binds one header to the parts of a member. All headers share one report on unmapped columns. `today`: day of the
 * read, from which ages and the ends of memberships are computed.
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
  // Unmapped column → the first header that had it.
  const firstHeaders = new Map<string, ReportedHeader>()
  return (columns) => {
    const header = new MemberHeader(pipeline, columns)
    const { preset, usedIndexes, missing, warnings } = header
    const binding = bindMemberParts(header, policy, today, rules)
    for (const name of preset?.ignore ?? []) ignored.add(normalizeHeader(name))
    // After `bindMemberParts`, `usedIndexes` has all mapped columns. The other columns are searched for consent and identifiers.
    const { warnings: unmappedWarnings, checkRow } = unmapped.bind({ columns, usedIndexes, identifiers: binding.identifiers })
    const unused = columns.filter((_, index) => !usedIndexes.has(index))
    const reported = { header, identifiers: binding.identifiers }
    for (const column of unused) if (!firstHeaders.has(column)) firstHeaders.set(column, reported)
    return {
      map: (row) => withWarnings(mapMember(row, binding), checkRow(row)),
      reportUnmapped: () => unmappedReport(unmapped, (column) => firstHeaders.get(column) ?? reported),
      keyOf: (row) => keyOfRejectedRow(row, binding),
      optedOut: (row) => identifiersOptedOut(row, binding),
      // A masked cell passes no test of removal from a do-not-reach list, so the row adds its person.
      ...(policy.isDoNotReach ? {} : { maskedField: (row) => maskedField(row, binding) }),
      mask: memberMasker(binding),
      warnings: [
        ...warnings,
        ...unmappedWarnings,
        ...unusedColumnWarnings(columns, usedIndexes, []).filter(({ field }) => !isIgnored(field) && keptValues(field) === undefined),
      ],
      usedIndexes,
      missing,
      suggestions: suggestedSettings(unboundTypes(policy, header, binding), unused),
      shownMapping: {
        preset: preset?.name,
        ...(preset === undefined ? {} : { known: { columns: countKnownColumns(preset, columns), of: columns.length } }),
        fields: shownFields(binding, columns),
      },
      headerCells: headerCellsOf([binding.key, ...binding.identifiers], columns),
    }
  }
}

/**
 * Returns a function that takes the name of a column, and returns
 * - the values of `only:` for this column, in the form of `comparableText`
 * - an empty set for a column that only `except:` names
 * - undefined for a column without a row filter
 */
function keptValuesOf({ filters }: Pipeline): (column: string) => ReadonlySet<string> | undefined {
  const kept = new Map<string, Set<string>>()
  for (const { column, values, keep } of filters) {
    const name = normalizeHeader(column)
    const keptOfColumn = kept.get(name) ?? new Set()
    if (keep) for (const value of values) keptOfColumn.add(comparableText(value))
    kept.set(name, keptOfColumn)
  }
  return (column) => kept.get(normalizeHeader(column))
}

/** Returns the rules for identifiers, by `options.allow` and the policy of the destination. */
function memberRules({ mapping }: Pipeline, policy: MemberPolicy): MemberRules {
  const allow = new Set(mapping.allow)
  return {
    email: {
      acceptsWrapped: allow.has('wrapped_email'),
      convertsDomainToAscii: allow.has('idn_to_ascii'),
      addsOtherForm: allow.has('both_idn_forms') || policy.sendsBothEmailForms,
    },
    addsPlusFreeForm: allow.has('both_phone_forms'),
    readsAmbiguousPhonesAsBoth: policy.isDoNotReach,
    acceptsBase64: allow.has('base64_hash'),
    splitsLists: allow.has('split_lists'),
  }
}

/** Binds one header to the parts of a member. Adds the used columns, the missing columns and the warnings to `header`. */
function bindMemberParts(
  header: MemberHeader,
  policy: MemberPolicy & { readonly expiresIn: Duration },
  today: Date,
  rules: MemberRules,
): MemberBinding {
  const { pipeline, columns, preset, missing, warnings } = header
  if (pipeline.consent === undefined && policy.appliesConsent) warnings.push(...missingConsentWarnings(preset, columns, 'consent'))
  if (pipeline.remove === undefined && policy.isDoNotReach) warnings.push(...missingConsentWarnings(preset, columns, 'remove'))
  const identifiers = bindIdentifiers(header, policy.identifiers)
  const key = header.bindField('key')
  const expectsKeyColumn = policy.requiresKey || key !== undefined || pipeline.map['key'] !== undefined
  if (key === undefined && expectsKeyColumn) missing.push(describeMissingColumn('key', pipeline.map['key']?.columns ?? ['key'], columns))
  const configuredNames = policy.identifiers.flatMap((type) => pipeline.map[type]?.columns ?? [])
  if (identifiers.length === 0) missing.push(describeMissingColumn(policy.identifiers[0] ?? 'email', configuredNames, columns))
  const missingConsent = missing.length === 0 ? undefined : missingConsentColumnOfPreset(header)
  if (missingConsent !== undefined) missing.push(missingConsent)
  const types = identifiers.map(({ type }) => type)
  const [keyType, ...otherKeyTypes] = key === undefined ? [] : keyTypesOf(key, identifiers)
  return {
    key,
    expectsKeyColumn,
    keyType,
    otherKeyTypes: otherKeyTypes.filter((type) => type !== undefined),
    identifiers,
    effectiveAt: policy.takesEffectiveAt ? header.bindField('effective_at') : undefined,
    expiresAt: header.bindField('expires_at'),
    defaultEndMs: addDuration(today.getTime(), policy.expiresIn),
    isDoNotReach: policy.isDoNotReach,
    latestEndMs: policy.longestMembership === undefined ? noEndFromMs : addDuration(today.getTime(), policy.longestMembership),
    ...bindTests(header, types, { ...policy, today }),
    rules,
  }
}

/**
 * Returns the identifier types of the key's columns, without repeats. If one of the columns is not an identifier, returns only the type of
 * the first column. If the first has none, returns `[undefined]`. Empty if the key is a constant, computed or transformed.
 */
function keyTypesOf({ indexes, mapping }: BoundField, identifiers: readonly BoundIdentifier[]): readonly (IdentifierType | undefined)[] {
  if (!takesCellsUnchanged(mapping)) return []
  const types = new Set(indexes.map((column) => identifiers.find((one) => one.indexes.includes(column))?.type))
  return types.has(undefined) ? [...types].slice(0, 1) : [...types]
}

/**
 * Returns the identifier types without a column, except the type in `missing`. Leaves out `handle`, because a user name is not a handle at
 * the service (docs/inputs.md, case 200).
 */
function unboundTypes(policy: MemberPolicy, { missing }: MemberHeader, { identifiers }: MemberBinding): readonly IdentifierType[] {
  return policy.identifiers.filter(
    (type) => type !== 'handle' && !missing.some(({ field }) => field === type) && !identifiers.some((bound) => bound.type === type),
  )
}

function shownFields(
  { key, identifiers, effectiveAt, expiresAt, consent, consentByType, remove }: MemberBinding,
  columns: readonly string[],
): MappingShown['fields'] {
  return [
    ...[key, ...identifiers, effectiveAt, expiresAt].flatMap((bound) =>
      bound === undefined ? [] : [{ field: bound.field, from: describeSource(bound, columns) }],
    ),
    ...[...consent, ...consentByType].filter(({ index }) => index >= 0).map(({ test }) => ({ field: 'consent', from: describeTest(test) })),
    ...remove.filter(({ index }) => index >= 0).map(({ test }) => ({ field: 'remove', from: describeTest(test) })),
  ]
}

/** Describes a test for display: `SMS "yes" or "true" (for phone_number)`, `Status not "left"`, `joined after 2020-01-01`. */
function describeTest({ column, values, notValues, after, before, appliesTo }: ConsentTest): string {
  const parts = [column]
  if (values !== undefined) parts.push(describeValues(values))
  else if (notValues !== undefined) parts.push('not', describeValues(notValues))
  else {
    const limits = [after === undefined ? '' : `after ${after}`, before === undefined ? '' : `before ${before}`]
    parts.push(limits.filter((limit) => limit !== '').join(' and '))
  }
  if (appliesTo !== undefined) parts.push(`(for ${appliesTo})`)
  return parts.join(' ')
}

function describeValues(values: readonly string[]): string {
  return values.map((value) => (value === '' ? 'empty' : `"${value.toLowerCase()}"`)).join(' or ')
}

function withWarnings(mapped: Mapped, added: readonly Warning[]): Mapped {
  return added.length === 0 ? mapped : { ...mapped, warnings: [...mapped.warnings, ...added] }
}

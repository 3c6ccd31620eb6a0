/** The header of an export bound to the identifiers, tests and times of a member. */
import type { Pipeline } from '../pipeline/definition.ts'
import { ageColumnsOf } from './age.ts'
import {
  columnMissing,
  echoOf,
  fromPreset,
  missingColumn,
  presentOnly,
  presetOf,
  unknownColumns,
  type Bound,
  type MissingColumn,
} from './boundColumns.ts'
import { bindField, findColumn, normalizeHeader } from './fields.ts'
import { mapMember, maskFor, memberKey, testValues, type BoundIdentifier, type MemberBinding, type MemberRules } from './mapMember.ts'
import { hideStray, maskText, maskUnknown } from './mask.ts'
import { presetByName, type Preset } from './presets/index.ts'
import { identifierTypes, type IdentifierType, type Row, type Warning } from './record.ts'
import { trimText } from './text.ts'

export function memberBinder(pipeline: Pipeline, today: Date): (columns: readonly string[]) => Bound {
  const { destination, mapping } = pipeline
  const allow = new Set(mapping.allow)
  const rules: MemberRules = {
    email: { wrapped: allow.has('wrapped_email'), idnToAscii: allow.has('idn_to_ascii') },
    base64: allow.has('base64_hash'),
    splitLists: allow.has('split_lists'),
  }
  const kinds: readonly IdentifierType[] = destination.kind === 'do-not-reach' ? ['email', 'phone_number'] : identifierTypes
  return (columns) => {
    const preset =
      Object.keys(pipeline.map).length === 0
        ? presetOf(pipeline, columns, 'members')
        : pipeline.preset === undefined
          ? undefined
          : presetByName(pipeline.preset)
    const missing: MissingColumn[] = []
    const warnings: Warning[] = []
    const used = new Set<number>()
    const bound = (field: string, many: boolean) => {
      const own = pipeline.map[field]
      const entry = preset?.map[field]
      const fieldMapping = own ?? (entry === undefined ? undefined : fromPreset(presentOnly(entry, columns)))
      if (fieldMapping === undefined) return undefined
      const made = bindField(field, fieldMapping, columns, many)
      for (const index of made.indexes) used.add(index)
      if (own !== undefined) for (const name of made.missing) warnings.push(columnMissing(field, name, columns))
      return made.indexes.length > 0 || fieldMapping.constant !== undefined || fieldMapping.compute !== undefined ? made : undefined
    }
    const test = (field: string, given: Pipeline['consent']) => {
      if (given === undefined) return undefined
      const index = findColumn(columns, given.column)
      if (index < 0) missing.push(missingColumn(field, [given.column], columns))
      used.add(index)
      return { index, values: testValues(given) }
    }
    const consent = pipeline.consent ?? presetConsent(preset, columns, warnings)
    // A child on a do-not-reach list stays on it.
    const ages = destination.kind === 'audience' ? ageColumnsOf(columns, today) : []
    for (const { index } of ages) used.add(index)
    const identifiers: BoundIdentifier[] = []
    for (const kind of kinds) {
      const made = bound(kind, true)
      if (made === undefined) continue
      const { defaultCountry, hashed = false } = made.mapping
      let country: string | number | undefined
      if (defaultCountry !== undefined) {
        const index = findColumn(columns, defaultCountry)
        country = index >= 0 ? index : /^[A-Za-z]{2}$/.test(defaultCountry) ? defaultCountry.toUpperCase() : undefined
        if (country === undefined) warnings.push(columnMissing(`${kind}.default_country`, defaultCountry, columns))
        if (index >= 0) used.add(index)
      }
      for (const index of made.indexes) {
        const name = columns[index] ?? ''
        if (/\b(?:owner|assigned|account manager|sales ?rep|created by|advisor)\b/i.test(name.replace(/_/g, ' ')))
          warnings.push({
            line: 1,
            code: 'OWNER_COLUMN',
            field: kind,
            message: `${kind}: "${hideStray(name)}" seems to be a colleague's address`,
          })
      }
      identifiers.push({ ...made, kind, hashed, country })
    }
    const key = bound('key', false)
    if (key === undefined && (destination.kind === 'audience' || pipeline.map['key'] !== undefined))
      missing.push(missingColumn('key', pipeline.map['key']?.columns ?? ['key'], columns))
    if (identifiers.length === 0)
      missing.push(
        missingColumn(
          kinds[0] ?? 'email',
          kinds.flatMap((kind) => pipeline.map[kind]?.columns ?? []),
          columns,
        ),
      )
    const binding: MemberBinding = {
      key,
      keyKind:
        key === undefined
          ? undefined
          : identifiers.find(({ indexes }) => indexes.length > 0 && indexes[0] === key.indexes[0] && key.mapping.transforms.length === 0)
              ?.kind,
      identifiers,
      effectiveAt: destination.kind === 'audience' ? bound('effective_at', false) : undefined,
      expiresAt: bound('expires_at', false),
      consent: [consent, ...(consent?.also ?? [])].flatMap((one) => test('consent', one) ?? []),
      ages,
      remove: test('remove', pipeline.remove),
      rules,
    }
    return {
      map: (row) => mapMember(row, binding),
      keyOf: (row) => memberKey(row, binding),
      mask: maskMember(columns, binding),
      warnings: [
        ...warnings,
        ...(pipeline.consent === undefined && destination.kind === 'audience' ? consentColumns(columns, used) : []),
        ...unknownColumns(columns, used, []),
      ],
      missing,
      echo: echoOf(
        columns,
        [key, ...identifiers].flatMap((one) => one?.indexes.slice(0, 1) ?? []),
      ),
    }
  }
}

/** Exports often say who has left; unread, these people would be sent (bad-inputs 201). */
function consentColumns(columns: readonly string[], used: ReadonlySet<number>): Warning[] {
  return columns.flatMap((column, index) =>
    !used.has(index) &&
    /unsubscri|opt(?:ed)?_?(?:in|out)|bounced|blacklist|cleaned|suppress|consent|marketing|do_not|newsletter|accepts/.test(
      normalizeHeader(column),
    )
      ? [
          {
            line: 1,
            code: 'CONSENT_UNMAPPED',
            field: column,
            message: `the column "${hideStray(column)}" seems to say who may be reached, and consent: does not read it`,
          },
        ]
      : [],
  )
}

/** Some exports of a kind leave the column out: then the owner has to say what consent is, and is told so. */
function presetConsent(preset: Preset | undefined, columns: readonly string[], warnings: Warning[]): Pipeline['consent'] {
  if (preset?.consent === undefined) return undefined
  if (findColumn(columns, preset.consent.column) >= 0) return preset.consent
  warnings.push({
    line: 1,
    code: 'CONSENT_UNKNOWN',
    field: 'consent',
    message: `the export has no column "${preset.consent.column}": every row counts as consenting`,
  })
  return undefined
}

/** Identifier columns by kind, tests, times and countries as they are, everything else hidden: it may be a name or an address. */
function maskMember(columns: readonly string[], binding: MemberBinding): (row: Row) => readonly string[] {
  const shown = new Set([
    ...binding.consent.map(({ index }) => index),
    binding.remove?.index,
    ...(binding.effectiveAt?.indexes ?? []),
    ...(binding.expiresAt?.indexes ?? []),
  ])
  const kinds = new Map(
    binding.identifiers.flatMap(({ kind, indexes, country }) => {
      if (typeof country === 'number') shown.add(country)
      return indexes.map((index) => [index, kind] as const)
    }),
  )
  const maskOne = (text: string, index: number): string => {
    if (text === '') return ''
    const kind = kinds.get(index)
    if (kind !== undefined) return maskFor(kind, trimText(text))
    if (shown.has(index))
      return text.includes('@') || text.length > 40 || (/^\D*(?:\d\D*){9,}$/.test(text) && !/^\d{4}-\d\d/.test(text))
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

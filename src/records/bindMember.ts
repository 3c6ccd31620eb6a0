/** The header of an export bound to the identifiers, tests and times of a member. */
import type { Duration, Pipeline, ValueTest } from '../pipeline/definition.ts'
import { ageColumnsOf } from './age.ts'
import {
  columnMissing,
  echoOf,
  fromPreset,
  fromText,
  hintsFor,
  missingColumn,
  presetOf,
  unknownColumns,
  type Bound,
  type MissingColumn,
} from './boundColumns.ts'
import { nearest } from './closeness.ts'
import { isLeftWord, tellsConsent } from './consentColumns.ts'
import { bindField, findColumn } from './fields.ts'
import { hideStray, maskFor, maskText, maskUnknown } from './mask.ts'
import { mapMember, memberKey } from './member/mapMember.ts'
import { testValues, type BoundIdentifier, type BoundTest, type MemberBinding, type MemberRules } from './member/memberBinding.ts'
import { presetByName, type Preset } from './presets/index.ts'
import { identifierTypes, type IdentifierType, type Mapped, type Row, type Warning } from './record.ts'
import { trimText } from './text.ts'

export function memberBinder(pipeline: Pipeline, today: Date): (columns: readonly string[]) => Bound {
  const { destination, mapping } = pipeline
  const allow = new Set(mapping.allow)
  const rules: MemberRules = {
    email: {
      wrapped: allow.has('wrapped_email'),
      idnToAscii: allow.has('idn_to_ascii'),
      // On a list of people who are not to be reached, always: whatever form an audience sends, one of these is it.
      bothForms: allow.has('both_idn_forms') || destination.kind === 'do-not-reach',
    },
    bothPhones: allow.has('both_phone_forms'),
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
      const fieldMapping = own ?? (entry === undefined ? undefined : fromPreset(entry, columns))
      if (fieldMapping === undefined) return undefined
      const made = bindField(field, fieldMapping, columns, many)
      for (const index of made.indexes) used.add(index)
      if (own !== undefined) for (const name of made.missing) warnings.push(columnMissing(field, name, columns))
      return made.indexes.length > 0 || fieldMapping.constant !== undefined || fieldMapping.compute !== undefined ? made : undefined
    }
    const test = (field: 'consent' | 'remove', given: ValueTest): BoundTest => {
      const index = findColumn(columns, given.column)
      if (index < 0) missing.push(missingTest(field, given, columns))
      used.add(index)
      return { index, values: testValues(given) }
    }
    const saysWho = presetTests(preset, columns)
    for (const { index } of saysWho) used.add(index)
    if (pipeline.consent === undefined && destination.kind === 'audience') warnings.push(...consentUnknown(preset, columns))
    const { consent, remove } = pipeline
    const onList = destination.kind === 'do-not-reach'
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
      defaultEndMs: destination.kind === 'catalog' ? Number.POSITIVE_INFINITY : endOf(today, destination.expiresIn),
      consent: onList ? [] : consent === undefined ? saysWho : [consent, ...(consent.also ?? [])].map((one) => test('consent', one)),
      ages,
      // Whom the export itself calls reachable has no place on a list of people who are not.
      remove: !onList ? [] : remove === undefined ? saysWho : [test('remove', remove)],
      rules,
    }
    const unread = pipeline.consent === undefined && destination.kind === 'audience' ? leftColumns(columns, used) : []
    return {
      map: unread.length === 0 ? (row) => mapMember(row, binding) : lookingForLeft(unread, (row) => mapMember(row, binding)),
      keyOf: (row) => memberKey(row, binding),
      mask: maskMember(columns, binding),
      warnings: [
        ...warnings,
        ...(pipeline.consent === undefined && destination.kind === 'audience' ? consentColumns(columns, used) : []),
        ...unknownColumns(columns, used, []),
      ],
      missing,
      hints: hintsFor(
        kinds.filter((kind) => kind !== 'handle' && kind !== missing.at(-1)?.field && !identifiers.some((one) => one.kind === kind)),
        columns.filter((_, index) => !used.has(index)),
      ),
      mapping: {
        preset: preset?.name,
        fields: [
          ...[key, ...identifiers, binding.effectiveAt, binding.expiresAt].flatMap((one) =>
            one === undefined ? [] : [{ field: one.field, from: fromText(one, columns) }],
          ),
          ...(['consent', 'remove'] as const).flatMap((field) =>
            binding[field]
              .filter(({ index }) => index >= 0)
              .map(({ index, values }) => ({ field, from: `${columns[index] ?? ''} ${shownValues(values)}` })),
          ),
        ],
      },
      echo: echoOf(
        columns,
        [key, ...identifiers].flatMap((one) => one?.indexes.slice(0, 1) ?? []),
      ),
    }
  }
}

/** Never later than what is sent: a month that is too short for the day ends with its last day. */
function endOf(today: Date, expiresIn: Duration): number {
  if ('ms' in expiresIn) return today.getTime() + expiresIn.ms
  const end = new Date(today)
  end.setUTCDate(1)
  end.setUTCMonth(end.getUTCMonth() + expiresIn.months + 1, 0)
  end.setUTCDate(Math.min(end.getUTCDate(), today.getUTCDate()))
  return end.getTime()
}

function shownValues(values: ReadonlySet<string>): string {
  return [...values].map((value) => (value === '' ? 'empty' : `"${value}"`)).join(' or ')
}

/** Exports often say who has left; unread, these people would be sent (bad-inputs 201). */
function consentColumns(columns: readonly string[], used: ReadonlySet<number>): Warning[] {
  return columns.flatMap((column, index) =>
    !used.has(index) && tellsConsent(column)
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

/** Rows looked at: a column of states shows itself soon, and the rows behind cost nothing. */
const rowsLooked = 2000

/** Columns nobody reads and whose name tells nothing: `status`, `state`, `list`. */
function leftColumns(columns: readonly string[], used: ReadonlySet<number>): number[] {
  return columns.flatMap((column, index) => (used.has(index) || tellsConsent(column) ? [] : [index]))
}

/** Says of rows that their cells tell who left, where the column's name does not: of the first rows, each. */
function lookingForLeft(indexes: readonly number[], map: (row: Row) => Mapped): (row: Row) => Mapped {
  let left = rowsLooked
  return (row) => {
    const mapped = map(row)
    if (left <= 0) return mapped
    left -= 1
    const found: Warning[] = []
    for (const index of indexes) {
      const cell = row.cells[index]
      if (typeof cell !== 'string' || !isLeftWord(cell)) continue
      const field = row.columns[index] ?? ''
      found.push({
        line: row.line,
        code: 'LEFT_UNMAPPED',
        field,
        message: `the column "${hideStray(field)}" holds "${trimText(cell)}", and consent: does not read it`,
      })
    }
    return found.length === 0 ? mapped : { ...mapped, warnings: [...mapped.warnings, ...found] }
  }
}

/** The preset's tests whose columns are there. */
function presetTests(preset: Preset | undefined, columns: readonly string[]): BoundTest[] {
  return (preset?.consent ?? []).flatMap((test) => {
    const index = test.columns.map((name) => findColumn(columns, name)).find((found) => found >= 0)
    return index === undefined ? [] : [{ index, values: testValues(test) }]
  })
}

/** Some exports of a kind leave the column out: then the owner has to say what consent is, and is told so. */
function consentUnknown(preset: Preset | undefined, columns: readonly string[]): Warning[] {
  return (preset?.consent ?? []).flatMap(({ expected, columns: names }) =>
    expected !== true || names.some((name) => findColumn(columns, name) >= 0)
      ? []
      : [
          {
            line: 1,
            code: 'CONSENT_UNKNOWN',
            field: 'consent',
            message: `the export has no column "${names[0]}": every row counts as consenting`,
          },
        ],
  )
}

/** A test reads one column: the mend is the whole setting, with the nearest name where there is one. */
function missingTest(field: 'consent' | 'remove', { column, values }: ValueTest, columns: readonly string[]): MissingColumn {
  const setting = `{ column: ${JSON.stringify(nearest(column, columns) ?? '<column>')}, values: ${JSON.stringify(values)} }`
  const { message } = missingColumn(field, [column], columns)
  return {
    field,
    message,
    mend: field === 'consent' ? `consent: ${setting}` : `map: { remove: ${setting} }`,
  }
}

/** Identifier columns by kind, tests, times and countries as they are, everything else hidden: it may be a name or an address. */
function maskMember(columns: readonly string[], binding: MemberBinding): (row: Row) => readonly string[] {
  const shown = new Set([
    ...binding.consent.map(({ index }) => index),
    ...binding.remove.map(({ index }) => index),
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

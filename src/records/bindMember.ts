/** The header of an export bound to the identifiers, tests and times of a member. */
import type { Duration, Pipeline } from '../pipeline/definition.ts'
import { echoOf, fromText, hintsFor, missingColumn, unknownColumns, type Bound } from './boundColumns.ts'
import { bindIdentifiers } from './member/bindIdentifiers.ts'
import { bindTests, consentUnknown } from './member/bindTests.ts'
import { mapMember, memberKey } from './member/mapMember.ts'
import { maskMember } from './member/maskMember.ts'
import type { MemberBinding, MemberRules } from './member/memberBinding.ts'
import { MemberHeader } from './member/memberHeader.ts'
import { consentColumns, leftColumns, lookingForLeft } from './member/unreadColumns.ts'
import { identifierTypes, type IdentifierType } from './record.ts'

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
    const header = new MemberHeader(pipeline, columns)
    const { preset, used, missing, warnings } = header
    const consentOpen = pipeline.consent === undefined && destination.kind === 'audience'
    if (consentOpen) warnings.push(...consentUnknown(preset, columns))
    const identifiers = bindIdentifiers(header, kinds)
    const key = header.field('key', false)
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
      effectiveAt: destination.kind === 'audience' ? header.field('effective_at', false) : undefined,
      expiresAt: header.field('expires_at', false),
      defaultEndMs: destination.kind === 'catalog' ? Number.POSITIVE_INFINITY : endOf(today, destination.expiresIn),
      ...bindTests(header, today),
      rules,
    }
    const unread = consentOpen ? leftColumns(columns, used) : []
    return {
      map: unread.length === 0 ? (row) => mapMember(row, binding) : lookingForLeft(unread, (row) => mapMember(row, binding)),
      keyOf: (row) => memberKey(row, binding),
      mask: maskMember(columns, binding),
      warnings: [...warnings, ...(consentOpen ? consentColumns(columns, used) : []), ...unknownColumns(columns, used, [])],
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

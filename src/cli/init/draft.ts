import { parse } from 'yaml'
import { UsageError } from '../../errors.ts'
import type { Pipeline } from '../../pipeline/definition.ts'
import { resolvePipeline } from '../../pipeline/resolve.ts'
import { createMapper } from '../../records/createMapper.ts'
import { findColumn } from '../../records/fields.ts'
import { columnCalled } from '../../records/headerWords.ts'
import { presetByName } from '../../records/presets/index.ts'
import { identifierTypes, type Reject, type Warning } from '../../records/record.ts'
import { nearest } from '../nearest.ts'
import { safe, shownAddress } from '../text.ts'
import { consentProposals, type ConsentProposal } from './consentProposals.ts'
import type { Look } from './look.ts'
import type { Kind, Wishes } from './wishes.ts'

/** All that is known before a source is looked at: nothing of it is undefined any more. */
export interface Target {
  readonly name: string
  /** Path of the pipeline file. */
  readonly file: string
  readonly kind: Kind
  readonly target: string
  /** Undefined for catalogs. */
  readonly account: string | undefined
}

/** A pipeline as it would be written, and what the rows that were looked at become by it. */
export interface Draft {
  readonly pipeline: Pipeline
  /** As a pipeline file writes it, `map`, `preset`, `options`, `consent` only where they are needed. */
  readonly settings: Settings
  /** Settings that may fit, one `field: column` each, for a person to decide. */
  readonly hints: readonly string[]
  readonly recognized: {
    readonly preset: string | undefined
    readonly fields: readonly { readonly field: string; readonly from: string }[]
  }
  readonly unused: readonly string[]
  readonly consent: readonly ConsentProposal[]
  readonly valid: number
  readonly suppressed: number
  readonly rejects: readonly Reject[]
  /** Without these answers no row is of use, or a required field stays empty. */
  readonly needed: readonly Question[]
  /** Answers that would help. */
  readonly wanted: readonly Question[]
}

export interface Settings {
  readonly source: { readonly url: string; readonly encoding?: string }
  readonly preset?: string
  readonly map?: Readonly<Record<string, unknown>>
  readonly options?: { readonly default_currency: string }
  readonly consent?: unknown
  readonly destination: Readonly<Record<string, string>>
}

export interface Question {
  /** The flag that answers it, with an example: `--map key=COLUMN`. */
  readonly flag: string
  /** Why it is asked, in a few words. */
  readonly reason: string
  readonly text: string
  /** What Enter alone means; `-` declines it. */
  readonly proposed?: string
  /** The wishes with the answer in them. */
  readonly answered: (answer: string) => Partial<Wishes>
}

/**
 * Drafts a pipeline for a source from its first rows and from what was wished. Pure; call it again with more wishes.
 *
 * @throws {UsageError} `INVALID_VALUE` where a flag names a column, field or id that cannot be
 */
export function draftPipeline(look: Look, target: Target, wishes: Wishes): Draft {
  const destination = destinationOf(target)
  const source = { url: look.uri, ...(wishes.encoding === undefined ? {} : { encoding: wishes.encoding }) }
  checkColumns(look, wishes)
  const first = createMapper(resolved({ source, destination }, target))
  const known = look.columns.length === 0 ? { missing: [], hints: [] } : first.propose(look.columns)
  const shown = first.describe(look.columns)
  const open = known.missing.filter(
    ({ field, asks }) => asks !== undefined && wishes.map[field] === undefined && wishes.set[field] === undefined,
  )
  // Of a list of people the address is what tells one row from another, where nothing else does.
  const byAddress = open.some(({ field }) => field === 'key') ? columnCalled('email', look.columns) : undefined
  const hinted = [...known.hints.map((hint) => Object.keys(parse(`{ ${hint} }`) as object)).flat(), ...Object.keys(wishes.map)]
  const reachable = target.kind !== 'catalog' && hinted.some((field) => (identifierTypes as readonly string[]).includes(field))
  const openColumns = open.filter(
    ({ field, asks }) => asks === 'column' && !(field === 'key' && byAddress !== undefined) && !(field === 'email' && reachable),
  )
  const openPrefix = open.find(({ asks }) => asks === 'prefix')

  const map: Record<string, unknown> = Object.create(null)
  for (const { setting, asks } of known.missing)
    if (asks === undefined && setting !== undefined) Object.assign(map, parse(`{ ${setting} }`))
  const needsAny = known.missing.length > 0
  if (needsAny)
    for (const hint of known.hints) for (const [field, value] of Object.entries(parse(`{ ${hint} }`) as object)) map[field] ??= value
  if (byAddress !== undefined && wishes.map['key'] === undefined) map['key'] = byAddress
  if (openPrefix?.setting !== undefined)
    Object.assign(map, wishes.shop === undefined ? parse(`{ ${openPrefix.setting} }`) : withShop(openPrefix.setting, wishes.shop))
  // Stands in for the columns that are asked for, so that the other questions are known at the same time.
  for (const { field } of openColumns) map[field] = { const: standIns[field] ?? 'x' }
  if (look.needsMap) for (const { field, from } of shown.fields) map[field] ??= from
  for (const [field, value] of Object.entries(wishes.set)) map[field] = { const: value }
  for (const [field, columns] of Object.entries(wishes.map)) map[field] = columns.length === 1 ? columns[0] : columns
  const preset =
    target.kind === 'catalog' || Object.keys(map).length + Number(wishes.country !== undefined) === 0 ? undefined : shown.preset
  withCountry(map, look, wishes.country, preset)

  const settings: Settings = {
    source,
    ...(preset === undefined ? {} : { preset }),
    ...(Object.keys(map).length === 0 ? {} : { map: { ...map } }),
    ...(wishes.consent.length === 0 ? {} : { consent: wishes.consent.length === 1 ? wishes.consent[0] : wishes.consent }),
    ...(wishes.currency === undefined ? {} : { options: { default_currency: wishes.currency.toUpperCase() } }),
    destination,
  }
  const pipeline = resolved(settings, target)
  const mapper = createMapper(pipeline)
  const warnings: Warning[] = []
  const rejects: Reject[] = []
  let valid = 0
  let suppressed = 0
  if (look.columns.length > 0) {
    warnings.push(...mapper.start(look.columns, look.uri))
    for (const row of look.rows) {
      const mapped = mapper.map(row)
      warnings.push(...mapped.warnings)
      if (mapped.reject) rejects.push(mapped.reject)
      else if (mapped.record?.kind === 'member' && !mapped.record.wanted) suppressed++
      else valid++
    }
  }
  const { needed, wanted } = questionsAbout(look, target.kind, rejects, warnings, wishes)
  const consent = consentProposals(look, warnings)
  return {
    pipeline,
    settings,
    hints: needsAny ? [] : known.hints,
    recognized: mapper.describe(look.columns),
    unused: warnings.flatMap(({ code, field }) => (code === 'COLUMN_UNKNOWN' ? [field] : [])),
    consent,
    valid,
    suppressed,
    rejects,
    needed: [
      ...openColumns.map(({ field }) => columnQuestion(field, target.kind, look, wishes)),
      ...(openPrefix === undefined || wishes.shop !== undefined ? [] : [shopQuestion]),
      ...needed,
    ],
    wanted: [
      ...(byAddress !== undefined && look.columns.length > 1
        ? [
            {
              ...columnQuestion('key', target.kind, look, wishes),
              reason: `"${safe(byAddress)}" tells one row from another, as nothing is called key`,
              proposed: byAddress,
            },
          ]
        : []),
      ...wanted,
      ...(target.kind === 'audience' && wishes.consent.length === 0 ? consent.slice(0, 1).map((one) => consentQuestion(one)) : []),
    ],
  }
}

function destinationOf({ kind, target, account }: Target): Readonly<Record<string, string>> {
  if (kind === 'catalog') return { kind, catalog_id: target }
  return { kind, account_id: account ?? '', [kind === 'audience' ? 'audience_id' : 'list_id']: target }
}

/** Whatever is refused here was said by a flag: the columns were looked at, the rest is ours. */
function resolved(settings: Settings, target: Target): Pipeline {
  const { pipeline, problems } = resolvePipeline(settings, target.name, target.file)
  const [first] = problems
  if (first === undefined) return pipeline as Pipeline
  throw new UsageError('INVALID_VALUE', `${first.path}: ${first.message}. Nothing was written.`, {
    where: first.path,
    mend: 'sluice help init',
  })
}

function checkColumns(look: Look, wishes: Wishes): void {
  const named = [...Object.values(wishes.map).flat(), ...wishes.consent.map(({ column }) => column)]
  const unknown = named.find((column) => look.columns.length > 0 && findColumn(look.columns, column) < 0)
  if (unknown === undefined) return
  const near = nearest(unknown, look.columns)
  throw new UsageError('INVALID_VALUE', `the source has no column "${safe(unknown.slice(0, 60))}". Nothing was written.`, {
    where: shownAddress(look.uri),
    mend: near === undefined ? `one of: ${listed(look)}` : `name the column "${safe(near)}"`,
  })
}

/** A phone number is read by the country of its own column, or by the one that was named. */
function withCountry(map: Record<string, unknown>, look: Look, country: string | undefined, preset: string | undefined): void {
  const phone = map['phone_number']
  const known = country ?? columnCalled('default_country', look.columns)
  if (typeof phone === 'string' && known !== undefined) map['phone_number'] = { column: phone, default_country: known }
  else if (Array.isArray(phone) && known !== undefined) map['phone_number'] = { columns: phone, default_country: known }
  else if (phone === undefined && country !== undefined && preset !== undefined) {
    const names = presetByName(preset)?.map['phone_number']?.columns ?? []
    const columns = names.flatMap((name) => look.columns[findColumn(look.columns, name)] ?? [])
    if (columns.length > 0) map['phone_number'] = { columns, default_country: country }
  }
}

/** `link: { column: "Handle", transform: { prefix: { with: "…" } } }` with the shop's own address. */
function withShop(setting: string, shop: string): object {
  const given = /with: "([^"]*)"/.exec(setting)?.[1] ?? ''
  const { pathname, search } = new URL(given)
  const origin = URL.canParse(shop) ? new URL(shop) : undefined
  if (origin?.protocol !== 'https:')
    throw new UsageError('INVALID_VALUE', '--shop takes the https address of the shop. Nothing was written.', {
      where: '--shop',
      mend: '--shop https://shop.example.com',
    })
  // An address with a path of its own is taken as the whole beginning.
  const prefix = origin.pathname === '/' && origin.search === '' ? `${origin.origin}${pathname}${search}` : shop
  return parse(`{ ${setting.replace(given, () => prefix)} }`) as object
}

/** What passes for a field whose column is still asked for. */
const standIns: Readonly<Record<string, string>> = {
  availability: 'in stock',
  price: '1.00 EUR',
  link: 'https://shop.example.com',
  image_link: 'https://shop.example.com',
  email: 'stand.in@example.com',
}

const shopQuestion: Question = {
  flag: '--shop https://shop.example.com',
  reason: 'the export holds no links',
  text: 'Address of the shop, before the links of its products (https://…)',
  answered: (shop) => ({ shop }),
}

function columnQuestion(field: string, kind: Kind, look: Look, { map, set }: Wishes): Question {
  const isKey = field === 'key'
  // People differ in all of their fields, products may share some.
  const orValue = kind === 'catalog' && field !== 'id'
  return {
    flag: `--map ${field}=COLUMN`,
    reason: `no column is called ${field}${orValue ? ` (of one value for all rows: --set ${field}=VALUE)` : ''}`,
    text: `Which column is ${field}${isKey ? ', the number or name that tells one row from another' : ''}${orValue ? ', or =VALUE for every row' : ''}? There are ${listed(look)}`,
    answered: (answer) =>
      orValue && answer.startsWith('=') ? { set: { ...set, [field]: answer.slice(1).trim() } } : { map: { ...map, [field]: [answer] } },
  }
}

function consentQuestion({ column, values, seen }: ConsentProposal): Question {
  return {
    flag: `--consent ${JSON.stringify(`${column}=${values.join(',')}`)}`,
    reason: `"${safe(column)}" may say who may be reached`,
    text: `Which values of "${safe(column)}" mean that a person may be reached? ${seen.map(({ value, count }) => `${JSON.stringify(value)} ${count}`).join(', ')}`,
    proposed: values.join(','),
    answered: (given) => ({ consent: [{ column, values: given.split(',').map((value) => value.trim()) }] }),
  }
}

/** A product needs one of them (spec 2.2). */
const tellingFields: readonly string[] = ['brand', 'gtin', 'mpn']

/** What only the owner knows, and half of the rows or more lack. */
function questionsAbout(
  look: Look,
  kind: Kind,
  rejects: readonly Reject[],
  warnings: readonly Warning[],
  wishes: Wishes,
): { readonly needed: readonly Question[]; readonly wanted: readonly Question[] } {
  const share = (found: readonly { readonly code: string }[], code: string) =>
    found.filter((one) => one.code === code).length / look.rows.length
  const needed: Question[] = []
  const wanted: Question[] = []
  if (wishes.currency === undefined && share(rejects, 'PRICE_CURRENCY_MISSING') >= 0.5)
    needed.push({
      flag: '--currency EUR',
      reason: 'the prices have no currency',
      text: 'Currency of the prices, which have none (EUR, USD …)',
      answered: (currency) => ({ currency }),
    })
  if (
    ![...Object.keys(wishes.map), ...Object.keys(wishes.set)].some((field) => tellingFields.includes(field)) &&
    share(rejects, 'IDENTIFIER_MISSING') >= 0.5
  )
    needed.push(columnQuestion('brand', kind, look, wishes))
  const country: Question = {
    flag: '--country DE',
    reason: 'phone numbers cannot be read without a country',
    text: 'Country of the phone numbers, most of which cannot be read without one (DE, US …)',
    answered: (given) => ({ country: given }),
  }
  if (wishes.country === undefined) {
    if (share(rejects, 'PHONE_COUNTRY_MISSING') >= 0.5) needed.push(country)
    // Beside an address that serves, a number that cannot be read is left out with a note.
    else if (
      share(
        warnings.filter(({ field }) => field === 'phone_number'),
        'IDENTIFIER_DROPPED',
      ) >= 0.5
    )
      wanted.push(country)
  }
  return { needed, wanted }
}

/** The columns of a source for a sentence, twenty at the most. */
export function listed({ columns }: Look): string {
  return `${columns
    .slice(0, 20)
    .map((column) => safe(column.slice(0, 60)))
    .join(', ')}${columns.length > 20 ? ' …' : ''}`
}

import { parse } from 'yaml'
import { UsageError } from '../../errors.ts'
import type { MissingColumn } from '../../mapping/boundColumns.ts'
import type { DescribingMapper } from '../../mapping/createMapper.ts'
import { findColumn, firstText } from '../../mapping/fields.ts'
import { repeatsOf } from '../../mapping/repeatedColumns.ts'
import { columnCalled } from '../../mapping/headerWords.ts'
import { presetByName } from '../../mapping/presets/index.ts'
import { identifierTypes } from '../../model/record.ts'
import type { Look } from './look.ts'
import { peopleColumns, tellsRowsApart, type PeopleColumns } from './peopleColumns.ts'
import type { Kind, Wishes } from './wishes.ts'

/** What the `map:` of a source has to say, as far as its columns and the wishes tell. */
export interface ProposedMap {
  /** As a pipeline file writes it; empty where everything maps by itself. */
  readonly map: Readonly<Record<string, unknown>>
  /** For people's exports of a known kind that need a map beside: without it the preset would no longer count. */
  readonly preset: string | undefined
  /** The kind of export that its header shows, named or not. */
  readonly known: string | undefined
  /** Required fields whose column is to be asked for; something stands in for them in `map`. */
  readonly openFields: readonly string[]
  /** The address of the shop is to be asked for. */
  readonly needsShop: boolean
  /** The columns of addresses, where they are the key for want of another. */
  readonly keyedBy: readonly string[] | undefined
  /** Settings for optional fields, one `field: column` each, where nothing required is missing. */
  readonly hints: readonly string[]
}

/**
 * Pure. `mapper`: that of the source without any map.
 *
 * @throws {UsageError} `INVALID_VALUE` for an address of a shop that is none
 */
export function proposedMap(look: Look, kind: Kind, mapper: DescribingMapper, wishes: Wishes): ProposedMap {
  const { missing, hints } = look.columns.length === 0 ? { missing: [], hints: [] } : mapper.propose(look.columns)
  const shown = mapper.describe(look.columns)
  const open = missing.filter(({ field, asks }) => asks !== undefined && wishes.map[field] === undefined && wishes.set[field] === undefined)
  const people = kind === 'catalog' ? undefined : peopleColumns(look, shown.preset)
  const map: Record<string, unknown> = Object.create(null)
  for (const { setting, asks } of missing) if (asks === undefined && setting !== undefined) Object.assign(map, settingsIn(setting))
  // A header in other words is proposed as a whole, for a person to read. Where a mapping is given, optional fields stay comments.
  const proposesHints = missing.length > 0 && Object.keys(wishes.map).length === 0
  if (proposesHints) for (const hint of hints) for (const [field, value] of Object.entries(settingsIn(hint))) map[field] ??= value
  if (people !== undefined) addPeople(map, people, shown.preset, look)
  const keyedBy =
    kind === 'audience' && people !== undefined && shown.preset === undefined && wishes.map['key'] === undefined
      ? keyOf(map, people, look)
      : undefined
  if (keyedBy !== undefined) map['key'] = keyedBy.length === 1 ? keyedBy[0] : keyedBy
  const prefixed = open.find(({ asks }) => asks === 'prefix')
  if (prefixed !== undefined) Object.assign(map, linkOf(prefixed, wishes.shop))
  // A currency column is read beside the price, without a field of its own.
  if (look.needsMap) for (const { field, from } of shown.fields) if (field !== 'currency') map[field] ??= from
  for (const [field, value] of Object.entries(wishes.set)) map[field] = { const: value }
  for (const [field, columns] of Object.entries(wishes.map)) map[field] = columns.length === 1 ? columns[0] : columns
  withRepeats(map, look, shown.fields)
  const reachable = kind !== 'catalog' && identifierTypes.some((type) => map[type] !== undefined)
  const openFields = open
    .filter(({ field, asks }) => asks === 'column' && map[field] === undefined && !(field === 'email' && reachable))
    .map(({ field }) => field)
  // So that what else is missing is known at the same time.
  for (const field of openFields) map[field] = { const: standIns[field] ?? 'x' }
  const needsMap = Object.keys(map).length > 0 || wishes.country !== undefined
  const preset = kind !== 'catalog' && needsMap ? shown.preset : undefined
  withCountry(map, look, wishes.country, preset)
  return {
    map,
    preset,
    known: shown.preset,
    openFields,
    needsShop: prefixed !== undefined && wishes.shop === undefined,
    keyedBy,
    hints: proposesHints ? [] : hints.filter((hint) => !Object.keys(settingsIn(hint)).some((field) => map[field] !== undefined)),
  }
}

/** Every column of emails and phone numbers is read, whatever it is called: an unread one loses people. */
function addPeople(map: Record<string, unknown>, people: PeopleColumns, preset: string | undefined, look: Look): void {
  for (const field of ['email', 'phone_number'] as const) {
    const columns = people[field]
    const known = preset === undefined ? [] : (presetByName(preset)?.map[field]?.columns ?? [])
    // What the preset reads by itself needs no setting.
    if (columns.every((column) => known.some((name) => findColumn([column], name) === 0))) continue
    const named = typeof map[field] === 'string' && !columns.includes(map[field]) && holdsDigests(look, map[field]) ? [map[field]] : []
    const all = [...named, ...columns]
    map[field] = all.length === 1 ? all[0] : all
  }
}

/** Digests are no addresses to look at, and the name of their column is to be believed. */
function holdsDigests(look: Look, column: string): boolean {
  return look.rows.some((row) => /^[0-9a-f]{64}$/i.test(firstText(row.cells[row.columns.indexOf(column)]) ?? ''))
}

/**
 * Columns that tell one row from another, where the one called so does not in the rows that were looked at: the first email,
 * and the first phone number for those who have no email. Undefined where nothing has to stand in.
 */
function keyOf(
  map: Readonly<Record<string, unknown>>,
  { email, phone_number: phone }: PeopleColumns,
  look: Look,
): readonly string[] | undefined {
  const { key } = map
  const named = typeof key === 'string' ? key : look.columns.find((column) => column.toLowerCase() === 'key')
  if (named !== undefined && (look.rows.length === 0 || tellsRowsApart(look, named))) return undefined
  const addresses = [...email.slice(0, 1), ...phone.slice(0, 1)]
  if (addresses.length > 0) return addresses
  const called = columnCalled('email', look.columns)
  return named === undefined && called !== undefined ? [called] : undefined
}

/** Columns whose name stands twice are read in their order: the first that is filled, or all identifiers. */
function withRepeats(map: Record<string, unknown>, look: Look, fields: readonly { readonly field: string; readonly from: string }[]): void {
  for (const { field, from } of fields)
    if (repeatsOf(from, look.columns).length > 0 && !['consent', 'remove', 'currency'].includes(field)) map[field] ??= from
  for (const [field, value] of Object.entries(map)) {
    if (typeof value !== 'string') continue
    const name = look.columns[findColumn(look.columns, value)] ?? value
    const repeats = repeatsOf(name, look.columns)
    if (repeats.length > 0) map[field] = [name, ...repeats]
  }
}

function settingsIn(setting: string): Readonly<Record<string, unknown>> {
  // Ours: `field: column` and its like, as boundColumns.ts writes them for people to paste.
  return parse(`{ ${setting} }`) as Readonly<Record<string, unknown>>
}

/** What passes for a field whose column is still asked for. */
const standIns: Readonly<Record<string, string>> = {
  availability: 'in stock',
  price: '1.00 EUR',
  link: 'https://shop.example.com',
  image_link: 'https://shop.example.com',
  email: 'stand.in@example.com',
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

/** `link: { column: "Handle", transform: { prefix: { with: "…" } } }` with the shop's own address, or with the example's. */
function linkOf({ setting = '' }: MissingColumn, shop: string | undefined): Readonly<Record<string, unknown>> {
  if (shop === undefined) return settingsIn(setting)
  const given = /with: "([^"]*)"/.exec(setting)?.[1] ?? ''
  const { pathname, search } = new URL(given)
  const origin = URL.canParse(shop) ? new URL(shop) : undefined
  if (origin?.protocol !== 'https:')
    throw new UsageError('INVALID_VALUE', '--shop takes the https address of the shop. Nothing was written.', {
      where: '--shop',
      hint: '--shop https://shop.example.com',
    })
  // An address with a path of its own is taken as the whole beginning.
  const prefix = origin.pathname === '/' && origin.search === '' ? `${origin.origin}${pathname}${search}` : shop
  return settingsIn(setting.replace(given, () => prefix))
}

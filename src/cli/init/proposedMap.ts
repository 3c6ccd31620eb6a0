import { parse } from 'yaml'
import { UsageError } from '../../errors.ts'
import type { MissingColumn } from '../../records/boundColumns.ts'
import type { DescribingMapper } from '../../records/createMapper.ts'
import { findColumn } from '../../records/fields.ts'
import { columnCalled } from '../../records/headerWords.ts'
import { presetByName } from '../../records/presets/index.ts'
import { identifierTypes } from '../../records/record.ts'
import type { Look } from './look.ts'
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
  /** The column of addresses, where they are the key for want of another. */
  readonly keyedBy: string | undefined
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
  // Of a list of people the address is what tells one row from another, where nothing else does.
  const keyedBy = open.some(({ field }) => field === 'key') ? columnCalled('email', look.columns) : undefined
  const map: Record<string, unknown> = Object.create(null)
  for (const { setting, asks } of missing) if (asks === undefined && setting !== undefined) Object.assign(map, settingsIn(setting))
  // The rest of a header that had to be guessed at is guessed at too; of one that is known, people decide.
  if (missing.length > 0) for (const hint of hints) for (const [field, value] of Object.entries(settingsIn(hint))) map[field] ??= value
  if (keyedBy !== undefined) map['key'] = keyedBy
  const prefixed = open.find(({ asks }) => asks === 'prefix')
  if (prefixed !== undefined) Object.assign(map, linkOf(prefixed, wishes.shop))
  if (look.needsMap) for (const { field, from } of shown.fields) map[field] ??= from
  for (const [field, value] of Object.entries(wishes.set)) map[field] = { const: value }
  for (const [field, columns] of Object.entries(wishes.map)) map[field] = columns.length === 1 ? columns[0] : columns
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
    hints: missing.length > 0 ? [] : hints,
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
      mend: '--shop https://shop.example.com',
    })
  // An address with a path of its own is taken as the whole beginning.
  const prefix = origin.pathname === '/' && origin.search === '' ? `${origin.origin}${pathname}${search}` : shop
  return settingsIn(setting.replace(given, () => prefix))
}

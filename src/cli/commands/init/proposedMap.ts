import { parse } from 'yaml'
import { UsageError } from '../../../errors.ts'
import type { MissingColumn } from '../../../mapping/boundColumns.ts'
import type { DescribingMapper } from '../../../mapping/mapper.ts'
import { nameWords } from '../../../mapping/consent/columnName.ts'
import { findColumn, firstText, normalizeHeader } from '../../../mapping/fields.ts'
import { repeatsOf } from '../../../mapping/repeatedColumns.ts'
import { columnForField } from '../../../mapping/headerWords.ts'
import { presetByName } from '../../../mapping/presets/index.ts'
import { identifierTypes } from '../../../model/record.ts'
import { recordOf } from '../../../unknownValue.ts'
import type { Inspection } from './inspection.ts'
import { peopleColumns, isUnique, type PeopleColumns } from './peopleColumns.ts'
import type { InitOptions } from './options.ts'
import type { Destination } from '../../../destinations/destination.ts'

/** Proposed `map:` of a source, from its columns and the options. */
export interface ProposedMap {
  /** The `map:` of the pipeline file; empty if all columns map automatically. */
  readonly map: Readonly<Record<string, unknown>>
  /** Preset to write beside `map`: for people, a `map:` without a `preset:` disables presets. Undefined for products. */
  readonly preset: string | undefined
  /** Preset that applies without a `map:`; undefined if none applies. May be set although `preset` is undefined. */
  readonly recognizedPreset: string | undefined
  /** Required fields without a column; `map` has a placeholder for each. */
  readonly openFields: readonly string[]
  /** True if links need the address of the shop, and the options do not have it. */
  readonly needsShop: boolean
  /**
   * Columns of emails and phone numbers that are used as the key. Undefined if a key column or a preset is used, or if the destination
   * type removes by identifiers.
   */
  readonly keyedBy: readonly string[] | undefined
  /** Settings for optional fields, one `field: column` each, that are not in `map`. */
  readonly suggestions: readonly string[]
}

/**
 * Proposes a `map:`. Pure. `mapper`: the mapper of the source without a map.
 *
 * @throws {UsageError} `INVALID_VALUE` for an invalid address of the shop
 */
export function proposedMap(inspection: Inspection, type: Destination, mapper: DescribingMapper, options: InitOptions): ProposedMap {
  const { missing, suggestions } =
    inspection.columns.length === 0 ? { missing: [], suggestions: [] } : mapper.proposeSettings(inspection.columns)
  const described = mapper.describe(inspection.columns)
  const openMissing = missing.filter(
    ({ field, unknownPart }) => unknownPart !== undefined && options.map[field] === undefined && options.set[field] === undefined,
  )
  const people = type.keys === 'products' ? undefined : peopleColumns(inspection, described.preset)
  const map: Record<string, unknown> = Object.create(null)
  for (const { setting, unknownPart } of missing)
    if (unknownPart === undefined && setting !== undefined) Object.assign(map, settingsIn(setting))
  // Optional fields are written only if required fields are missing and the user gave no mapping. Otherwise they are comments.
  const writesSuggestions = missing.length > 0 && Object.keys(options.map).length === 0
  const hasPeriod = hasSalePeriod(inspection.columns)
  const written = writesSuggestions ? suggestions.filter((text) => !(hasPeriod && 'sale_price' in settingsIn(text))) : []
  for (const suggestion of written) for (const [field, value] of Object.entries(settingsIn(suggestion))) map[field] ??= value
  if (people !== undefined) addPeople(map, people, described.preset, inspection)
  const keyedBy =
    type.removesBy === 'key' && people !== undefined && described.preset === undefined && options.map['key'] === undefined
      ? identifiersAsKey(map, people, inspection)
      : undefined
  if (keyedBy !== undefined) map['key'] = keyedBy.length === 1 ? keyedBy[0] : keyedBy
  const prefixed = openMissing.find(({ unknownPart }) => unknownPart === 'prefix')
  if (prefixed !== undefined) Object.assign(map, linkWithShop(prefixed, options.shop))
  // A currency column is read together with the price and has no field of its own.
  if (inspection.needsMap) for (const { field, from } of described.fields) if (field !== 'currency') map[field] ??= from
  for (const [field, value] of Object.entries(options.set)) map[field] = { const: value }
  for (const [field, columns] of Object.entries(options.map)) map[field] = columns.length === 1 ? columns[0] : columns
  addRepeats(map, inspection, described.fields)
  const hasIdentifier = people !== undefined && identifierTypes.some((type) => map[type] !== undefined)
  const openFields = openMissing
    .filter(({ field, unknownPart }) => unknownPart === 'column' && map[field] === undefined && !(field === 'email' && hasIdentifier))
    .map(({ field }) => field)
  // Placeholders for open fields, so that other problems are found in the same pass.
  for (const field of openFields) map[field] = { const: placeholders[field] ?? 'x' }
  const writesMap = Object.keys(map).length > 0 || options.country !== undefined
  const preset = people !== undefined && writesMap ? described.preset : undefined
  addCountry(map, inspection, options.country, preset)
  return {
    map,
    preset,
    recognizedPreset: described.preset,
    openFields,
    needsShop: prefixed !== undefined && options.shop === undefined,
    keyedBy,
    suggestions: suggestions.filter((suggestion) => !Object.keys(settingsIn(suggestion)).some((field) => map[field] !== undefined)),
  }
}

/**
 * Returns true if columns such as `special_price_from_date` have the period of the sale price. Without them, a sale price would be sent
 * before and after its period.
 */
function hasSalePeriod(columns: readonly string[]): boolean {
  return columns.some((column) => salePeriod.test(nameWords(column)) && normalizeHeader(column) !== 'sale_price_effective_date')
}

const salePeriod =
  /\b(?:special|sale|offer|discount|promo\w*|angebots?\w*|aktions?\w*|sonder\w*)\b.*\b(?:from|to|starts?|ends?|until|till|dates?|von|bis|ab)\b/

/** Maps every column of emails and phone numbers. Identifiers of an unmapped column would not be sent. */
function addPeople(map: Record<string, unknown>, people: PeopleColumns, preset: string | undefined, inspection: Inspection): void {
  for (const field of ['email', 'phone_number'] as const) {
    const columns = people[field]
    const columnsOfPreset = preset === undefined ? [] : (presetByName(preset)?.map[field]?.columns ?? [])
    // The preset reads its own columns without a setting.
    if (columns.every((column) => columnsOfPreset.some((name) => findColumn([column], name) === 0))) continue
    // The values of digests do not show their type, so a column of digests that was mapped by its name is kept.
    const proposed =
      typeof map[field] === 'string' && !columns.includes(map[field]) && hasDigests(inspection, map[field]) ? [map[field]] : []
    const all = [...proposed, ...columns]
    map[field] = all.length === 1 ? all[0] : all
  }
}

/** Returns true if an inspected row has a SHA-256 digest in the column. */
function hasDigests(inspection: Inspection, column: string): boolean {
  return inspection.rows.some((row) => /^[0-9a-f]{64}$/i.test(firstText(row.cells[row.columns.indexOf(column)]) ?? ''))
}

/**
 * Returns columns to use as the key if the key column is missing, not unique or partly empty. Takes the first column of emails and the
 * first of phone numbers. Without such columns and without a key column, returns a column named like an email. Otherwise undefined.
 */
function identifiersAsKey(
  map: Readonly<Record<string, unknown>>,
  { email, phone_number: phone }: PeopleColumns,
  inspection: Inspection,
): readonly string[] | undefined {
  const { key } = map
  const named = typeof key === 'string' ? key : inspection.columns.find((column) => column.toLowerCase() === 'key')
  if (named !== undefined && (inspection.rows.length === 0 || isUnique(inspection, named))) return undefined
  const addresses = [...email.slice(0, 1), ...phone.slice(0, 1)]
  if (addresses.length > 0) return addresses
  const namedEmail = columnForField('email', inspection.columns)
  return named === undefined && namedEmail !== undefined ? [namedEmail] : undefined
}

/** Maps each field to all columns of a repeated name, in their order. A run uses the first filled cell; for identifiers, all cells. */
function addRepeats(
  map: Record<string, unknown>,
  inspection: Inspection,
  fields: readonly { readonly field: string; readonly from: string }[],
): void {
  for (const { field, from } of fields)
    if (repeatsOf(from, inspection.columns).length > 0 && !['consent', 'remove', 'currency'].includes(field)) map[field] ??= from
  for (const [field, value] of Object.entries(map)) {
    if (typeof value !== 'string') continue
    const name = inspection.columns[findColumn(inspection.columns, value)] ?? value
    const repeats = repeatsOf(name, inspection.columns)
    if (repeats.length > 0) map[field] = [name, ...repeats]
  }
}

/** Parses settings such as `field: column`. `$${` in them stands for `${`. */
function settingsIn(setting: string): Readonly<Record<string, unknown>> {
  // `setting` is YAML that boundColumns.ts wrote.
  return recordOf(parse(`{ ${setting.replaceAll('$${', () => '${')} }`))
}

/** Valid placeholders of fields whose column is still unknown. */
const placeholders: Readonly<Record<string, string>> = {
  availability: 'in stock',
  price: '1.00 EUR',
  link: 'https://shop.example.com',
  image_link: 'https://shop.example.com',
  email: 'stand.in@example.com',
}

/** Adds the default country of phone numbers: `--country`, else a country column. */
function addCountry(map: Record<string, unknown>, inspection: Inspection, country: string | undefined, preset: string | undefined): void {
  const phone = map['phone_number']
  const defaultCountry = country ?? columnForField('default_country', inspection.columns)
  if (typeof phone === 'string' && defaultCountry !== undefined) map['phone_number'] = { column: phone, default_country: defaultCountry }
  else if (Array.isArray(phone) && defaultCountry !== undefined) map['phone_number'] = { columns: phone, default_country: defaultCountry }
  else if (phone === undefined && country !== undefined && preset !== undefined) {
    const names = presetByName(preset)?.map['phone_number']?.columns ?? []
    const columns = names.flatMap((name) => inspection.columns[findColumn(inspection.columns, name)] ?? [])
    if (columns.length > 0) map['phone_number'] = { columns, default_country: country }
  }
}

/**
 * Returns `link: { column: "Handle", transform: { prefix: { with: "…" } } }` with the address of the shop, or with an example.
 *
 * @throws {UsageError} `INVALID_VALUE` unless the address is https
 */
function linkWithShop({ setting = '' }: MissingColumn, shop: string | undefined): Readonly<Record<string, unknown>> {
  if (shop === undefined) return settingsIn(setting)
  const examplePrefix = /with: "([^"]*)"/.exec(setting)?.[1] ?? ''
  const { pathname, search } = new URL(examplePrefix)
  const origin = URL.canParse(shop) ? new URL(shop) : undefined
  if (origin?.protocol !== 'https:')
    throw new UsageError('INVALID_VALUE', '--shop takes the https address of the shop. Nothing was written.', {
      where: '--shop',
      hint: '--shop https://shop.example.com',
    })
  // An address with a path or a query is used as the whole prefix.
  const prefix = origin.pathname === '/' && origin.search === '' ? `${origin.origin}${pathname}${search}` : shop
  return settingsIn(setting.replace(examplePrefix, () => prefix))
}

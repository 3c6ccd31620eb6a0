/** Computes the packed identifiers and record keys that find a value in the database, such as the email that `explain` gets. */
import { countryCode } from './identifiers/country.ts'
import { hashKey, keyText, packDigest, hashIdentifier, packPlain } from './identifiers/digest.ts'
import { everyForm, normalizeIdentifier } from './identifiers/normalize.ts'
import { hasNumberingPlan } from './identifiers/phoneFast.ts'
import type { FieldMapping, Pipeline } from '../model/pipeline.ts'
import { identifierTypes, type IdentifierType, type PackedIdentifier } from '../model/record.ts'
import { normalizeHeader, readsCells, type PresetField } from './fields.ts'
import { presets } from './presets/index.ts'
import { trimText } from './text.ts'

/**
 * Returns the packed identifiers of a raw value, or of a SHA-256 in hex. There is one for each form that some setting produces, the default
 * form first (docs/decisions/both-forms.md). Empty if the value is not usable, or is an email with a name or `mailto:`. `country`: for
 * phone numbers without `+`; undefined if there is none.
 */
export function packedForms(type: IdentifierType, text: string, country?: string): readonly PackedIdentifier[] {
  const trimmed = trimText(text)
  if (type !== 'partner_user_id' && /^[0-9a-f]{64}$/i.test(trimmed)) return [packDigest(type, trimmed.toLowerCase())]
  return normalizedForms(type, trimmed, country).map((form) => (type === 'partner_user_id' ? packPlain(form) : hashIdentifier(type, form)))
}

/** Returns the texts that `packedForms` packs; empty for a digest. */
function normalizedForms(type: IdentifierType, text: string, country: string | undefined): readonly string[] {
  const result = normalizeIdentifier(type, text, country, everyForm)
  return 'code' in result ? [] : [result.text, ...(result.otherForm === undefined ? [] : [result.otherForm])]
}

/**
 * Returns the identifier types of the key's columns, by `map:` or by the preset. Empty if no identifier has a column of the key, or if the
 * key is a constant, computed or transformed. The header is not known here: without `map:` and `preset:`, returns the types of every preset
 * that may be recognized.
 */
function keyTypesOf({ map, preset: name }: Pick<Pipeline, 'map' | 'preset'>): ReadonlySet<IdentifierType> {
  if (name === undefined && Object.keys(map).length > 0) return new Set(keyTypesIn(map))
  const possible = presets.filter((preset) => (name === undefined ? preset.records === 'members' : preset.name === name))
  return new Set(possible.flatMap((preset) => keyTypesIn({ ...preset.map, ...map })))
}

/** Returns the identifier types that share a column with the key. Names that are equal by `normalizeHeader` may be one column. */
function keyTypesIn(fields: Readonly<Record<string, PresetField | FieldMapping>>): readonly IdentifierType[] {
  const { key } = fields
  if (key === undefined || !readsCells(key)) return []
  const columns = new Set(key.columns.map(normalizeHeader))
  return identifierTypes.filter((type) => fields[type]?.columns.some((column) => columns.has(normalizeHeader(column))))
}

/** Returns the fixed `default_country` of a pipeline. Undefined without one, and if the setting names a column. */
export function defaultCountryOf({ map }: Pick<Pipeline, 'map'>): string | undefined {
  const columnOrCountry = map['phone_number']?.defaultCountry
  const code = columnOrCountry === undefined ? undefined : countryCode(columnOrCountry)
  return code !== undefined && hasNumberingPlan(code) ? code : undefined
}

/**
 * Returns every key that a member of `pipeline` with this text may have. The caller looks up all of them. They are the keys:
 * - of a row that has the text in its key column;
 * - of a row that has the text as an identifier in its key column;
 * - of a row without a key column whose only identifier is the text.
 *
 * Identifiers are emails, phone numbers, and those of the types of the key's columns. A phone number without `+` gets the fixed
 * `default_country` of the pipeline.
 */
export function memberKeysOf(text: string, pipeline: Pick<Pipeline, 'map' | 'preset'>): readonly Buffer[] {
  const keyTypes = keyTypesOf(pipeline)
  const country = defaultCountryOf(pipeline)
  // If a row has no usable identifier, its key is the text of its key column. If the first key column contains emails, the text is in lower
  // case.
  const texts = new Set([keyText(text, undefined)])
  if (keyTypes.has('email')) texts.add(keyText(text, 'email'))
  const keys = [...texts].map(hashKey)
  for (const type of new Set<IdentifierType>(['email', 'phone_number', ...keyTypes])) {
    const packed = packedForms(type, text, country)
    if (packed.length === 0) continue
    // Keys of rows with a key column: the normalized identifier or, from a column of digests, the digest.
    const forms = normalizedForms(type, text, country)
    const digests = type === 'partner_user_id' ? [] : packed.map((identifier) => identifier.subarray(1).toString('hex'))
    keys.push(...[...forms, ...digests].map(hashKey))
    // Keys of rows without a key column (do-not-reach lists): the hash of all their identifiers. Here a row has only one identifier, in its
    // default form or in all forms.
    keys.push(hashKey(packed[0]?.toString('latin1') ?? ''))
    const sorted = packed.toSorted((a, b) => a.compare(b))
    if (packed.length > 1) keys.push(hashKey(sorted.map((identifier) => identifier.toString('latin1')).join('')))
  }
  return keys
}

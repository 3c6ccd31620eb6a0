/** Computes the packed identifiers and record keys by which the database finds a value, such as an email. */
import { countryCode } from './identifiers/country.ts'
import { keyText, shortHash } from './identifiers/keyHash.ts'
import { hashIdentifier, packDigest, packPlain } from './identifiers/packIdentifier.ts'
import { everyFormRules, everyFormRulesForDoNotReach, normalizeIdentifier } from './identifiers/normalize.ts'
import { hasNumberingPlan } from './identifiers/phoneFast.ts'
import type { FieldMapping, Pipeline } from '../model/pipeline.ts'
import { identifierTypes, type IdentifierType, type PackedIdentifier } from '../model/record.ts'
import { normalizeHeader, takesCellsUnchanged, type PresetField } from './fields.ts'
import { presets } from './presets/index.ts'
import { trimText } from './text.ts'

/**
 * Returns the packed identifiers of a raw value, or of a SHA-256 in hex. Packs each form of the value that some setting sends, the default
 * form first (docs/decisions/both-forms.md). Empty if the value is not usable, or is an email with a name or `mailto:`. Also empty for a
 * phone number that may be national or international, except in a do-not-reach list, which gets both readings. `country`: for phone
 * numbers without `+`.
 */
export function packedForms(
  type: IdentifierType,
  text: string,
  country?: string,
  { isDoNotReach = false }: LookupOptions = {},
): readonly PackedIdentifier[] {
  const trimmed = trimText(text)
  if (type !== 'partner_user_id' && /^[0-9a-f]{64}$/i.test(trimmed)) return [packDigest(type, trimmed.toLowerCase())]
  return normalizedForms(type, trimmed, country, isDoNotReach).map((form) =>
    type === 'partner_user_id' ? packPlain(form) : hashIdentifier(type, form),
  )
}

interface LookupOptions {
  /** True to look up in a do-not-reach list. */
  readonly isDoNotReach?: boolean
}

/** Returns the texts that `packedForms` packs; empty for a digest. */
function normalizedForms(type: IdentifierType, text: string, country: string | undefined, isDoNotReach: boolean): readonly string[] {
  const normalized = normalizeIdentifier(type, text, country, isDoNotReach ? everyFormRulesForDoNotReach : everyFormRules)
  return 'code' in normalized ? [] : [normalized.text, ...(normalized.otherForm === undefined ? [] : [normalized.otherForm])]
}

/**
 * Returns the identifier types that the key's columns may have, by `map:` or the preset. Without both, returns those of every preset that
 * may be recognized. Empty for a key that is a constant, computed or transformed.
 */
function possibleKeyTypes({ map, preset: name }: Pick<Pipeline, 'map' | 'preset'>): ReadonlySet<IdentifierType> {
  if (name === undefined && Object.keys(map).length > 0) return new Set(keyTypesIn(map))
  const possible = presets.filter((preset) => (name === undefined ? preset.records === 'members' : preset.name === name))
  return new Set(possible.flatMap((preset) => keyTypesIn({ ...preset.map, ...map })))
}

/** Returns the identifier types that share a column with the key, by `normalizeHeader`. */
function keyTypesIn(fields: Readonly<Record<string, PresetField | FieldMapping>>): readonly IdentifierType[] {
  const { key } = fields
  if (key === undefined || !takesCellsUnchanged(key)) return []
  const columns = new Set(key.columns.map(normalizeHeader))
  return identifierTypes.filter((type) => fields[type]?.columns.some((column) => columns.has(normalizeHeader(column))))
}

/** Returns the fixed `default_country` of a pipeline. Undefined if the setting is missing or names a column. */
export function defaultCountryOf({ map }: Pick<Pipeline, 'map'>): string | undefined {
  const columnOrCountry = map['phone_number']?.defaultCountry
  const code = columnOrCountry === undefined ? undefined : countryCode(columnOrCountry)
  return code !== undefined && hasNumberingPlan(code) ? code : undefined
}

/**
 * Returns every key that a member of `pipeline` with this text may have. The caller looks up all of them. The result has the keys:
 * - of a row that has the text in its key column;
 * - of a row whose key is computed from this text as an identifier (`RowIdentifiers.key`);
 * - of a row without a key column whose only identifier is the text.
 *
 * Identifiers are emails, phone numbers, and those of the types of the key's columns. A phone number without `+` gets the fixed
 * `default_country` of the pipeline. A number that may be national or international finds its row only by the text in a key
 * column. In a do-not-reach list (`isDoNotReach`), both readings find it.
 */
export function memberKeysOf(
  text: string,
  pipeline: Pick<Pipeline, 'map' | 'preset'>,
  { isDoNotReach = false }: LookupOptions = {},
): readonly Buffer[] {
  const keyTypes = possibleKeyTypes(pipeline)
  const country = defaultCountryOf(pipeline)
  // For a row without a usable identifier. The text of a key column of emails is in lower case.
  const texts = new Set([keyText(text, undefined)])
  if (keyTypes.has('email')) texts.add(keyText(text, 'email'))
  const keys = [...texts].map(shortHash)
  for (const type of new Set<IdentifierType>(['email', 'phone_number', ...keyTypes])) {
    const packed = packedForms(type, text, country, { isDoNotReach })
    if (packed.length === 0) continue
    // With a key column: the hash of the normalized identifier or, from a column of digests, of the digest.
    const forms = normalizedForms(type, text, country, isDoNotReach)
    const digests = type === 'partner_user_id' ? [] : packed.map((identifier) => identifier.subarray(1).toString('hex'))
    keys.push(...[...forms, ...digests].map(shortHash))
    // Without a key column (do-not-reach lists): the hash of all identifiers of the row. Here this is one identifier, in its default form
    // or in all forms.
    keys.push(shortHash(packed[0]?.toString('latin1') ?? ''))
    const sorted = packed.toSorted((a, b) => a.compare(b))
    if (packed.length > 1) keys.push(shortHash(sorted.map((identifier) => identifier.toString('latin1')).join('')))
  }
  return keys
}

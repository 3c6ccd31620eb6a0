/** Computes the identifiers and record keys of a value that is searched for in the database, such as an email given to `explain`. */
import { countryCode } from './identifiers/country.ts'
import { hashKey, keyText, packDigest, hashIdentifier, packPlain } from './identifiers/digest.ts'
import { everyForm, normalizeIdentifier } from './identifiers/normalize.ts'
import type { Pipeline } from '../model/pipeline.ts'
import { identifierTypes, type IdentifierType, type PackedIdentifier } from '../model/record.ts'
import { normalizeHeader, readsCells } from './fields.ts'
import { presets } from './presets/index.ts'
import { trimText } from './text.ts'

/**
 * Returns the packed identifiers of a raw value, or of a SHA-256 in hex: every form that any settings may produce for it, the
 * default form first (docs/decisions/both-forms.md). Empty if the value is not usable, or is an email with a name or `mailto:`.
 * `country`: for phone numbers without `+`; undefined if there is none.
 */
export function packedForms(type: IdentifierType, text: string, country?: string): readonly PackedIdentifier[] {
  const trimmed = trimText(text)
  if (type !== 'partner_user_id' && /^[0-9a-f]{64}$/i.test(trimmed)) return [packDigest(type, trimmed.toLowerCase())]
  return normalizedForms(type, trimmed, country).map((form) => (type === 'partner_user_id' ? packPlain(form) : hashIdentifier(type, form)))
}

function normalizedForms(type: IdentifierType, text: string, country: string | undefined): readonly string[] {
  const result = normalizeIdentifier(type, text, country, everyForm)
  return 'code' in result ? [] : [result.text, ...(result.also === undefined ? [] : [result.also])]
}

/**
 * Returns the identifier types of the key's columns, also of a preset's key. Empty if no identifier is mapped to them, or if the key is a
 * constant, computed or transformed. Two column names that a header may have as one are equal. The header is not known here, so a pipeline
 * without `map:` and `preset:` has the types of every preset that may be recognized.
 */
function keyTypesOf({ map, preset: name }: Pick<Pipeline, 'map' | 'preset'>): ReadonlySet<IdentifierType> {
  const isMapped = name === undefined && Object.keys(map).length > 0
  const possible = presets.filter((preset) => (name === undefined ? preset.records === 'members' : preset.name === name))
  const types = (isMapped ? [{}] : possible.map((preset) => preset.map)).flatMap((presetMap) => {
    const fields = { ...presetMap, ...map }
    const { key } = fields
    if (key === undefined || !readsCells(key)) return []
    const columns = new Set(key.columns.map(normalizeHeader))
    return identifierTypes.filter((type) => fields[type]?.columns.some((column) => columns.has(normalizeHeader(column))))
  })
  return new Set(types)
}

/**
 * Returns the member keys of `pipeline` that a text may stand for: the text as it is written and, if it is an email, a phone number or an
 * identifier of a column of the key, the keys of rows whose key or only identifier it is. A phone number without `+` gets the fixed
 * `default_country` of the pipeline. The caller looks up all of them.
 */
export function memberKeysOf(text: string, pipeline: Pick<Pipeline, 'map' | 'preset'>): readonly Buffer[] {
  const keyTypes = keyTypesOf(pipeline)
  const given = pipeline.map['phone_number']?.defaultCountry
  // The name of a country column is not a country, so numbers without `+` are not found there.
  const country = given === undefined ? undefined : countryCode(given)
  // A row whose identifiers are not usable has the text of its first filled key column as its key: in lower case if the first key column of
  // the header is one of emails.
  const keys = [...new Set([keyText(text, undefined), ...(keyTypes.has('email') ? [keyText(text, 'email')] : [])])].map((one) =>
    hashKey(one),
  )
  for (const type of new Set<IdentifierType>(['email', 'phone_number', ...keyTypes])) {
    const packed = packedForms(type, text, country)
    if (packed.length === 0) continue
    const forms = normalizedForms(type, text, country)
    // A column of digests has the digest as its key.
    const digests = type === 'partner_user_id' ? [] : packed.map((one) => one.subarray(1).toString('hex'))
    // The last two are keys for a pipeline without a key column (do-not-reach lists), where the identifiers of a row are its key.
    const sorted = packed.toSorted((a, b) => a.compare(b))
    keys.push(...[...forms, ...digests].map((form) => hashKey(form)), hashKey(packed[0]?.toString('latin1') ?? ''))
    if (packed.length > 1) keys.push(hashKey(sorted.map((one) => one.toString('latin1')).join('')))
  }
  return keys
}

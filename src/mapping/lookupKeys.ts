/** Computes the identifiers and record keys of a value that is searched for in the database, such as an email given to `explain`. */
import { hashKey, keyText, packDigest, hashIdentifier, packPlain } from './identifiers/digest.ts'
import { everyForm, normalizeIdentifier } from './identifiers/normalize.ts'
import type { Pipeline } from '../model/pipeline.ts'
import { identifierTypes, type IdentifierType, type PackedIdentifier } from '../model/record.ts'
import { normalizeHeader, readsCells } from './fields.ts'
import { trimText } from './text.ts'

/**
 * Returns the packed identifiers of a raw value, or of a SHA-256 in hex: every form that any settings may produce for it, the
 * default form first (docs/decisions/both-forms.md). Empty if the value is not usable, or is an email with a name or `mailto:`.
 */
export function packedForms(type: IdentifierType, text: string): readonly PackedIdentifier[] {
  const trimmed = trimText(text)
  if (type !== 'partner_user_id' && /^[0-9a-f]{64}$/i.test(trimmed)) return [packDigest(type, trimmed.toLowerCase())]
  return normalizedForms(type, trimmed).map((form) => (type === 'partner_user_id' ? packPlain(form) : hashIdentifier(type, form)))
}

function normalizedForms(type: IdentifierType, text: string): readonly string[] {
  const result = normalizeIdentifier(type, text, undefined, everyForm)
  return 'code' in result ? [] : [result.text, ...(result.also === undefined ? [] : [result.also])]
}

/**
 * Returns the identifier type of the key column; undefined if no identifier is mapped to that column, or if the key is a constant,
 * computed or transformed. Two column names that a header may have as one are equal.
 */
export function keyTypeOf({ map }: Pipeline): IdentifierType | undefined {
  const { key } = map
  const column = key?.columns[0]
  if (key === undefined || column === undefined || !readsCells(key)) return undefined
  return identifierTypes.find((type) => map[type]?.columns.some((other) => normalizeHeader(other) === normalizeHeader(column)))
}

/**
 * Returns the member keys that a text may stand for: the text as it is written and, if it is an email, a phone number or an identifier of
 * `keyType`, the keys of rows whose key or only identifier it is. `keyType`: type of the key column. The caller looks up all of them.
 */
export function memberKeysOf(text: string, keyType: IdentifierType | undefined): readonly Buffer[] {
  // A row whose email is not usable has the text of its key column as its key, in lower case if the column is one of emails.
  const keys = [...new Set([keyText(text, undefined), keyText(text, keyType)])].map((one) => hashKey(one))
  for (const type of new Set(['email', 'phone_number', ...(keyType === undefined ? [] : [keyType])] as const)) {
    const packed = packedForms(type, text)
    if (packed.length === 0) continue
    const forms = normalizedForms(type, text)
    // A column of digests has the digest as its key.
    const digests = type === 'partner_user_id' ? [] : packed.map((one) => one.subarray(1).toString('hex'))
    // The last two are keys for a pipeline without a key column (do-not-reach lists), where the identifiers of a row are its key.
    const sorted = packed.toSorted((a, b) => a.compare(b))
    keys.push(...[...forms, ...digests].map((form) => hashKey(form)), hashKey(packed[0]?.toString('latin1') ?? ''))
    if (packed.length > 1) keys.push(hashKey(sorted.map((one) => one.toString('latin1')).join('')))
  }
  return keys
}

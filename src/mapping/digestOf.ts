/** Computes the identifiers and record keys of a value that is searched for in the database, such as an email given to `explain`. */
import { hashKey, keyText, packDigest, hashIdentifier, packPlain } from './identifiers/digest.ts'
import { everyForm, normalizeIdentifier } from './identifiers/normalize.ts'
import type { IdentifierType, PackedIdentifier } from '../model/record.ts'
import { trimText } from './text.ts'

/**
 * Returns the packed identifiers of a raw value, or of a SHA-256 in hex: every form that any settings may produce for it, the
 * default form first (docs/decisions/both-forms.md). Empty if the value is not usable, or is an email with a name or `mailto:`.
 * `country`: two-letter code for phone numbers without `+`.
 */
export function packedForms(kind: IdentifierType, text: string, country?: string): readonly PackedIdentifier[] {
  const trimmed = trimText(text)
  if (kind !== 'partner_user_id' && /^[0-9a-f]{64}$/i.test(trimmed)) return [packDigest(kind, trimmed.toLowerCase())]
  const result = normalizeIdentifier(kind, trimmed, country, everyForm)
  if ('code' in result) return []
  if (kind === 'partner_user_id') return [packPlain(result.text)]
  return [hashIdentifier(kind, result.text), ...(result.also === undefined ? [] : [hashIdentifier(kind, result.also)])]
}

/** Returns the default form of `packedForms`; undefined if the value is not usable. */
export function packedOf(kind: IdentifierType, text: string, country?: string): PackedIdentifier | undefined {
  return packedForms(kind, text, country)[0]
}

/** Returns the 32 bytes of the digest, or the bytes of a `partner_user_id`. Undefined if the value is not usable. */
export function digestOf(kind: IdentifierType, text: string, country?: string): Buffer | undefined {
  return packedOf(kind, text, country)?.subarray(1)
}

/**
 * Returns the keys of all members that a text may identify. These are the text as a plain key and, if it is an email or phone number,
 * the keys of rows whose key or only identifier it is.
 */
export function memberKeysOf(text: string, country?: string): readonly Buffer[] {
  const keys = [hashKey(keyText(text, undefined))]
  for (const kind of ['email', 'phone_number'] as const) {
    const result = normalizeIdentifier(kind, text, country, everyForm)
    if ('code' in result) continue
    const forms = [result.text, ...(result.also === undefined ? [] : [result.also])]
    const packed = forms.map((form) => hashIdentifier(kind, form))
    // Keys for a pipeline with a key column, and for one without (do-not-reach lists), where the identifiers of a row are its key.
    keys.push(...forms.map((form) => hashKey(form)), hashKey(packed[0]?.toString('latin1') ?? ''))
    if (packed.length > 1)
      keys.push(
        hashKey(
          packed
            .toSorted((a, b) => a.compare(b))
            .map((one) => one.toString('latin1'))
            .join(''),
        ),
      )
  }
  return keys
}

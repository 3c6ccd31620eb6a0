import { packKey, packDigest, packHash, packPlain } from './identifiers/digest.ts'
import { keyText } from './identifiers/keyText.ts'
import { everyForm, normalizeIdentifier } from './identifiers/normalize.ts'
import type { IdentifierType, PackedIdentifier } from './record.ts'
import { trimText } from './text.ts'

/**
 * The packed identifiers of a raw value or of a SHA-256 in hex, as a row may give them under whatever settings: the form
 * that is sent by default first, then the other one (docs/decisions/both-forms.md). Empty where it is not usable.
 */
export function packedForms(kind: IdentifierType, text: string, country?: string): readonly PackedIdentifier[] {
  const trimmed = trimText(text)
  if (kind !== 'partner_user_id' && /^[0-9a-f]{64}$/i.test(trimmed)) return [packDigest(kind, trimmed.toLowerCase())]
  const result = normalizeIdentifier(kind, trimmed, country, everyForm)
  if ('code' in result) return []
  if (kind === 'partner_user_id') return [packPlain(result.text)]
  return [packHash(kind, result.text), ...(result.also === undefined ? [] : [packHash(kind, result.also)])]
}

/** The first of them. */
export function packedOf(kind: IdentifierType, text: string, country?: string): PackedIdentifier | undefined {
  return packedForms(kind, text, country)[0]
}

/** The 32 bytes of its digest (for `partner_user_id` the value's bytes). */
export function digestOf(kind: IdentifierType, text: string, country?: string): Buffer | undefined {
  return packedOf(kind, text, country)?.subarray(1)
}

/**
 * The member keys that a person may mean by a text: the plain key, and the keys that a row gets whose key column is the
 * email or phone column. Most specific last; look all of them up.
 */
export function memberKeysOf(text: string, country?: string): readonly Buffer[] {
  const keys = [packKey(keyText(text, undefined))]
  for (const kind of ['email', 'phone_number'] as const) {
    const result = normalizeIdentifier(kind, text, country, everyForm)
    if ('code' in result) continue
    const forms = [result.text, ...(result.also === undefined ? [] : [result.also])]
    const packed = forms.map((form) => packHash(kind, form))
    // With a key column of its own, and without any (do-not-reach lists): then all that the row gives is its key.
    keys.push(...forms.map((form) => packKey(form)), packKey(packed[0]?.toString('latin1') ?? ''))
    if (packed.length > 1)
      keys.push(
        packKey(
          packed
            .toSorted((a, b) => a.compare(b))
            .map((one) => one.toString('latin1'))
            .join(''),
        ),
      )
  }
  return keys
}

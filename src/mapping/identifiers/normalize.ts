import type { IdentifierType } from '../../model/record.ts'
import { trimText } from '../text.ts'
import { normalizeEmail, type EmailOptions } from './email.ts'
import { normalizePhone, withoutPlus } from './phone.ts'
import { normalizeDeviceId, normalizeHandle, normalizePartnerId, normalizeServiceId } from './plain.ts'
import type { Normalized } from './result.ts'

export interface IdentifierRules {
  readonly email: EmailOptions
  /** Sends phone numbers without their `+` as well. */
  readonly bothPhones: boolean
}

/**
 * Normalizes one value of a kind without a row, for look-ups by `explain` and `forget` and for tests. A SHA-256 in hex is
 * taken as a digest.
 */
export function normalizeIdentifier(
  kind: IdentifierType,
  value: string,
  country: string | undefined,
  rules: IdentifierRules = plainRules,
): Normalized {
  const text = trimText(value)
  switch (kind) {
    case 'email':
      return normalizeEmail(text, rules.email)
    case 'phone_number':
      return rules.bothPhones ? withoutPlus(normalizePhone(text, country)) : normalizePhone(text, country)
    case 'handle':
      return normalizeHandle(text)
    case 'service_id':
      return normalizeServiceId(unquote(text))
    case 'device_id':
      return normalizeDeviceId(unquote(text))
    case 'partner_user_id':
      return normalizePartnerId(unquote(text))
  }
}

const plainRules: IdentifierRules = { email: { wrapped: false, idnToAscii: false, bothForms: false }, bothPhones: false }

/** Rules that produce every form under which a value may have been sent, under any settings. */
export const everyForm: IdentifierRules = { email: { ...plainRules.email, bothForms: true }, bothPhones: true }

function unquote(text: string): string {
  return text.replace(/^['\u2018\u2019]/, '')
}

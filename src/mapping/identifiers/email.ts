import { domainToASCII, domainToUnicode } from 'node:url'
import { foldedText, trimText, withoutInvisible } from '../text.ts'
import type { IdentifierResult } from './identifierResult.ts'
import { placeholderAddresses } from './placeholders.ts'

export interface EmailOptions {
  /** Accepts `mailto:a@b.c` and `Name <a@b.c>`, and extracts the address. */
  readonly acceptsWrapped: boolean
  /** Converts an international domain to its ASCII form. If false, the domain stays as written (docs/decisions/both-forms.md). */
  readonly convertsDomainToAscii: boolean
  /** Adds the other form of an international domain: ASCII or its own letters. */
  readonly addsOtherForm: boolean
}

const invalid = (message: string): IdentifierResult => ({ code: 'EMAIL_INVALID', message })

// By code of a lower-case ASCII character. 1: letter or digit; 2: other character before the @, except the dot; 0: any other character.
const characterKinds = new Uint8Array(128)
for (const char of 'abcdefghijklmnopqrstuvwxyz0123456789') characterKinds[char.charCodeAt(0)] = 1
for (const char of "!#$%&'*+/=?^_`{|}~-") characterKinds[char.charCodeAt(0)] = 2

/** Separator in a cell with several identifiers. The caller trims the parts (docs/inputs.md, cases 104 and 191). */
export const listSeparator = /[,;|]|:::/

/** Matches the address of a role, and the example address `a@example.…`. */
const roleAddress =
  /^(?:no-?reply|do-?not-?reply|info|admin|administrator|webmaster|postmaster|hostmaster|abuse|sales|support|contact|office|mailer-daemon|root|test)@|^a@example\./

/**
 * Normalizes a trimmed email: without invisible characters, in NFC and lower case. Keeps dots and +tags of the mailbox. Rejects
 * placeholders. Notes: EMAIL_ROLE for `info@`, EMAIL_MIXED_SCRIPT for mixed scripts. Source: docs/spec-notes.md#normalization;
 * docs/inputs.md, cases 103 to 110.
 */
export function normalizeEmail(text: string, options: EmailOptions): IdentifierResult {
  const lower = text.toLowerCase()
  if (isPlainAddress(lower))
    return options.addsOtherForm && lower.includes('xn--') ? withOtherForm(classifyAddress(lower)) : classifyAddress(lower)
  return normalizeOtherAddress(text, options)
}

const longestPlaceholder = Math.max(...[...placeholderAddresses].map(({ length }) => length))

/** Returns the result for a valid address: rejects placeholders, notes EMAIL_ROLE. */
function classifyAddress(address: string): IdentifierResult {
  if (address.length <= longestPlaceholder && placeholderAddresses.has(address))
    return { code: 'EMAIL_INVALID', message: 'is a placeholder' }
  return roleAddress.test(address) ? { text: address, note: 'EMAIL_ROLE' } : { text: address }
}

/**
 * Returns true for a valid address in lower-case ASCII, in one pass. It has
 * - one @
 * - dots only between other characters
 * - a domain whose labels have letters, digits and inner hyphens
 * - a top-level domain that starts with a letter
 */
function isPlainAddress(text: string): boolean {
  const length = text.length
  if (length > 254) return false
  // 45 is a hyphen, 46 a dot, 64 an @. `previous` starts as a dot, so a first dot is invalid.
  let at = 0
  let previous = 46
  for (; at < length; at++) {
    const char = text.charCodeAt(at)
    if (char === 64) break
    if (char >= 128) return false
    if (char === 46) {
      if (previous === 46) return false
    } else if (characterKinds[char] === 0) return false
    previous = char
  }
  const isLocalPartValid = at > 0 && at <= 64 && previous !== 46
  const hasRoomForDomain = at < length - 3
  if (!isLocalPartValid || !hasRoomForDomain) return false

  let lastDot = -1
  previous = 46
  for (let i = at + 1; i < length; i++) {
    const char = text.charCodeAt(i)
    if (char === 46) {
      if (previous === 46 || previous === 45) return false
      lastDot = i
    } else if (char === 45) {
      if (previous === 46) return false
    } else if (char >= 128 || characterKinds[char] !== 1) return false
    previous = char
  }
  const hasTopLevel = lastDot >= 0 && length - lastDot >= 3
  if (!hasTopLevel || previous === 45) return false
  const topLevelStart = text.charCodeAt(lastDot + 1)
  return topLevelStart >= 97 && topLevelStart <= 122 // a to z
}

/** Normalizes an address that `isPlainAddress` does not accept, or returns why it is not valid. */
function normalizeOtherAddress(given: string, options: EmailOptions): IdentifierResult {
  let text = trimText(withoutInvisible(given))
  if (options.acceptsWrapped) text = trimText(/^[^<>]*<([^<>]+)>$/.exec(text)?.[1] ?? text).replace(/^mailto:/i, '')
  if (/^mailto:/i.test(text) || /[<>]/.test(text)) return invalid('contains a name or mailto:')
  text = text.normalize('NFC').toLowerCase().normalize('NFC')
  if (text.length > 254) return invalid('is longer than 254 characters')
  if (!text.isWellFormed() || /[\u0000-\u001f\u007f-\u009f]/.test(text)) return invalid('contains control characters')
  const at = text.lastIndexOf('@')
  if (at <= 0) return invalid(at < 0 ? 'has no @' : 'has no text before the @')
  const local = text.slice(0, at)
  const domain = text.slice(at + 1)
  const isQuoted = /^"(?:[^"\\@]|\\.)+"$/.test(local)
  if (!isQuoted) {
    if (/[,;:()[\]\\"]/.test(text)) return invalid('contains more than one address, or characters that no address has')
    if (/\s/.test(text)) return invalid('contains a space')
    if (local.includes('@')) return invalid('has two @')
    if (local.startsWith('.') || local.endsWith('.') || text.includes('..'))
      return invalid('has a dot at the start or before the @, or two dots in a row')
  }
  if (local.length > 64) return invalid('has more than 64 characters before the @')
  if (/[\uff01-\uff5e]/.test(text)) return invalid('contains full-width characters')
  if (!/^(?:[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}])?\.)+[\p{L}][\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}]$/u.test(domain))
    return invalid('does not have a valid domain')
  const host = options.convertsDomainToAscii && /[^\u0000-\u007f]/.test(domain) ? URL.parse(`https://${domain}/`)?.hostname : domain
  if (host === undefined) return invalid('does not have a valid domain')
  const classified = classifyAddress(`${local}@${host}`)
  const normalized = options.addsOtherForm ? withOtherForm(classified) : classified
  return 'text' in normalized && isMixedScript(text) ? { ...normalized, note: 'EMAIL_MIXED_SCRIPT' } : normalized
}

/** Matches each part of a text that may be an address. Only looks ahead at the domain, because another address may begin in it. */
const addressLike = /([^\s@<>()[\]{},;:|"“”„«»]{1,64})@(?=([\p{L}\p{M}\p{N}.-]{1,255}))/gu

/** Matches an `@` with spaces or in words: `a @ b.example`, `a(at)b.example`, `a at b.example`. */
const spelledAt = / ?(?:[([{] ?(?:at|ät|a|arroba|@) ?[)\]}]|@+) ?| (?:at|arroba) /gi
/** Matches a dot with spaces or in words: `b .example`, `b(dot)example`, `b dot example`. */
const spelledDot = / ?(?:[([{] ?(?:dot|punkt|point|punto|[.。]) ?[)\]}]|[.。]+) ?| dot /gi
/** Matches the sign between mailbox and domain in a text that may be an address, however it is spelled. */
const maybeAt = /[@＠﹫]|%40|[([{ ](?:at|ät|a|arroba)[)\]} ]/i

/**
 * Returns the addresses in a text or list, in both forms of their domain, also in odd spellings such as `a (at) b.example`. Also returns
 * texts that only look like addresses: use it only for addresses that are not sent.
 */
export function addressesIn(text: string): readonly string[] {
  const found = new Set<string>()
  const add = (address: string): boolean => {
    const normalized = normalizeEmail(trimText(address), { acceptsWrapped: true, convertsDomainToAscii: false, addsOtherForm: true })
    if ('code' in normalized) return false
    found.add(normalized.text)
    if (normalized.otherForm !== undefined) found.add(normalized.otherForm)
    return true
  }
  // A comma for the only dot of the domain: `a@b,example`.
  if (/^[^\s,;|]+@[^\s,;|@.]+,[^\s,;|@.]+$/.test(text)) add(text.replace(',', '.'))
  for (const part of text.replace(/&(?:#64|#x40|commat);/gi, '@').split(listSeparator)) {
    // A sign before the mailbox may be from a spreadsheet: `'a@b.example`.
    const isAddress = add(part) && !part.includes('<') && /^[\p{L}\p{N}_]/u.test(trimText(part))
    if (isAddress || !maybeAt.test(part)) continue
    const folded = foldedText(part).replaceAll('%40', '@')
    const withSigns = folded.replace(spelledAt, '@').replace(spelledDot, '.')
    for (const spelling of new Set([part, folded, withSigns]))
      for (const [, local = '', ahead = ''] of spelling.matchAll(addressLike)) {
        const domain = ahead.replace(/[.-]+$/, '')
        if (!domain.includes('.')) continue
        // Also without what stands before the mailbox: `a@example.com/b@example.com`, `see mail=a@example.com`, `'a@example.com'`.
        const afterWord = /[^/=&\\]*$/.exec(local)?.[0] ?? ''
        const plain = /[\p{L}\p{N}_][\p{L}\p{M}\p{N}._+-]*$/u.exec(local)?.[0] ?? ''
        for (const start of new Set([local, afterWord, plain])) add(`${start}@${domain}`)
      }
  }
  return [...found]
}

/** Adds `otherForm` for an international domain: `xn--bcher-kva.example` for `bücher.example`, and the reverse. */
function withOtherForm(result: IdentifierResult): IdentifierResult {
  if ('code' in result) return result
  const at = result.text.lastIndexOf('@') + 1
  const domain = result.text.slice(at)
  const other = /[^\u0000-\u007f]/.test(domain) ? domainToASCII(domain) : domainToUnicode(domain).toLowerCase().normalize('NFC')
  return other === '' || other === domain ? result : { ...result, otherForm: `${result.text.slice(0, at)}${other}` }
}

/** Returns true for text with Latin letters and letters of a script that has lookalikes of them. */
function isMixedScript(text: string): boolean {
  return /[a-z]/.test(text) && /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u.test(text)
}

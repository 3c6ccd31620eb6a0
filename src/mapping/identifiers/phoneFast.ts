/**
 * Fast path for phone numbers in common spellings: 0.21 µs per number, the library takes 6.18 µs (docs/benchmarks.md). Its rules are
 * compiled from the library's metadata. Returns the same number as the library, or undefined: then the library decides. A test compares
 * both in every country.
 */
import type { CountryCode } from 'libphonenumber-js/max'
import { phoneMetadata } from './phoneLibrary.ts'

/** Numbering plan of a country: an array in metadata of version 4, as the library's class `NumberingPlan` reads it. */
type NumberingPlan = readonly unknown[]
const planIndex = {
  callingCode: 0,
  /** International direct dialing: the prefix for calls abroad. */
  idd: 1,
  pattern: 2,
  nationalPrefix: 5,
  prefixForParsing: 7,
  prefixRule: 8,
  leadingDigits: 10,
  types: 11,
} as const

/** Rules of one country, compiled from its plan. */
interface CountryRules {
  readonly callingCode: string
  /** Digits before a national number that are stripped, such as `0`. Undefined if the country has none, or strips by a pattern or rule. */
  readonly trunk: string | undefined
  /** Pattern of a prefix that the library may strip. If the number begins with it, after its `trunk`, the library decides. */
  readonly doubtfulPrefix: RegExp | undefined
  readonly idd: RegExp
  /** Pattern of all numbers of the country, without calling code and `trunk`. */
  readonly general: RegExp
}

// The library types a plan as `any[]`. The casts also permit any text as a key.
const plans = () => phoneMetadata().countries as unknown as Readonly<Record<string, NumberingPlan>>
const countriesByCode = () => phoneMetadata().country_calling_codes as unknown as Readonly<Record<string, readonly string[]>>
const countryRules = new Map<string, CountryRules | undefined>()
const codeRules = new Map<string, CodeRules | undefined>()

/** Rules shared by all countries of one calling code. */
interface CodeRules {
  /** Returns true if a number without its calling code is valid in one of the countries. */
  readonly isValid: (national: string) => boolean
  /** Pattern of a prefix that the library may strip after the calling code. If it matches, the library decides. */
  readonly doubtfulPrefix: RegExp | undefined
}

/** Returns true for a country with a numbering plan in the metadata; false for example for Antarctica, `AQ`. */
export function hasNumberingPlan(code: string): code is CountryCode {
  return Object.hasOwn(plans(), code)
}

const plus = 43
/** Reused buffer: a plus and the digits of the current number. A text cut from it is flat, so hashing it copies nothing. */
const plusAndDigits = Buffer.alloc(25, '+')

/** Returns E.164 with `+`, or undefined if the library has to decide. `country`: two-letter code for numbers without `+`. */
export function fastPhone(text: string, country: string | undefined): string | undefined {
  const length = text.length
  if (length < 7 || length > 24) return undefined
  const isInternational = text.charCodeAt(0) === plus
  let end = 1
  let openBrackets = 0
  for (let i = isInternational ? 1 : 0; i < length; i++) {
    const char = text.charCodeAt(i)
    if (char >= 48 && char <= 57) {
      plusAndDigits[end++] = char
      continue
    }
    if (char === 40) openBrackets += 1 // opening bracket
    else if (char === 41) openBrackets -= 1 // closing bracket
    else if (char !== 32 && char !== 45 && char !== 46) return undefined // 32 is a space, 45 a hyphen, 46 a dot
    if (openBrackets < 0 || openBrackets > 1) return undefined
  }
  if (openBrackets !== 0 || isOneDigitRepeated(end)) return undefined
  if (isInternational) return end < 9 || end > 16 ? undefined : fastInternational(plusAndDigits.latin1Slice(0, end))
  return country === undefined ? undefined : fastNational(plusAndDigits.latin1Slice(1, end), country)
}

/** Returns true if all digits before `end` are equal: an invalid number (`phone.ts`). */
function isOneDigitRepeated(end: number): boolean {
  const first = plusAndDigits[1]
  for (let i = 2; i < end; i++) if (plusAndDigits[i] !== first) return false
  return true
}

/** Returns `number` unchanged if it is valid. `number`: a plus and 8 to 15 digits. */
function fastInternational(number: string): string | undefined {
  const code = possibleCallingCode(number)
  const national = number.slice(1 + code.length)
  const rules = codeRulesOf(code)
  if (rules === undefined || rules.doubtfulPrefix?.test(national) === true) return undefined
  return rules.isValid(national) ? number : undefined
}

/** Returns the only calling code that the number can have. If it has three digits, the metadata may not contain it. */
function possibleCallingCode(number: string): string {
  const first = number.charAt(1)
  // 1 and 7 are calling codes, and no other code begins with 1 or 7.
  if (first === '1' || first === '7') return first
  const twoDigits = number.slice(1, 3)
  return countriesByCode()[twoDigits] === undefined ? number.slice(1, 4) : twoDigits
}

/** Returns E.164 for digits that are certainly national and valid under the country's calling code. Otherwise undefined. */
function fastNational(digits: string, country: string): string | undefined {
  const rules = countryRulesOf(country)
  if (rules === undefined || rules.idd.test(digits) || digits.startsWith(rules.callingCode)) return undefined
  let national = digits
  if (rules.trunk !== undefined && digits.startsWith(rules.trunk)) {
    // If the number with `trunk` also matches, the library decides whether to strip it.
    if (rules.general.test(digits)) return undefined
    national = digits.slice(rules.trunk.length)
    if (rules.doubtfulPrefix?.test(national) === true) return undefined
  } else if (rules.doubtfulPrefix?.test(digits) === true) return undefined
  return codeRulesOf(rules.callingCode)?.isValid(national) === true ? `+${rules.callingCode}${national}` : undefined
}

function countryRulesOf(country: string): CountryRules | undefined {
  const cached = countryRules.get(country)
  // Only countries are cached, because a wrongly mapped column may have another text in each row.
  if (cached !== undefined || !hasNumberingPlan(country)) return cached
  const rules = compileCountry(country)
  countryRules.set(country, rules)
  return rules
}

function compileCountry(country: string): CountryRules | undefined {
  const plan = plans()[country]
  if (plan === undefined) return undefined
  const prefix = prefixOf(plan)
  return {
    callingCode: String(plan[planIndex.callingCode]),
    general: new RegExp(`^(?:${String(plan[planIndex.pattern])})$`),
    doubtfulPrefix: prefix === undefined ? undefined : new RegExp(`^(?:${prefix.pattern})`),
    trunk: prefix !== undefined && /^\d+$/.test(prefix.pattern) && !prefix.changesNumber ? prefix.pattern : undefined,
    idd: new RegExp(`^(?:${String(plan[planIndex.idd])})`),
  }
}

function codeRulesOf(code: string): CodeRules | undefined {
  const cached = codeRules.get(code)
  if (cached !== undefined || codeRules.has(code)) return cached
  const rules = compileCode(code)
  codeRules.set(code, rules)
  return rules
}

/**
 * Compiles the rules of a calling code. `isValid` tries its countries in the order of the metadata, as the library does. The first country
 * whose leading digits match decides. A country without leading digits decides only if one of its number types matches.
 */
function compileCode(code: string): CodeRules | undefined {
  const countries = countriesByCode()[code]
  if (countries === undefined) return undefined
  const patterns = countries.map((country) => {
    const plan = plans()[country] ?? []
    const leadingDigits = plan[planIndex.leadingDigits]
    return {
      anyType: new RegExp(`^(?=(?:${String(plan[planIndex.pattern])})$)(?:${typePattern(plan)})$`),
      leading: typeof leadingDigits === 'string' && leadingDigits !== '' ? new RegExp(`^(?:${leadingDigits})`) : undefined,
    }
  })
  const prefix = prefixOf(plans()[countries[0] ?? ''] ?? [])
  return {
    doubtfulPrefix: prefix === undefined ? undefined : new RegExp(`^(?:${prefix.pattern})`),
    isValid: (national) => {
      for (const { anyType, leading } of patterns) {
        if (leading === undefined) {
          if (anyType.test(national)) return true
        } else if (leading.test(national)) return anyType.test(national)
      }
      return false
    },
  }
}

/** Returns the pattern of the prefix that the library may strip. `changesNumber`: true if a rule also changes the number. */
function prefixOf(plan: NumberingPlan): { readonly pattern: string; readonly changesNumber: boolean } | undefined {
  const forParsing = plan[planIndex.prefixForParsing]
  const pattern = typeof forParsing === 'string' && forParsing !== '' ? forParsing : plan[planIndex.nationalPrefix]
  if (typeof pattern !== 'string' || pattern === '') return undefined
  return { pattern, changesNumber: typeof plan[planIndex.prefixRule] === 'string' && plan[planIndex.prefixRule] !== '' }
}

/** Joins the patterns of all number types, each with its lengths. Without types, returns the general pattern. */
function typePattern(plan: NumberingPlan): string {
  const types = plan[planIndex.types]
  if (!Array.isArray(types)) return String(plan[planIndex.pattern])
  const patterns: string[] = []
  for (const type of types) {
    if (!Array.isArray(type) || typeof type[0] !== 'string' || type[0] === '') continue
    const lengths: unknown = type[1]
    const ahead = Array.isArray(lengths) && lengths.length > 0 ? `(?=(?:${lengths.map((n) => `\\d{${String(n)}}`).join('|')})$)` : ''
    patterns.push(`${ahead}(?:${type[0]})`)
  }
  return patterns.length === 0 ? '(?!)' : patterns.join('|')
}

declare global {
  interface Buffer {
    /** Undocumented, and missing in `@types/node`. */
    latin1Slice: (start: number, end: number) => string
  }
}

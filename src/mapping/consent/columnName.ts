/** Classifies column names: consent or opt-out, for which channel, and how certain. Pure. */

import { withoutInvisible } from '../text.ts'
import {
  certainOut,
  weakOut,
  certainIn,
  weakIn,
  leadingNegation,
  notOptedOut,
  inSentence,
  endWords,
  alternativeWords,
  advertisingName,
  flagOut,
  notContactedWords,
  messageOrDataWords,
  otherMeaningWords,
  reversingWords,
  refusalWords,
  flagIn,
  relativeWords,
  recordEndedName,
  registerName,
  phoneChannel,
  otherChannel,
  emailChannel,
  paperMail,
  questionEnd,
  attributeName,
} from './namePatterns.ts'
import { hasOnlyNeutralWords } from './neutralWords.ts'

/** Classified name of a consent column. */
export interface ConsentName {
  /** `in`: a yes means that the person may be reached. `out`: a yes means the opposite. `unclear`: the values decide. */
  readonly polarity: 'in' | 'out' | 'unclear'
  /** `phone`: calls and messages to a phone only; `other`: letters, push or fax; `any`: everything else, email included. */
  readonly channel: 'any' | 'phone' | 'other'
  /** True if the name alone makes it a consent column; otherwise the values must look like consent too. */
  readonly certain: boolean
  /** True for a vague name, such as `contact`: only cells such as `yes`, `no` or `Unsubscribed` make it a consent column. */
  readonly needsFlags?: true
  /**
   * True for a name about deleted records, closed accounts, minors or dead people, such as `is_deleted`. Only a yes, a date or a state such
   * as `Deleted` in a cell makes it a consent column. In many exports, no row has such a cell.
   */
  readonly needsYes?: true
  /** True for a vague name of unclear polarity that may be an opt-out: `Sperre (kein Mailing) seit`. A date makes it a consent column. */
  readonly mayBeOptOut?: true
}

/** Returns the words of a column name in lower case, without accents and invisible characters: `HasOptedOutOfEmail` → `has opted out of email`. */
export function nameWords(column: string): string {
  return withoutInvisible(column)
    .replace(/(\p{Ll}|\d)(?=\p{Lu})/gu, '$1 ')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

/** Maximum number of characters that are classified as a whole. The patterns take quadratic time. */
const maxWholeName = 200
/** Number of characters that two parts of a longer name share, because words may be cut at the end of a part. */
const sharedLength = 50

/** Classifies a column name. Undefined if the name is not about consent, or only names an attribute of it. */
export function classifyColumnName(column: string): ConsentName | undefined {
  const name = nameWords(column)
  if (name.length > maxWholeName) return classifyLongName(name)
  const classified = classifyWords(name)
  if (classified === undefined) return undefined
  const channel = channelOf(name)
  // `attributeName` also matches `state`, but `subscription state` is about consent.
  const isConsentState =
    /\b(?:opt(?:ed)? ?(?:in|out)|consent|subscription|subscriber|unsubscribed?|email|marketing) (?:status|state)$/.test(name)
  if (!attributeName.test(name) || isConsentState) return { ...classified, channel }
  return questionEnd.test(name) ? { polarity: classified.polarity, channel, certain: false, needsFlags: true } : undefined
}

/**
 * Classifies a long question, in parts. Its polarity is unclear, because words far apart may reverse each other: `I agree …. I can
 * unsubscribe at any time`.
 */
function classifyLongName(name: string): ConsentName | undefined {
  const step = maxWholeName - sharedLength
  const parts = Array.from({ length: Math.ceil(name.length / step) }, (_, i) => name.slice(i * step, i * step + maxWholeName))
  const found = parts.flatMap((part) => classifyWords(part.trim()) ?? [])
  if (found.length === 0) return undefined
  const certain = found.some((part) => part.certain)
  return { polarity: 'unclear', channel: 'any', certain, ...(!certain && { needsFlags: true }) }
}

function channelOf(name: string): ConsentName['channel'] {
  if (otherChannel.test(name) && !emailChannel.test(name.replace(paperMail, ''))) return 'other'
  return phoneChannel.test(name) && !emailChannel.test(name) ? 'phone' : 'any'
}

function classifyWords(name: string): Omit<ConsentName, 'channel'> | undefined {
  const hasOptInWord = certainIn.test(withoutOptOutWords(name))
  if (registerName.test(name)) return { polarity: 'out', certain: true }
  if (certainOut.test(name)) {
    const namesBoth = hasOptInWord && /\bopt(?:ed)? ?in\b/.test(name)
    return { polarity: namesBoth ? 'unclear' : optOutPolarity(name, certainOut), certain: true }
  }
  if (flagOut.test(name) && (hasOptInWord || messageOrDataWords.test(name)))
    return { polarity: optOutPolarity(name, flagOut), certain: true }
  if (notContactedWords.test(name) && (hasOptInWord || weakIn.test(name))) return { polarity: 'out', certain: true }
  const polarity = optInPolarity(name)
  if (hasOptInWord) return { polarity, certain: true }
  if (recordEndedName.test(name)) return { polarity: 'out', certain: false, needsYes: true }
  // In Quebec `TPS` is a tax, and in Brazil `CTPS` a number of a person.
  if (weakOut.test(name) || /^c?tps$/.test(name)) {
    const weakPolarity = optOutPolarity(name, weakOut)
    return { polarity: weakPolarity, certain: false, ...(weakPolarity === 'unclear' && { mayBeOptOut: true }) }
  }
  if (flagOut.test(name) || /\bbounces\b/.test(name))
    return { polarity: 'out', certain: false, ...(!weakIn.test(name) && { needsFlags: true }) }
  if (weakIn.test(name)) {
    const mayBeOptOut = polarity === 'unclear' && (endWords.test(name) || /\bnot\b/.test(name)) && !alternativeWords.test(name)
    return { polarity, certain: false, ...(mayBeAboutOrder(name) && { needsFlags: true }), ...(mayBeOptOut && { mayBeOptOut }) }
  }
  return flagIn.test(name) ? { polarity, certain: false, needsFlags: true } : undefined
}

/**
 * Returns the polarity of a name of an opt-out. It is `unclear` if `notOptedOut` may reverse the opt-out, or if a question only mentions it:
 * `Would you like our newsletter? You can unsubscribe at any time`. `pattern`: the words of the opt-out.
 */
function optOutPolarity(name: string, pattern: RegExp): ConsentName['polarity'] {
  // `Consent revoked` is an opt-out. `Opt-out revoked` is the end of one.
  const withoutRevoked = name.replace(/\b(?:revoked|withdrawn)\b/g, ' ')
  const isRevoked = withoutRevoked !== name && pattern.test(withoutRevoked)
  const otherWords = name.replaceAll(new RegExp(pattern.source, 'g'), ' ')
  if (isRevoked || notOptedOut.test(otherWords) || inSentence.test(name)) return 'unclear'
  const textBefore = name.slice(0, name.search(pattern))
  return isSentence(name) && [certainIn, weakIn, flagIn].some((words) => words.test(textBefore)) ? 'unclear' : 'out'
}

function isSentence(name: string): boolean {
  return name.split(' ').length > 5
}

/** Returns true for a name that may be about an order or a paid subscription: `Subscription cancelled at`, not `Marketing declined at`. */
function mayBeAboutOrder(name: string): boolean {
  const withoutEnded = name.replace(endWords, '').replace(/ +/g, ' ').trim()
  return withoutEnded !== name && !leadingNegation.test(name) && !advertisingName.test(nameStem(withoutEnded))
}

/** Returns true for a text with words of an opt-out or of an end, such as `EXPLICITLY_OPTED_OUT` or `Bounce (hard)`. */
export function hasOptOutWords(text: string): boolean {
  const words = nameWords(text)
  return [certainOut, weakOut, flagOut, endWords, reversingWords].some((pattern) => pattern.test(words)) || /\bbounces?\b/.test(words)
}

/**
 * Returns the polarity of a name with words of an opt-in. A negation that is not directly before these words may be about something else
 * (`Non-profit newsletter`), so the result is `unclear`.
 */
function optInPolarity(name: string): ConsentName['polarity'] {
  const negated = leadingNegation.exec(name)?.[0]
  if (negated !== undefined) {
    const rest = name.slice(negated.length)
    return [certainIn, weakIn, flagIn].some((words) => words.exec(rest)?.index === 0) ? 'out' : 'unclear'
  }
  if (endWords.test(name) || /\bnot\b/.test(name)) {
    const isReversed = endWords.test(name) ? notOptedOut.test(name.replace(endWords, ' ')) : reversingWords.test(name)
    return isReversed || alternativeWords.test(name) || isSentence(name) ? 'unclear' : 'out'
  }
  const mayMeanNo = otherMeaningWords.test(name) || reversingWords.test(name) || refusalWords.test(name)
  return mayMeanNo || !hasOnlyNeutralWords(name, [certainIn, weakIn, flagIn]) ? 'unclear' : 'in'
}

/** Removes opt-out words that contain an opt-in word, such as `unsubscribed`. */
function withoutOptOutWords(name: string): string {
  return name.replace(/unsub\w*/g, ' ').replace(/desabonn\w*|desinscri\w*|disiscri\w*/g, ' ')
}

// Words for dates, reasons and other details at the end of a name.
const detailWord = '(?: (?:time|timestamp|date|at|on|datum|fecha|reason|reasons|grund|motif|by|updated|changed|since|utc|string|type|seen))'
const detailWords = new RegExp(`${detailWord}+$`)
const lastDetailWord = new RegExp(`${detailWord}$`)

/** Returns the words of a name without the detail words at its end: `Email Suppressions Timestamp` → `email suppressions`. */
function nameStem(column: string): string {
  return nameWords(column).replace(detailWords, '')
}

/** Returns true for a name that ends with a word for a date, reason or other detail: `sms_consent_date`, `mobile_last_seen`. */
export function isDetailName(column: string): boolean {
  return lastDetailWord.test(nameWords(column))
}

/** Returns true for a column of the state of a person or record, such as `status` and `Account status`. */
export function isStatusName(column: string): boolean {
  return /^(?:(?:account|user|customer|contact|member|subscriber|record|profile|person|constituent|konto|kunden?) ?)?(?:status|state)$/.test(
    nameWords(column),
  )
}

/** Returns true for a column about a relative or pet of the person, such as `Spouse status`. */
export function isAboutRelative(column: string): boolean {
  return new RegExp(relativeWords).test(nameWords(column))
}

/** Returns true for a column of the ways to contact a person, such as `Contact preference` and `Preferred contact method`. */
export function isContactChoice(column: string): boolean {
  return /\b(?:contact|communication)s? (?:preference|pref|choice|option|method|channel)s?$|\bpreferred (?:method of )?(?:contact|communication)\b/.test(
    nameWords(column),
  )
}

/** Returns true for the name of a column that usually has a list in each cell, such as `Tags`. */
export function isListName(column: string): boolean {
  return /\b(?:tags?|labels?|keywords|groups?|segments?|lists?|flags|categories|solicit codes?|etiketten|schlagworte?r?|etiquetas|etichette|markierungen)$/.test(
    nameWords(column),
  )
}

/** Returns true for a column with the date, reason or another detail of a column of the header: `opt_in_date` beside `opt_in`. */
export function isDetailOf(column: string, columns: readonly string[]): boolean {
  const name = nameWords(column)
  const stem = nameStem(column)
  return stem !== name && stem !== '' && columns.some((other) => other !== column && nameWords(other) === stem)
}

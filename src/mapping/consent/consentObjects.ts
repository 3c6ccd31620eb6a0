/** Searches the objects of JSON in the cells of a column for consent. */
import { trimText } from '../text.ts'
import { classifyColumnName, isAboutRelative, isDetailName, type ConsentName } from './columnName.ts'
import { isPlaceholderDate, looksLikeDate } from './columnValues.ts'
import { confirmsName } from './confirmsName.ts'
import { consentMeaning, isDeceasedState, isSubscriptionState } from './words.ts'

/**
 * Returns true for an object of JSON that says who may be reached, such as `{"newsletter": false}`. `isUnused`: true for the name of a
 * channel that is not sent.
 */
export type ConsentObjectTest = (text: string, isUnused: (name: ConsentName) => boolean) => boolean

/** Maximum number of characters of an object in a cell that are searched. */
const maxObjectLength = 10_000
/** Maximum number of paths of one column that `consentObjects` classifies. Further paths are not about consent. */
const maxObjectPaths = 5_000

/** Maximum numbers of characters of a key, and of the keys around it. */
const [maxKeyLength, maxPathLength] = [60, 120]

/**
 * Matches a text with the colon that follows a key, a bracket, or another value. The last text may have no end, so that the search takes
 * linear time.
 */
const objectToken = /"((?:[^"\\]|\\.)*)"?(\s*:)?|[{}[\]]|[^\s"{}[\]:,]+/gs

/**
 * Returns the test of the column's cells. A value counts like a cell of the column that a source of JSON would have for it. For
 * `{"email": true}` in `prefs`, this is `prefs.email`.
 */
export function consentObjects(column: string): ConsentObjectTest {
  const names = new Map<string, ConsentName | undefined>()
  const nameOf = (path: string) => {
    const known = names.get(path)
    if (known !== undefined || names.has(path) || names.size === maxObjectPaths) return known
    const name = classifyColumnName(`${column} ${path}`)
    names.set(path, name)
    return name
  }
  return (text, isUnused) => {
    // Most cells start with another character: this saves the pattern.
    const first = text.charCodeAt(0)
    if (first > 32 && first !== 91 && first !== 123) return false
    const object = trimText(text.slice(0, maxObjectLength))
    if (!/^\[?\s{0,9}\{/.test(object)) return false
    const prefixes: string[] = []
    let [prefix, key] = ['', '']
    for (const [token, quoted, colon] of object.matchAll(objectToken)) {
      if (colon !== undefined) key = quoted?.slice(0, maxKeyLength) ?? ''
      else if (token === '{' || token === '[') {
        prefixes.push(prefix)
        prefix = join(prefix, key).slice(-maxPathLength)
        key = ''
      } else if (token === '}' || token === ']') {
        prefix = prefixes.pop() ?? ''
        key = ''
      } else {
        const value = quoted ?? token
        const path = join(prefix, key)
        if (isSubscriptionState(value) && !(isDeceasedState(value) && isAboutRelative(path))) return true
        const name = nameOf(path)
        if (name !== undefined && !isUnused(name) && saysWhoMayBeReached(name, key, value)) return true
      }
    }
    return false
  }
}

/** Joins two parts of a path, which may be empty. */
function join(prefix: string, key: string): string {
  return prefix === '' || key === '' ? prefix + key : `${prefix} ${key}`
}

/** Returns true if a value of an object confirms the name of its path. A date confirms only an opt-out, such as `unsubscribed_at`. */
function saysWhoMayBeReached(name: ConsentName, key: string, value: string): boolean {
  const date = trimText(value)
  if (looksLikeDate(date)) return name.polarity === 'out' && !isPlaceholderDate(date)
  const meaning = consentMeaning(value)
  if (meaning === undefined || meaning === 'empty' || isDetailName(key)) return false
  return name.certain || confirmsName(name, value)
}

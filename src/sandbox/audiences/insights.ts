/**
 * Handles keyword insights (spec 4.3) and audience estimates (docs/spec-notes.md#custom-audiences). The numbers are invented: hashes of
 * keywords and times, or of criteria.
 */
import { hash } from 'node:crypto'
import { targetingOperators } from '../../service/contract/campaignResources.ts'
import type { Call, Reply } from '../area.ts'
import { adsRefusal, adsRefusals, invalidParameter, missingParameter, ok, type AdsError } from '../refusal.ts'
import { countryTargets } from '../campaigns/targetingLists.ts'
import { isTargetingType, targetingTypeError } from '../campaigns/targetingTypes.ts'
import type { AudienceState } from './state.ts'
import { textOf } from '../text.ts'
import { listOf, recordOf } from '../../unknownValue.ts'
import { listParam } from '../params.ts'

type InsightsCall = Call<AudienceState>

/** Words that follow the first keyword in related keywords, such as `mugs sale`. */
const WORDS =
  'sale news deals online shop today review price best new live gift ideas near me delivery guide trends size color brand store offers code free summer winter spring autumn kids women men outlet fashion style season week video photo'.split(
    ' ',
  )
const RELATED_COUNT = 30
const MAX_KEYWORDS = 10
const MAX_RANGE_MS = 7 * 86_400_000

/**
 * Returns an invented volume for each hour or day, of all keywords together, and 30 invented related keywords. A keyword that is also
 * negative does not count. Other negative keywords and a location reduce the volume.
 *
 * @throws {Refusal}
 */
export function searchKeywords(call: InsightsCall): Reply {
  const keywords = listParam(call, 'keywords') ?? []
  const negativeKeywords = listParam(call, 'negative_keywords') ?? []
  const total = keywords.length + negativeKeywords.length
  if (total > MAX_KEYWORDS)
    throw adsRefusals([invalidParameter('keywords', `at most ${MAX_KEYWORDS} keywords in total`, `${total} keywords`)])
  const start = Date.parse(String(call.params['start_time']))
  const end = call.params['end_time'] === undefined ? call.now : Date.parse(textOf(call.params['end_time']))
  if (end <= start) throw adsRefusal('INVALID_TIME_WINDOW', 'end_time must be later than start_time', { parameter: 'end_time' })
  if (end - start > MAX_RANGE_MS)
    throw adsRefusal('INVALID_TIME_WINDOW', 'start_time and end_time are at most 7 days apart', { parameter: 'start_time' })
  const location = call.params['location']
  if (typeof location === 'string' && !countryTargets.some(([, , id]) => id === location))
    throw adsRefusals([invalidParameter('location', 'a targeting value of a country', location)])
  const stepMs = call.params['granularity'] === 'DAY' ? 86_400_000 : 3_600_000
  const [searched, excluded] = [lowerCaseSet(keywords), lowerCaseSet(negativeKeywords)]
  const countedKeywords = searched.difference(excluded)
  const share = shareOf([...excluded.difference(searched), ...(typeof location === 'string' ? [location] : [])])
  const volume: number[] = []
  for (let at = start; at < end; at += stepMs) {
    const posts = [...countedKeywords].reduce((sum, keyword) => sum + (inventedNumber(`${keyword} ${at}`) % 5000), 0)
    volume.push(Math.floor(posts * share))
  }
  const stem = keywords[0] ?? ''
  const related = Array.from(
    { length: RELATED_COUNT },
    (_, index) => `${stem} ${WORDS[(inventedNumber(stem) + index) % WORDS.length] ?? ''}`,
  )
  return ok({ related_keywords: related, tweet_volume: volume })
}

function lowerCaseSet(keywords: readonly string[]): Set<string> {
  return new Set(keywords.map((keyword) => keyword.toLowerCase()))
}

/** Returns the invented share of posts that pass all conditions, such as a location. Each condition passes 10 to 89 % of the posts. */
function shareOf(conditions: readonly string[]): number {
  return conditions.reduce((share, condition) => (share * (10 + (inventedNumber(condition) % 80))) / 100, 1)
}

/**
 * Returns an invented range of the audience size for a body `{ targeting_criteria: [...] }` or the bare array.
 *
 * @throws {Refusal} with an error for each mistake in the criteria
 */
export function estimateAudience(call: InsightsCall): Reply {
  const criteria = listOf(call.params['targeting_criteria'])
  const errors: AdsError[] = []
  if (criteria.length === 0) errors.push(invalidParameter('targeting_criteria', 'at least one criterion', ''))
  for (const one of criteria) {
    const { targeting_type: type, targeting_value: value, operator_type: operator, ...rest } = recordOf(one)
    if (typeof type !== 'string') errors.push(missingParameter('targeting_type'))
    else if (!isTargetingType(type)) errors.push(targetingTypeError(type))
    if (typeof value !== 'string' && typeof value !== 'number') errors.push(missingParameter('targeting_value'))
    if (operator !== undefined && !targetingOperators.some((known) => known === operator))
      errors.push(invalidParameter('operator_type', `one of ${targetingOperators.join(', ')}`, operator))
    for (const name in rest)
      errors.push({ ...invalidParameter(name, 'a field of a criterion', ''), message: `"${name}" is not a field of a criterion` })
  }
  if (errors.length > 0) throw adsRefusals(errors)
  delete call.echo['targeting_criteria']
  const middle = 10_000 + (inventedNumber(JSON.stringify(criteria)) % 1_000_000)
  return ok({ audience_size: { min: Math.floor(middle * 0.9), max: Math.ceil(middle * 1.1) } })
}

function inventedNumber(text: string): number {
  return Number.parseInt(hash('sha256', text).slice(0, 8), 16)
}

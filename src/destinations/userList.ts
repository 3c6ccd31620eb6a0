/** What an answer to an upload of users proves; audiences and do-not-reach lists alike (spec 4.3, I10). */
import type { Exchange } from '../service/client/exchange.ts'
import { ambiguous, judgeEnvelope } from './answer.ts'
import type { Judgement, SentEntry } from './destination.ts'
import { asCount, isObject, type Json } from './json.ts'

/**
 * Counts are the only evidence there is: confirmed means that every result's two counts are equal and that both sums are
 * the users sent. All entries share one outcome, because a batch succeeds or fails as a whole (spec 4.3 rule 4).
 */
export function judgeUsers(exchange: Exchange, sent: readonly SentEntry[]): Judgement {
  const envelope = judgeEnvelope(exchange, sent.length)
  if (envelope.kind !== 'success') return envelope
  const data = envelope.body['data']
  // Some answers are one object, some an array (spec/gaps.md 5 'Audience success').
  const results = Array.isArray(data) ? (data as readonly Json[]) : isObject(data) ? [data] : undefined
  if (results === undefined) return ambiguous('wrong-shape')

  let expected = 0
  for (const entry of sent) expected += entry.users
  let success = 0
  let total = 0
  let equal = true
  let readable = results.length > 0
  const short: number[] = []
  for (let i = 0; i < results.length; i++) {
    const result = results[i]
    const own = isObject(result) ? asCount(result['success_count']) : undefined
    const all = isObject(result) ? asCount(result['total_count']) : undefined
    if (own === undefined || all === undefined) {
      readable = false
      short.push(i)
      continue
    }
    success += own
    total += all
    if (own !== all) equal = false
    if (own !== all || own !== sent[i]?.users) short.push(i)
  }
  if (readable && equal && success === expected && total === expected) {
    const confirmed = { outcome: 'confirmed' } as const
    return { kind: 'entries', entries: sent.map(() => confirmed) }
  }
  // More than was sent, everywhere alike: another way of counting (spec/gaps.md 5 'Counts'), which no halving cures.
  if (readable && equal && success === total && success > expected) return ambiguous('count_mismatch')
  // A result for each operation, in request order (spec 4.3 rule 4), tells which one fell short.
  const pointed = results.length === sent.length && short.length < sent.length ? short : []
  return ambiguous('count_mismatch', { miscounted: true, guilty: pointed })
}

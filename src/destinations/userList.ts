/** Shared parts of audiences and do-not-reach lists (spec 4.3). */
import { batchLimits } from '../service/contract/limits.ts'
import type { Destination, RequestOutcome, SentEntry } from './destination.ts'
import type { Exchange } from '../service/client/exchange.ts'
import { ambiguous, classifyEnvelope, isJson } from './answer.ts'
import { confirmsEveryUser } from './confirmationScan.ts'
import { isList, isObject, readCount } from './json.ts'

/** Members of `Destination` that both types share. */
export const userList = {
  words: { record: 'person', records: 'people', exampleKey: 'jane@example.com' },
  productSets: () => undefined,
  keys: 'identifiers',
  showsRecords: false,
  keyField: 'key',
  deletesNeedRecord: false,
  keepsEntries: '30 days',
  limits: batchLimits.userOperations,
  frame: () => ({ open: '[', close: ']' }),
  idOf: () => null,
  evidence: 'counts',
  refusedDeleteProvesRemoval: false,
  classify: classifyUsers,
} as const satisfies Partial<Destination>

/**
 * Classifies a response by its counts, its only evidence. All entries share one outcome, because a batch succeeds or fails as a whole
 * (spec 4.3 rule 4; docs/guarantees.md#counts-are-evidence). A readable success confirms all users if
 * - each result has two equal counts
 * - the counts of all results add up to the number of sent users
 *
 * Any other readable success is ambiguous.
 */
export function classifyUsers(exchange: Exchange, sent: readonly SentEntry[]): RequestOutcome {
  let expected = 0
  for (const entry of sent) expected += entry.users
  if (exchange.kind === 'answer' && exchange.status === 200 && isJson(exchange) && confirmsEveryUser(exchange.body, expected))
    return allConfirmed(sent)
  const envelope = classifyEnvelope(exchange, sent.length)
  if (envelope.kind !== 'success') return envelope
  const data = envelope.body['data']
  // Some answers are one object, some an array (docs/spec-notes.md#audience-uploads).
  const results = isList(data) ? data : isObject(data) ? [data] : undefined
  if (results === undefined) return ambiguous('wrong-shape', { suspectsRecord: true })

  let successSum = 0
  let totalSum = 0
  let countsAreEqual = true
  let isReadable = results.length > 0
  const mismatched: number[] = []
  for (let i = 0; i < results.length; i++) {
    const result = results[i]
    const successCount = isObject(result) ? readCount(result['success_count']) : undefined
    const totalCount = isObject(result) ? readCount(result['total_count']) : undefined
    if (successCount === undefined || totalCount === undefined) {
      isReadable = false
      mismatched.push(i)
      continue
    }
    successSum += successCount
    totalSum += totalCount
    if (successCount !== totalCount) countsAreEqual = false
    if (successCount !== totalCount || successCount !== sent[i]?.users) mismatched.push(i)
  }
  if (isReadable && countsAreEqual && successSum === expected && totalSum === expected) return allConfirmed(sent)
  // The service counts something else than users (docs/spec-notes.md#audience-uploads). With counts of operations, a split would succeed
  // only when each user has a request.
  const countsOperations = successSum === sent.length && expected - successSum > 1
  if (isReadable && countsAreEqual && (successSum > expected || countsOperations)) return ambiguous('count_mismatch')
  // If there is one result per operation, in request order (spec 4.3 rule 4), a result with a wrong count shows the failing operation.
  const failing = results.length === sent.length && mismatched.length < sent.length ? mismatched : []
  return ambiguous('count_mismatch', { suspectsRecord: true, failing })
}

function allConfirmed(sent: readonly SentEntry[]): RequestOutcome {
  const confirmed = { outcome: 'confirmed' } as const
  return { kind: 'entries', entries: sent.map(() => confirmed) }
}

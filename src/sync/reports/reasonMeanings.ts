/** Explains the codes that Sluice gives to attempts, batches and entries (in destinations/, sync/push/ and db/batches/). */

/**
 * Returns the meanings of the codes in `reason`, which are separated by spaces. Leaves out codes of the service, so the result may be empty.
 */
export function meaningsOfReason(reason: string): string {
  return reason.split(' ').map(meaningOfCode).filter(Boolean).join('; ')
}

function meaningOfCode(code: string): string {
  const status = /^http-(\d{3})(-unreadable)?$/.exec(code)
  if (status) return `the service answered ${status[1]}${status[2] === undefined ? '' : ', without a readable error'}`
  return meanings.get(code) ?? ''
}

const meanings: ReadonlyMap<string, string> = new Map([
  ['not-sent', 'nothing was sent: the service could not be reached, or the request was cancelled before it was sent'],
  ['CREDENTIALS_REFUSED', 'the service refuses the credentials'],
  ['not-in-time', 'not sent: the run was stopping, or too little time of its lease was left after the wait for the rate limit'],
  ['connection-lost', 'the connection was lost before the answer was complete'],
  ['rate-limited', 'the service answered 429: too many requests'],
  ['locked', 'the service answered 423: locked'],
  ['catalog-unchecked', 'the service answered 404 to a delete, and the check of the catalog got no clear answer'],
  ['count_mismatch', 'the counts of the answer are missing, or do not equal the number of users sent'],
  ['wrong-shape', 'the answer does not have the documented shape'],
  ['unreadable-answer', 'the answer is not JSON'],
  ['unreadable-errors', 'the errors of the answer cannot be read'],
  ['errors-beside-results', 'the answer has errors beside results'],
  ['id-missing', 'the answer has no result for this product'],
  ['id-doubled', 'the answer has two results for this product'],
  ['key-missing', 'the answer has no result for this product key'],
  ['key-doubled', 'the answer has two results for this product key'],
  ['key-contradicted', 'the answer contradicts itself about this product key'],
  ['unknown-status', 'the answer has a status that is not documented'],
  ['success-with-errors', 'the answer reports success and errors for the same product'],
  ['worker_died', 'the process that had it ended before an answer was recorded'],
  ['newer_plan', 'a newer plan replaced it before it was sent'],
  ['destination_removed', 'the state of its destination was removed from the database'],
  ['stale_plan', 'its plan was never applied and is out of date'],
  ['suppressed', 'the person was suppressed or erased, or opted out'],
  ['expired', 'its membership would have ended before it was sent; the next plan has new times'],
  ['set_aside', 'its operations wait in one request while a failing record is isolated'],
  ['other_half_confirmed', 'split without being sent, because the other half was confirmed'],
  // Earlier versions stored `other_half_confirmed` under this name.
  ['known_guilty', 'split without being sent, because the other half was confirmed'],
  ['after_sibling', 'waits for the other half of a split request'],
  ['after_pointed', 'waits until the record that the answer named is confirmed or refused'],
  ['after_isolation', 'waits until a failing record is isolated'],
])

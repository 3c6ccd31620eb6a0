/**
 * Columns of exports that say who may be reached, told by their names and by their values: unread, people who have left
 * would be sent (bad-inputs 201). Pure.
 */
import { normalizeHeader } from './fields.ts'
import { trimText } from './text.ts'

/** A state of people who left: `UNSUB_TIME`, `CLEAN_TIME`, `HasOptedOutOfEmail`, `Email Suppressions`, `hard bounce reason`. */
const left =
  /unsub|opt(?:ed)?_?out|bounced?(?!_?rate)|black_?list|block_?list|cleaned|clean_(?:time|campaign)|suppress|do_?not|complain|spam/
/** A wish: `newsletter`, `Accepts SMS Marketing`, `is_subscribed`. */
const wish = /opt(?:ed)?_?in|consent|marketing|newsletter|accepts|subscri(?:bed|ber)|subscription_stat/

/** What platforms write of somebody who must not be reached, in lower case, blanks for `_` and `-`. */
const leftWords: ReadonlySet<string> = new Set([
  'unsubscribed',
  'unsubscribe',
  'not subscribed',
  'non subscribed',
  'nonsubscribed',
  'never subscribed',
  'opted out',
  'opt out',
  'optout',
  'bounced',
  'hard bounce',
  'hard bounced',
  'soft bounced',
  'cleaned',
  'blacklisted',
  'blocklisted',
  'suppressed',
  'complained',
  'spam complaint',
  'marked as spam',
  'do not contact',
  'do not email',
  'do not call',
])

/** True for a column of people's state, as opposed to one of their wishes: unread, it withholds the run. */
export function tellsWhoLeft(column: string): boolean {
  return left.test(normalizeHeader(column))
}

export function tellsConsent(column: string): boolean {
  return tellsWhoLeft(column) || wish.test(normalizeHeader(column))
}

/** True for a whole cell such as `Unsubscribed` or `hard_bounce`. */
export function isLeftWord(cell: string): boolean {
  return cell.length >= 6 && cell.length <= 24 && leftWords.has(trimText(cell).toLowerCase().replace(/[_-]/g, ' '))
}

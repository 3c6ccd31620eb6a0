/** Answers list endpoints: `count`, `cursor`, `sort_by`, `with_deleted`, `with_total_count` (spec Conventions). */
import { hash } from 'node:crypto'
import { fieldsOf } from '../service/contract/fieldAccess.ts'
import type { Call, Reply } from './area.ts'
import { adsRefusals, invalidParameter, type Refusal } from './refusal.ts'
import { recordOf } from '../unknownValue.ts'

export interface ListOptions<T> {
  /** Attributes that `sort_by` may name if the records have them. Default: `created_at`, `updated_at`, `name`. */
  readonly sortable?: readonly string[]
  /** Converts a record to its wire form. Default: the record itself. */
  readonly render?: (record: T) => unknown
  /** Returns the id that identifies a record in a cursor. Default: its `id`. */
  readonly idOf?: (record: T) => string
}

/**
 * Returns one page of `records`. The argument must be in the default order. Omits deleted records, except with `with_deleted=true`. The
 * cursor contains the id and the position of the first record of the next page. The next page begins at that record, even if other records
 * were added or deleted meanwhile. If the record itself is no longer in the list, the page begins at the stored position.
 *
 * @throws {Refusal} for a wrong `sort_by`, a cursor of another listing, or a text that is not a cursor
 */
export function listReply<T extends object>(call: Call<unknown>, records: Iterable<T>, options: ListOptions<T> = {}): Reply {
  const withDeleted = call.params['with_deleted'] === true
  const idOf = options.idOf ?? ((record: T) => String(recordOf(record)['id']))
  const render = options.render ?? ((record: T) => record)
  const visible = [...records].filter((record) => withDeleted || recordOf(record)['deleted'] !== true)
  const sorted = sortRecords(call, visible, options.sortable)
  const count = typeof call.params['count'] === 'number' ? call.params['count'] : sorted.length
  const cursor = call.params['cursor']
  const listing = listingDigest(call)
  const start = typeof cursor === 'string' ? startIndex(call, cursor, listing, sorted, idOf) : 0
  const next = sorted[start + count]
  return {
    kind: 'ads',
    data: sorted.slice(start, start + count).map(render),
    nextCursor: next === undefined ? null : Buffer.from(`${start + count}.${listing}.${idOf(next)}`).toString('base64url'),
    ...(call.params['with_total_count'] === true ? { totalCount: sorted.length } : {}),
  }
}

/** Returns true if `text` begins with `q`, ignoring case. Returns true without a `q`. */
export function matchesPrefix(text: string | null | undefined, q: unknown): boolean {
  return typeof q !== 'string' || (text ?? '').toLowerCase().startsWith(q.toLowerCase())
}

/**
 * Returns true if each term of `q` is the beginning of a word in one of the texts, ignoring case. Returns true without a `q`, and false for
 * a `q` without terms, such as `*`.
 */
export function matchesTerms(texts: readonly (string | null | undefined)[], q: unknown): boolean {
  if (typeof q !== 'string') return true
  const words = texts.flatMap((text) => wordsOf(text ?? ''))
  const terms = wordsOf(q)
  return terms.length > 0 && terms.every((term) => words.some((word) => word.startsWith(term)))
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
}

function sortRecords<T extends object>(
  call: Call<unknown>,
  records: T[],
  attributes: readonly string[] = ['created_at', 'updated_at', 'name'],
): T[] {
  const sortBy = call.params['sort_by']
  if (!Array.isArray(sortBy) || sortBy.length === 0) return records
  const fields = new Set(fieldsOf(call.endpoint).map(({ name }) => name))
  const sortable = attributes.filter((name) => fields.has(name))
  const keys = sortBy.map((term: unknown) => {
    const match = /^(\w+)-(asc|desc)$/.exec(String(term))
    if (match === null || !sortable.includes(match[1] ?? ''))
      throw adsRefusals([invalidParameter('sort_by', `attribute-asc or attribute-desc with one of ${sortable.join(', ')}`, String(term))])
    return { name: match[1] ?? '', sign: match[2] === 'asc' ? 1 : -1 }
  })
  return records.toSorted((a, b) => {
    for (const { name, sign } of keys) {
      const order = compareValues(recordOf(a)[name], recordOf(b)[name])
      if (order !== 0) return order * sign
    }
    return 0
  })
}

function compareValues(a: unknown, b: unknown): number {
  if (a === b) return 0
  if (a === null || a === undefined) return -1
  if (b === null || b === undefined) return 1
  return a < b ? -1 : 1
}

/** Parameters that may differ from page to page of one listing. */
const PAGE_PARAMS: ReadonlySet<string> = new Set(['count', 'cursor', 'with_total_count'])

/** Returns a digest of endpoint, user, and all parameters except `PAGE_PARAMS`. A cursor is valid for listings with the same digest. */
export function listingDigest(call: Call<unknown>): string {
  const chosen = Object.entries(call.params)
    .filter(([name, value]) => !PAGE_PARAMS.has(name) && value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const text = JSON.stringify([call.endpoint.name, call.user?.id, chosen], (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  return hash('sha256', text).slice(0, 12)
}

/** Records the violation that a cursor belongs to another listing. Returns the refusal. */
export function reportOtherListing(call: Call<unknown>, cursor: string): Refusal {
  call.world.reportViolation('cursor_of_another_listing', 'a cursor of another endpoint, account, user or other parameters')
  return adsRefusals([invalidParameter('cursor', 'a cursor of an earlier answer to the same parameters', cursor)])
}

/** Returns true if the cursor has the form that `listReply` writes. */
export function isListCursor(cursor: string): boolean {
  return decodeCursor(cursor) !== null
}

function decodeCursor(cursor: string): RegExpExecArray | null {
  return /^(\d+)\.([0-9a-f]{12})\.(.*)$/s.exec(Buffer.from(cursor, 'base64url').toString())
}

/** Returns the index of the first record of a page. @throws {Refusal} for a cursor of another listing, or a text that is not a cursor */
function startIndex<T>(call: Call<unknown>, cursor: string, listing: string, records: readonly T[], idOf: (record: T) => string): number {
  const match = decodeCursor(cursor)
  // Product listings return cursors that look like product keys.
  if (match === null && /^\d{15,19}$/.test(cursor)) throw reportOtherListing(call, cursor)
  if (match === null) throw adsRefusals([invalidParameter('cursor', 'a cursor of an earlier answer', cursor)])
  if (match[2] !== listing) throw reportOtherListing(call, cursor)
  const index = Number(match[1])
  const foundIndex = records.findIndex((record) => idOf(record) === match[3])
  return foundIndex === -1 ? Math.min(index, records.length) : foundIndex
}

/** Finds known names in the text of a post, for `context_annotations` and for `entities.annotations` (spec 2.6). Pure. */
import { countCodePoints } from '../text.ts'

interface KnownName {
  readonly text: string
  /** Type of the annotation, and key in `DOMAINS`. */
  readonly type: 'Place' | 'Product' | 'Organization'
  readonly entityId: string
}

/** Real cities, and an invented brand with its products. A name comes before any name that is a part of it. */
const NAMES: readonly KnownName[] = [
  { text: 'Berlin', type: 'Place', entityId: '1000000000000000001' },
  { text: 'Munich', type: 'Place', entityId: '1000000000000000002' },
  { text: 'Paris', type: 'Place', entityId: '1000000000000000003' },
  { text: 'London', type: 'Place', entityId: '1000000000000000004' },
  { text: 'New York', type: 'Place', entityId: '1000000000000000005' },
  { text: 'Tokyo', type: 'Place', entityId: '1000000000000000006' },
  { text: 'Example Shop', type: 'Organization', entityId: '1000000000000000007' },
  { text: 'Spring mugs', type: 'Product', entityId: '1000000000000000008' },
  { text: 'mugs', type: 'Product', entityId: '1000000000000000009' },
]

/** Parts of a text in which no name is searched: links, email addresses, hashtags and mentions. */
const SKIPPED = /https?:\/\/\S+|(?<!\S)[^\s@]+@[^\s@]+\.\S+|[#@][\p{L}\p{N}_]+/giu

/** Patterns of the names as whole words, not after `/` or `.` and not before `.example`, because these are parts of addresses. */
const PATTERNS: ReadonlyMap<KnownName, RegExp> = new Map(
  NAMES.map((known) => [
    known,
    new RegExp(String.raw`(?<![\p{Script=Latin}\p{N}_/.])${known.text}(?![\p{Script=Latin}\p{N}_])(?!\.\w)`, 'gu'),
  ]),
)

const spacesFor = (text: string): string => ' '.repeat(text.length)

const DOMAINS = {
  Place: { id: '160', name: 'Place', description: 'A place, like a city' },
  Product: { id: '48', name: 'Product', description: 'Products of a brand' },
  Organization: { id: '45', name: 'Brand', description: 'Brands and companies' },
} as const

/** Known name in a text. */
export interface Annotation {
  readonly start: number
  readonly end: number
  readonly probability: number
  readonly type: string
  readonly normalized_text: string
}

/**
 * Returns the first occurrence of each known name, sorted by position. `start` and `end` count code points; `end` is exclusive. Undefined
 * without names.
 */
export function annotationsOf(text: string): readonly Annotation[] | undefined {
  let searchable = text.replace(SKIPPED, spacesFor)
  const found = Array.from(PATTERNS).flatMap(([known, pattern]) => {
    const at = searchable.search(pattern)
    if (at < 0) return []
    searchable = searchable.replace(pattern, spacesFor)
    const start = countCodePoints(text.slice(0, at))
    return [{ start, end: start + countCodePoints(known.text), probability: 0.94, type: known.type, normalized_text: known.text }]
  })
  return found.length === 0 ? undefined : found.toSorted((a, b) => a.start - b.start)
}

/** Returns a domain and an entity for each known name in the text. Undefined without names. */
export function contextAnnotationsOf(text: string): readonly object[] | undefined {
  const found = (annotationsOf(text) ?? []).flatMap(({ normalized_text: name }) => {
    const known = NAMES.find((one) => one.text === name)
    return known === undefined ? [] : [{ domain: DOMAINS[known.type], entity: { id: known.entityId, name } }]
  })
  return found.length === 0 ? undefined : found
}

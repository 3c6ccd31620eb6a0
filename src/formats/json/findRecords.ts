import { jsonOf } from '../../unknownValue.ts'

/** Place of the records inside an object. */
export interface RecordsPlace {
  /** Keys from the root object to the array: `['data', 'products']`. */
  readonly path: readonly string[]
  /** True if the place was detected, false if it was configured. A detected array must be the only array of objects. */
  readonly isDetected: boolean
}

/** Maximum number of keys in the path of a detected array of records. */
export const maxPathKeys = 2

// The last string of the sample may have no end. Such a string is one token, so that the search takes linear time.
const token = /"(?:[^"\\]|\\.)*("?)|[{}[\]:,]|[^\s"{}[\]:,]+/g

/** Array that may have the records. */
interface Candidate {
  readonly path: readonly string[]
  /** Number of keys of the first object of the array. */
  keys: number
}

/**
 * Returns the place of the only array of objects in a file that is a single object. `sample`: first bytes of the file. The array may be cut
 * off there. Returns undefined in these cases:
 * - There are several such arrays within `maxPathKeys`, or none.
 * - More objects follow (JSON lines).
 * - The object has at least as many strings outside arrays as the first element has keys. Such an object is a record itself, for example
 *   with an array of images.
 */
export function findRecords(sample: Buffer): RecordsPlace | undefined {
  const open: { readonly isArray: boolean; readonly key: string | undefined }[] = []
  const found: Candidate[] = []
  /** Candidate that is open, up to the end of its first object. */
  let candidate: Candidate | undefined
  let key: string | undefined
  let last = ''
  /** Number of string values outside arrays. */
  let texts = 0
  let openArrays = 0
  for (const [whole, end] of sample.toString('utf8').matchAll(token)) {
    // A string without an end does not count as a key or a value here.
    const part = end === '' ? 'cut' : whole
    if (last !== '' && open.length === 0) return undefined
    const isOutside = openArrays === 0
    const depth = candidate === undefined ? -1 : open.length - candidate.path.length
    if (candidate !== undefined && depth === 1 && last === '[') {
      if (part === '{') found.push(candidate)
      else candidate = undefined
    }
    if (part === ':') {
      key = keyOf(last)
      // The last string is a key, not a value.
      if (isOutside) texts--
      else if (candidate !== undefined && depth === 2) candidate.keys++
    } else if (part === '{' || part === '[') {
      if (part === '[' && isOutside && key !== undefined && open.length <= maxPathKeys)
        candidate = { path: [...open.slice(1).flatMap((level) => level.key ?? []), key], keys: 0 }
      open.push({ isArray: part === '[', key })
      if (part === '[') openArrays++
      key = undefined
    } else if (part === '}' || part === ']') {
      if (open.pop()?.isArray === true) openArrays--
      if (depth <= 2) candidate = undefined
    } else if (part !== ',' && part.startsWith('"') && isOutside) texts++
    if (part === ',') key = undefined
    last = part
  }
  if (last === '[' && candidate !== undefined && found.length === 0) return { path: candidate.path, isDetected: true }
  const [only, more] = found
  return only !== undefined && more === undefined && only.keys > texts ? { path: only.path, isDetected: true } : undefined
}

/** Returns the key of a token; undefined for a token that is not a string. */
function keyOf(text: string): string | undefined {
  const key = jsonOf(text)
  return typeof key === 'string' ? key : undefined
}

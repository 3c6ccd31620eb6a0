/** Place of the records inside an object. */
export interface RecordsPlace {
  /** Keys from the root object to the array: `['data', 'products']`. */
  readonly path: readonly string[]
  /** True if the place was detected, false if it was configured. A detected array must be the only array of objects. */
  readonly found: boolean
}

/** Number of levels below the root object in which an array of records is looked for. */
export const levels = 2

const token = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s"{}[\]:,]+/g

/** Array that may have the records. */
interface Candidate {
  readonly path: readonly string[]
  /** Number of keys of the first object of the array. */
  keys: number
}

/**
 * Returns the only array of objects in the first bytes of a file that is a single object. Undefined if there are several or none, or if
 * more objects follow (JSON lines). Also undefined if the object has at least as many texts as the first element has keys, because such
 * an object is a record itself, for example with an array of images. The array may be cut off in the sample.
 */
export function findRecords(sample: Buffer): RecordsPlace | undefined {
  const open: { readonly array: boolean; readonly key: string | undefined }[] = []
  const found: Candidate[] = []
  /** Candidate that is open, up to the end of its first object. */
  let candidate: Candidate | undefined
  let key: string | undefined
  let last = ''
  /** Number of texts outside arrays. */
  let texts = 0
  for (const [part] of sample.toString('utf8').matchAll(token)) {
    if (last !== '' && open.length === 0) return undefined
    const outside = open.every(({ array }) => !array)
    const depth = candidate === undefined ? -1 : open.length - candidate.path.length
    if (candidate !== undefined && depth === 1 && last === '[') {
      if (part === '{') found.push(candidate)
      else candidate = undefined
    }
    if (part === ':') {
      key = keyOf(last)
      if (outside) texts--
      else if (candidate !== undefined && depth === 2) candidate.keys++
    } else if (part === '{' || part === '[') {
      if (part === '[' && outside && key !== undefined && open.length <= levels)
        candidate = { path: [...open.slice(1).flatMap((level) => level.key ?? []), key], keys: 0 }
      open.push({ array: part === '[', key })
      key = undefined
    } else if (part === '}' || part === ']') {
      open.pop()
      if (depth <= 2) candidate = undefined
    } else if (part !== ',' && part.startsWith('"') && outside) texts++
    if (part === ',') key = undefined
    last = part
  }
  if (last === '[' && candidate !== undefined && found.length === 0) return { path: candidate.path, found: true }
  const [only, more] = found
  return only !== undefined && more === undefined && only.keys > texts ? { path: only.path, found: true } : undefined
}

/** Returns the key of a token; undefined for a token that is not a string. */
function keyOf(text: string): string | undefined {
  try {
    const key: unknown = JSON.parse(text)
    return typeof key === 'string' ? key : undefined
  } catch {
    return undefined
  }
}

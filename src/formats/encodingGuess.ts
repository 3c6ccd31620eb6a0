/** Guesses the encoding of bytes that are not UTF-8, by statistics. */
import { cutText } from '../cutText.ts'
import { looksGarbled } from '../mapping/garbled.ts'

/** Encoding that a file may have. */
export interface EncodingGuess {
  /** Value for `encoding:` of a source. */
  readonly encoding: string
  /**
   * Up to three values of the file, decoded with this encoding. A value has at most 30 characters. If the bytes contain an email, each
   * value is only the first character outside ASCII, with its neighbours.
   */
  readonly samples: readonly string[]
}

export interface EncodingGuesses {
  /** At most three guesses, the most likely first. No two of them decode the bytes to the same texts. */
  readonly guesses: readonly EncodingGuess[]
  /** True if the first guess is the only one, or far more likely than the second. Requires `minCells` values outside ASCII. */
  readonly certain: boolean
}

/**
 * Factor on the confidence in encodings that current programs rarely write: Macintosh, DOS, and ISO 8859. Instead of ISO 8859, a Windows
 * code page is more likely.
 */
const oldWeight = 0.7
const oldEncoding = /^(?:iso-8859|macintosh|x-mac|ibm)/
/** Minimum number of different values outside ASCII for a certain guess. With fewer values, a wrong guess may look certain. */
const minCells = 3
/**
 * Minimum ratio of the confidences of the first and the second guess for a certain guess. With this ratio, no certain guess of
 * test/unit/formats/encodingGuess.test.ts is wrong.
 */
const certainFactor = 1.4
const maxSamples = 3
const maxGuesses = 3
/** Number of bytes outside ASCII at which no further value is collected, because the statistics have enough. */
const enoughBytes = 32_768

/**
 * Guesses the encoding of `bytes`, which begin with the line of the first invalid byte. Loads the detector on demand, because its tables
 * take 20 MB.
 */
export async function guessEncodings(bytes: Buffer): Promise<EncodingGuesses> {
  const cells = cellsOutsideAscii(bytes)
  const { chardet } = await import('jschardet')
  // Cells of only ASCII are left out: they are equal in nearly all encodings, and would dominate the statistics.
  const evidence = Buffer.concat(cells.flatMap((cell) => [cell, Buffer.from('\n')]))
  const readings = new Map<string, { readonly encoding: string; readonly confidence: number; readonly texts: readonly string[] }>()
  // 63: encodings of all eras.
  for (const { encoding, confidence } of chardet.detectAll(evidence, { encodingEra: 63, ignoreThreshold: true })) {
    const label = encoding === null ? undefined : platformNameOf(encoding)
    const texts = label === undefined ? undefined : decodeAll(cells, label)
    if (label === undefined || texts === undefined || isUnlikely(texts)) continue
    const reading = texts.join('\n')
    const existing = readings.get(reading)
    // Encodings that read the bytes as the same texts are one guess, under the most likely name.
    const weighted = oldEncoding.test(label) ? confidence * oldWeight : confidence
    if (existing === undefined || weighted > existing.confidence) readings.set(reading, { encoding: label, confidence: weighted, texts })
  }
  const sorted = [...readings.values()].toSorted((a, b) => b.confidence - a.confidence)
  const [first, second] = sorted
  if (first === undefined) return { guesses: [], certain: false }
  const shown = sorted.slice(0, maxGuesses)
  const shownCells = cellsToShow(shown.map(({ texts }) => texts))
  const hasEmail = /[^\s@]@[^\s@]+\.[a-z]/i.test(bytes.toString('latin1'))
  return {
    guesses: shown.map(({ encoding, texts }) => ({ encoding, samples: shownCells.map((at) => sampleOf(texts[at] ?? '', hasEmail)) })),
    certain: cells.length >= minCells && (second === undefined || first.confidence >= second.confidence * certainFactor),
  }
}

/**
 * Returns the different cells of a table, or texts of a feed, that are not only ASCII. Splits at the separators of all formats. Stops after
 * `enoughBytes` of such cells. A last cell without a separator may end inside a character. Such a cell is left out if there is another.
 */
function cellsOutsideAscii(bytes: Buffer): readonly Buffer[] {
  const cells = new Map<string, Buffer>()
  let size = 0
  let start = 0
  let isOutsideAscii = false
  for (let i = 0; i <= bytes.length && size < enoughBytes; i++) {
    if (i === bytes.length && cells.size > 0) break
    const byte = bytes[i] ?? 0x0a
    if (byte >= 0x80) isOutsideAscii = true
    if (!separators.has(byte)) continue
    if (isOutsideAscii) {
      const cell = bytes.subarray(start, i)
      cells.set(cell.toString('latin1'), cell)
      size += cell.length
    }
    start = i + 1
    isOutsideAscii = false
  }
  return [...cells.values()]
}

const separators: ReadonlySet<number> = new Set(Buffer.from('\t\n\r",;<>'))

/** Returns the platform's name of an encoding; undefined if the platform cannot decode it. */
function platformNameOf(name: string): string | undefined {
  try {
    return new TextDecoder(platformNames.get(name.toLowerCase()) ?? name).encoding
  } catch {
    return undefined
  }
}

/** Names of the platform for encodings that the detector names differently. */
const platformNames: ReadonlyMap<string, string> = new Map([
  ['cp932', 'shift_jis'],
  ['cp949', 'euc-kr'],
  ['maccyrillic', 'x-mac-cyrillic'],
  ['macroman', 'macintosh'],
])

/** Returns true if a text has a control character (0x80 to 0x9F). Also true if more than half of the texts look garbled. */
function isUnlikely(texts: readonly string[]): boolean {
  return texts.some((text) => /[\u0080-\u009f]/.test(text)) || texts.filter(looksGarbled).length * 2 > texts.length
}

/** Decodes the cells; undefined if one is not valid in this encoding. */
function decodeAll(cells: readonly Buffer[], label: string): readonly string[] | undefined {
  try {
    return cells.map((cell) => new TextDecoder(label, { fatal: true }).decode(cell).trim())
  } catch {
    return undefined
  }
}

/** Returns the indexes of at most three cells to show, first the cells that the guesses decode differently. */
function cellsToShow(readings: readonly (readonly string[])[]): readonly number[] {
  const indexes = (readings[0] ?? []).map((_, at) => at)
  const countReadings = (at: number) => new Set(readings.map((texts) => texts[at])).size
  return indexes.toSorted((a, b) => countReadings(b) - countReadings(a) || a - b).slice(0, maxSamples)
}

/** Returns a sample of a text. If the file has an email: only the first character outside ASCII, with its neighbours. */
function sampleOf(text: string, hasEmail: boolean): string {
  if (!hasEmail) return text.length > 30 ? `${cutText(text, 30)}…` : text
  return /.?[^\u0000-\u007f].?/u.exec(text)?.[0] ?? ''
}

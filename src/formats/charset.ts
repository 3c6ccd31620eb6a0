import { isUtf8 } from 'node:buffer'
import type { ByteQueue } from './byteQueue.ts'
import { EncodingError } from './encodingError.ts'
import { guessEncodings } from './encodingGuess.ts'
import { fileError } from './fileError.ts'

/** Text of a file, decoded to UTF-8. */
export interface Decoded {
  /** Detected or configured encoding in lower case: `utf-8`, `utf-16le`, `windows-1252` … */
  readonly encoding: string
  /** UTF-8 without byte order mark. */
  readonly chunks: AsyncIterable<Buffer>
}

/** Encodings that are declared outside the file. */
export interface EncodingSettings {
  /** Name of the source in messages. */
  readonly name: string
  /** Value of `encoding:` in the pipeline file; `auto` to detect the encoding. */
  readonly setting: string
  /** `charset` of an HTTP response. */
  readonly httpCharset?: string
}

/**
 * Decodes bytes of any encoding that `TextDecoder` supports to UTF-8. Rejects the file if a byte is not valid in the encoding. The encoding
 * is that of the first of these that exists: byte order mark, setting, HTTP header, XML declaration. Without any, it is UTF-8.
 *
 * @throws RunError FILE_ENCODING, here or while the chunks are read; FILE_TRUNCATED if the file ends inside a character
 */
export async function decodeText(input: ByteQueue, settings: EncodingSettings): Promise<Decoded> {
  const head = await input.peek(512)
  const mark = byteOrderMark(head)
  const setting = settings.setting === 'auto' ? undefined : labelOf(settings.setting, settings.name)
  // The setting `utf-16` names no byte order, so the mark of either order agrees with it.
  const markAgrees =
    mark?.encoding === setting || (settings.setting.toLowerCase() === 'utf-16' && mark?.encoding.startsWith('utf-16') === true)
  if (mark !== undefined && setting !== undefined && !markAgrees) {
    throw fileError(
      'FILE_ENCODING',
      `the file starts with the byte order mark of ${mark.encoding}, but the setting is ${settings.setting}`,
      {
        name: settings.name,
        at: 'byte 0',
        hint: 'Remove `encoding:` or set it to the encoding of the file.',
      },
    )
  }
  const declared = /^\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']/.exec(head.toString('latin1'))?.[1]
  const httpCharset = settings.httpCharset === '' ? undefined : settings.httpCharset
  const precedingEncoding = mark?.encoding ?? setting ?? (httpCharset === undefined ? undefined : labelOf(httpCharset, settings.name))
  const encoding = precedingEncoding ?? labelOf(declared ?? 'utf-8', settings.name)
  // `declared` was read with one byte for each character, so the file is not UTF-16. Programs write such a declaration if they encode their
  // text later.
  if (precedingEncoding === undefined && encoding.startsWith('utf-16')) {
    throw fileError('FILE_ENCODING', 'the XML declaration names utf-16, but it is not UTF-16 itself', {
      name: settings.name,
      at: 'byte 0',
      hint: 'Set `encoding: utf-8` of the source, or correct the declaration.',
    })
  }
  if (mark !== undefined) await input.take(mark.length)
  if (encoding === 'utf-8') {
    if (mark === undefined && looksLikeUtf16(head)) {
      throw fileError('FILE_ENCODING', 'every second byte is zero: this looks like UTF-16 without a byte order mark', {
        name: settings.name,
        at: 'byte 0',
        hint: 'Set `encoding: utf-16le` (or utf-16be), or export as UTF-8.',
      })
    }
    return { encoding, chunks: checkedUtf8(input, settings.name, mark?.length ?? 0) }
  }
  return { encoding, chunks: transcoded(input, encoding, settings.name, mark?.length ?? 0) }
}

function byteOrderMark(head: Buffer): { readonly encoding: string; readonly length: number } | undefined {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return { encoding: 'utf-8', length: 3 }
  if (head[0] === 0xff && head[1] === 0xfe) return { encoding: 'utf-16le', length: 2 }
  if (head[0] === 0xfe && head[1] === 0xff) return { encoding: 'utf-16be', length: 2 }
  return undefined
}

/** Returns the platform's name of an encoding. @throws RunError FILE_ENCODING if it is not known */
function labelOf(label: string, name: string): string {
  try {
    return new TextDecoder(label).encoding
  } catch (error) {
    throw fileError('FILE_ENCODING', `the encoding ${JSON.stringify(label.slice(0, 40))} is not known`, {
      name,
      hint: 'Set `encoding:` to a name such as utf-8, utf-16le, windows-1252, iso-8859-2 or shift_jis.',
      cause: error,
    })
  }
}

/** Returns true if over 70 % of the bytes at even or at odd positions are zero. UTF-16 without a byte order mark looks like this. */
function looksLikeUtf16(head: Buffer): boolean {
  if (head.length < 4) return false
  let even = 0
  let odd = 0
  const half = Math.floor(head.length / 2)
  for (let i = 0; i < half * 2; i++) {
    if (head[i] !== 0) continue
    if (i % 2 === 0) even++
    else odd++
  }
  return even > half * 0.7 || odd > half * 0.7
}

/**
 * Yields UTF-8 unchanged, split between characters. Validates it with `isUtf8`, which is vectorized. `markLength`: length of the
 * byte order mark.
 */
async function* checkedUtf8(input: ByteQueue, name: string, markLength: number): AsyncGenerator<Buffer> {
  let carry: Buffer = Buffer.alloc(0)
  let offset = markLength
  for await (const chunk of input) {
    const bytes = carry.length === 0 ? chunk : Buffer.concat([carry, chunk])
    const completeBytes = bytes.length - countIncompleteBytes(bytes)
    const text = bytes.subarray(0, completeBytes)
    if (!isUtf8(text)) throw await notUtf8Error(input, { name, bytes, offset })
    offset += completeBytes
    // The rest is copied, because the chunk may be reused.
    carry = Buffer.from(bytes.subarray(completeBytes))
    if (text.length > 0) yield text
  }
  if (carry.length > 0) {
    throw fileError('FILE_TRUNCATED', 'the file ends inside a character', {
      name,
      at: `byte ${offset}`,
      hint: 'Export or transfer the file again.',
    })
  }
}

/** Counts the bytes at the end that belong to an incomplete character. */
function countIncompleteBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    // The index is inside the buffer.
    const byte = bytes[bytes.length - back] as number
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
  }
  return 0
}

/** Returns the offset of the first character that is not valid UTF-8. */
function firstInvalidByte(text: Buffer): number {
  let low = 0
  let high = text.length
  // Binary search for the longest valid prefix; an incomplete character at its end is not an error.
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const part = text.subarray(0, middle)
    if (isUtf8(part.subarray(0, middle - countIncompleteBytes(part)))) low = middle
    else high = middle - 1
  }
  return low - countIncompleteBytes(text.subarray(0, low))
}

/** Number of bytes after the current chunk that the guess uses. */
const bytesForGuess = 65_536

/** Returns the error for a chunk with an invalid byte, with guesses of the encoding. `offset`: offset of the chunk in the file. */
async function notUtf8Error(
  input: ByteQueue,
  piece: { readonly name: string; readonly bytes: Buffer; readonly offset: number },
): Promise<EncodingError> {
  const invalidAt = firstInvalidByte(piece.bytes)
  const lineStart = piece.bytes.lastIndexOf(0x0a, invalidAt) + 1
  const guesses = await guessEncodings(Buffer.concat([piece.bytes.subarray(lineStart), await input.peek(bytesForGuess)]))
  return new EncodingError({ name: piece.name, byte: piece.offset + invalidAt, found: guesses })
}

/** Yields the text of another encoding as UTF-8. `markLength`: length of the byte order mark. */
async function* transcoded(input: AsyncIterable<Buffer>, encoding: string, name: string, markLength: number): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true })
  let offset = markLength
  for await (const chunk of input) {
    const text = decodeOr(
      () => decoder.decode(chunk, { stream: true }),
      // The decoder does not report the place in the chunk.
      () =>
        fileError('FILE_ENCODING', `bytes that are not ${encoding}`, {
          name,
          at: `bytes ${offset} to ${offset + chunk.length - 1}`,
          hint: 'Set `encoding:` to the encoding of the file (windows-1252 is common in exports of older programs), or export as UTF-8.',
        }),
    )
    offset += chunk.length
    if (text !== '') yield Buffer.from(text, 'utf8')
  }
  const rest = decodeOr(
    () => decoder.decode(),
    () =>
      fileError('FILE_TRUNCATED', 'the file ends inside a character', {
        name,
        at: `byte ${offset}`,
        hint: 'Export or transfer the file again.',
      }),
  )
  if (rest !== '') yield Buffer.from(rest, 'utf8')
}

function decodeOr(decode: () => string, failure: () => Error): string {
  try {
    return decode()
  } catch {
    throw failure()
  }
}

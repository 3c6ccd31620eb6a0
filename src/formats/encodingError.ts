import { RunError } from '../errors.ts'
import type { EncodingGuesses } from './encodingGuess.ts'

/** Error for bytes that are not UTF-8 in a file that is read as UTF-8. `found` has samples of the file; the message has none. */
export class EncodingError extends RunError {
  readonly found: EncodingGuesses

  constructor({ name, byte, found }: { readonly name: string; readonly byte: number; readonly found: EncodingGuesses }) {
    const names = found.guesses.map(({ encoding }) => encoding)
    const likely = names[0] === undefined ? '' : found.certain ? `; they look like ${names[0]}` : `; they may be ${names.join(' or ')}`
    super('FILE_ENCODING', `bytes that are not utf-8${likely}`, {
      where: `${name}, byte ${byte}`,
      hint:
        names[0] === undefined
          ? 'Set `encoding:` of the source to the encoding of the file, or export as UTF-8.'
          : `Set \`encoding: ${names[0]}\` of the source${found.certain ? '' : ' (or the real encoding; sluice init shows samples of each)'}, or export as UTF-8.`,
    })
    this.found = found
  }
}

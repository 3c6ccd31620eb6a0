import { RunError } from '../errors.ts'
import type { EncodingGuesses } from './encodingGuess.ts'

/** Bytes that are not UTF-8 where nothing says what else they are. Its message holds no value of the file; `found` does. */
export class EncodingError extends RunError {
  readonly found: EncodingGuesses

  constructor({ name, byte, found }: { readonly name: string; readonly byte: number; readonly found: EncodingGuesses }) {
    const names = found.guesses.map(({ encoding }) => encoding)
    const likely = names[0] === undefined ? '' : found.certain ? `; they look like ${names[0]}` : `; they may be ${names.join(' or ')}`
    super('FILE_ENCODING', `bytes that are not utf-8${likely}`, {
      where: `${name}, byte ${byte}`,
      hint:
        names[0] === undefined
          ? 'Set `encoding:` of the source to what the file is, or export as UTF-8.'
          : `Set \`encoding: ${names[0]}\` of the source${found.certain ? '' : ' (or what the file is; sluice init shows what each reads)'}, or export as UTF-8.`,
    })
    this.found = found
  }
}

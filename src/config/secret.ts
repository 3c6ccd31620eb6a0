import { inspect } from 'node:util'

const shown = '[secret]'

/** A value that must not be shown: it prints as `[secret]` wherever it is turned into text. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The value itself, for the one place that needs it (a signature, a connection). Never log it. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return shown
  }

  toJSON(): string {
    return shown
  }

  [inspect.custom](): string {
    return shown
  }
}

/**
 * Hides known secrets in a text: the last net under everything that is written to stderr. Shorter than six characters
 * is left alone, because hiding `1` or `key` would make every sentence unreadable and protect nothing.
 */
export function hideSecrets(text: string, secrets: readonly Secret[]): string {
  let hidden = text
  for (const secret of secrets) {
    const value = secret.reveal()
    if (value.length < 6) continue
    hidden = hidden.replaceAll(value, shown)
    const encoded = encodeURIComponent(value)
    if (encoded !== value) hidden = hidden.replaceAll(encoded, shown)
  }
  return hidden
}

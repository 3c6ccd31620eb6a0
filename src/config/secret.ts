import { inspect } from 'node:util'

const placeholder = '[secret]'

/** Secret value. Converted to a text, to JSON or by `util.inspect`, it is `[secret]`. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** Returns the value, for a signature or a connection. Never log it. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return placeholder
  }

  toJSON(): string {
    return placeholder
  }

  [inspect.custom](): string {
    return placeholder
  }
}

/**
 * Replaces known secrets in a text, also in their URL-encoded form. Secrets of less than six characters are not replaced, because
 * replacing `1` or `key` would make the text unreadable.
 */
export function hideSecrets(text: string, secrets: readonly Secret[]): string {
  let hidden = text
  for (const secret of secrets) {
    const value = secret.reveal()
    if (value.length < 6) continue
    hidden = hidden.replaceAll(value, placeholder)
    const encoded = encodeURIComponent(value)
    if (encoded !== value) hidden = hidden.replaceAll(encoded, placeholder)
  }
  return hidden
}

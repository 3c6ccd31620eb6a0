/** Replaces U+0000 by ␀ and lone surrogates by U+FFFD, because Postgres cannot store them. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '␀').toWellFormed()
}

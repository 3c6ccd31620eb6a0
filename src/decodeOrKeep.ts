/** Decodes percent-escapes. Returns a text with an invalid escape unchanged. */
export function decodeOrKeep(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

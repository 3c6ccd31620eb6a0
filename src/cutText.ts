/** Returns at most the first `length` characters, without half of a surrogate pair at the end. Postgres rejects JSON with such a half. */
export function cutText(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, '')
}

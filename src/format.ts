/** Formats numbers, durations and instants for users. JSON output has them unformatted. */

let numbers: Intl.NumberFormat | undefined

/** `10,240`. */
export function count(value: number): string {
  numbers ??= new Intl.NumberFormat('en-US')
  return numbers.format(value)
}

/** `1 request`, `14 requests`. `several`: plural of a noun that has no regular one. */
export function plural(value: number, noun: string, several = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : several}`
}

/** `0.4 s`, `18 s`, `3 min 5 s`, `2 h 4 min`. */
export function duration(ms: number): string {
  const seconds = ms / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`
}

/** Formats an instant as ISO 8601 in UTC, without milliseconds. */
export function instant(value: string | Date | number): string {
  return new Date(value).toISOString().replace(/\.\d{3}Z$/, 'Z')
}

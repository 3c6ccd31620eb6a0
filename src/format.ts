/** Formats numbers, durations and instants for users. JSON output has them unformatted. */

let numbers: Intl.NumberFormat | undefined

/** Formats a number as `10,240`. */
export function count(value: number): string {
  numbers ??= new Intl.NumberFormat('en-US')
  return numbers.format(value)
}

/** Formats a number with its noun: `1 request`, `14 requests`. `several`: plural of an irregular noun. */
export function plural(value: number, noun: string, several = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : several}`
}

/** Formats a duration as `0.4 s`, `18 s`, `3 min 5 s` or `2 h 4 min`. */
export function duration(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`
  // Rounded before the parts are split off, so that no part is 60.
  const seconds = Math.round(ms / 1000)
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.round(seconds / 60)
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Formats an instant as ISO 8601 in UTC, without milliseconds. */
export function instant(value: string | Date | number): string {
  return new Date(value).toISOString().replace(/\.\d{3}Z$/, 'Z')
}

/** Quotes an argument for a shell. Returns a text that needs no quotes unchanged. */
export function quoteArgument(text: string): string {
  return /^[\w.:/@%+-][\w.:/@%+=,-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** Quotes a text for a pipeline file in YAML. `${` in it, such as in the name of a column, becomes `$${`, because it is no variable. */
export function quoteSetting(text: string): string {
  return JSON.stringify(text.replaceAll('${', () => '$${'))
}

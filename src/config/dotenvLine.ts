/**
 * Returns the line of a `.env` that sets the variable, with quotes only where the value needs them. Without quotes, a `#` would begin a
 * comment, and spaces at the ends would be lost. In double quotes, `\n` would be a new line, so these are the last choice.
 */
export function dotenvLine(name: string, value: string): string {
  const needsQuotes = /#|^\s|\s$|^['"`]/.test(value)
  const quote = needsQuotes ? (["'", '`', '"'].find((one) => !value.includes(one)) ?? '') : ''
  return `${name}=${quote}${value}${quote}`
}

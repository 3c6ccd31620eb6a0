/**
 * Returns a pattern that matches any of the alternatives. `lines`: an alternative on each line, without the spaces around it. Lines that
 * begin with `#` are comments. One alternative on a line shows in a diff what changed.
 */
export function anyOf(lines: string): RegExp {
  const alternatives = lines
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  return new RegExp(alternatives.join('|'))
}

/**
 * Returns the name of a test as a page shows it. The parts that each row of a test's table fills in (`%s`, `$name`, `${…}`) become an
 * ellipsis.
 */
export function readableTestName(name: string): string {
  return name
    .replaceAll("\\'", "'")
    .replaceAll(/\$\{[^}]*\}|%[sdifjo]|\$[a-z]\w*/g, '…')
    .trim()
}

/** Returns the name of a test as a page shows it: what differs from row to row of a table (`%s`, `$name`, `${…}`) is an ellipsis. */
export function readableTestName(name: string): string {
  return name
    .replaceAll("\\'", "'")
    .replaceAll(/\$\{[^}]*\}|%[sdifjo]|\$[a-z]\w*/g, '…')
    .trim()
}

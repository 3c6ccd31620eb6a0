import { parse } from 'dotenv'

export interface DotenvChange {
  /** New text of the file; undefined if nothing changes. */
  readonly text: string | undefined
  readonly added: readonly string[]
  /** Names that already have a value. */
  readonly kept: readonly string[]
}

/**
 * Adds variables to the text of a `.env`. Missing ones are appended under `comment`, empty ones are filled in place, and
 * existing values are kept. Idempotent. Pure.
 */
export function addToDotenv(existing: string, values: Readonly<Record<string, string>>, comment: readonly string[]): DotenvChange {
  const there = parse(existing)
  const kept = Object.keys(values).filter((name) => (there[name] ?? '') !== '')
  const added = Object.keys(values).filter((name) => !kept.includes(name) && there[name] !== values[name])
  if (added.length === 0) return { text: undefined, added, kept }
  const filled = added.filter((name) => name in there)
  let text = existing
  for (const name of filled)
    text = text.replace(new RegExp(`^(\\s*(?:export\\s+)?${name}\\s*=).*$`, 'm'), (_, head: string) => `${head}${values[name]}`)
  const behind = added.filter((name) => !filled.includes(name))
  if (behind.length > 0) {
    if (text !== '') text = `${text.trimEnd()}\n\n`
    text += [...comment.map((line) => `# ${line}`), ...behind.map((name) => `${name}=${values[name]}`), ''].join('\n')
  }
  return { text, added, kept }
}

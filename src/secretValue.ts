import { readFileSync } from 'node:fs'
import { errorCode } from './unknownValue.ts'

/** Secret, or the reason why it cannot be used: both variables are set, or the file is empty or cannot be read. */
export type SecretValue =
  | { readonly value: string }
  | { readonly fault: 'both' }
  | { readonly fault: 'empty' }
  | { readonly fault: 'unreadable'; readonly code: string; readonly cause: unknown }

/** Reads a secret from the variable or from the file that `NAME_FILE` names, trimmed; undefined if neither is set. */
export function readSecretValue(env: Readonly<Record<string, string | undefined>>, name: string): SecretValue | undefined {
  const value = env[name]?.trim() ?? ''
  const file = env[`${name}_FILE`]?.trim() ?? ''
  if (file === '') return value === '' ? undefined : { value }
  if (value !== '') return { fault: 'both' }
  try {
    const content = readFileSync(file, 'utf8').trim()
    return content === '' ? { fault: 'empty' } : { value: content }
  } catch (cause) {
    return { fault: 'unreadable', code: errorCode(cause) ?? 'unknown', cause }
  }
}

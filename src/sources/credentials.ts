import { readFileSync } from 'node:fs'
import { RunError } from '../errors.ts'
import type { SourceDefinition } from '../model/pipeline.ts'

/**
 * Reads a credential from the environment variable that the pipeline names, or from the file in `NAME_FILE`. Returns undefined if the
 * pipeline names no variable for this credential.
 *
 * @throws RunError SOURCE_CREDENTIALS if the variable is not set or its file cannot be read; the message has names, never values
 */
export function readCredential(
  key: string,
  names: Readonly<Record<string, string>> | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const name = names?.[key]
  if (name === undefined) return undefined
  // A secret that was copied from a file often ends with a line end.
  const value = env[name]?.replace(/[\r\n]+$/, '')
  if (value !== undefined && value !== '') return value
  const file = env[`${name}_FILE`]
  if (file !== undefined && file !== '') {
    try {
      return readFileSync(file, 'utf8').trim()
    } catch (error) {
      throw new RunError('SOURCE_CREDENTIALS', `the file named by ${name}_FILE cannot be read`, {
        where: `credentials.${key}`,
        hint: 'Check the path and the permissions of the secret file.',
        cause: error,
      })
    }
  }
  throw new RunError('SOURCE_CREDENTIALS', `the environment variable ${name} is not set`, {
    where: `credentials.${key}`,
    hint: `Set ${name}, or ${name}_FILE to a file that contains the secret.`,
  })
}

/** Names of the credentials that each type of source uses. Other sources have none. */
const known: readonly (readonly [address: RegExp, names: readonly string[]])[] = [
  [/^https?:/i, ['username', 'password', 'token', 'header:X-Name']],
  [/^sftp:/i, ['username', 'password', 'private_key', 'passphrase']],
  [/^s3:/i, ['access_key_id', 'secret_access_key', 'session_token']],
  [/^postgres(ql)?:/i, ['url', 'password']],
]

/**
 * Rejects a credential that the source does not use, because the request would be sent without it.
 *
 * @throws RunError SOURCE_CREDENTIALS
 */
export function checkCredentialNames(definition: SourceDefinition): void {
  const names = known.find(([address]) => address.test(definition.uri))?.[1] ?? []
  for (const key of Object.keys(definition.credentials ?? {})) {
    if (names.includes(key) || (names.includes('header:X-Name') && key.startsWith('header:'))) continue
    throw new RunError('SOURCE_CREDENTIALS', `${JSON.stringify(key)} is not a credential of this type of source`, {
      where: `credentials.${key}`,
      hint: names.length === 0 ? 'Take `credentials` out: nothing would read them.' : `Name one of ${names.join(', ')}.`,
    })
  }
}

import { readFileSync } from 'node:fs'
import { RunError } from '../errors.ts'
import type { SourceDefinition } from '../pipeline/definition.ts'

/**
 * A credential by the name of its environment variable, or from the file that `NAME_FILE` names. Undefined where the
 * pipeline names none.
 *
 * @throws RunError SOURCE_CREDENTIALS when the variable is named but not set; the message holds names, never values
 */
export function readCredential(
  key: string,
  names: Readonly<Record<string, string>> | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const name = names?.[key]
  if (name === undefined) return undefined
  // Secrets that come out of a file often bring its last line end along.
  const value = env[name]?.replace(/[\r\n]+$/, '')
  if (value !== undefined && value !== '') return value
  const file = env[`${name}_FILE`]
  if (file !== undefined && file !== '') {
    try {
      return readFileSync(file, 'utf8').trim()
    } catch (error) {
      throw new RunError('SOURCE_CREDENTIALS', `the file named by ${name}_FILE cannot be read`, {
        where: `credentials.${key}`,
        mend: 'Check the path and the rights of the secret file.',
        cause: error,
      })
    }
  }
  throw new RunError('SOURCE_CREDENTIALS', `the environment variable ${name} is not set`, {
    where: `credentials.${key}`,
    mend: `Set ${name}, or ${name}_FILE to a file that holds the secret.`,
  })
}

/** What each kind of source may name, by the beginning of its address. Others have no credentials. */
const known: readonly (readonly [address: RegExp, names: readonly string[]])[] = [
  [/^https?:/i, ['username', 'password', 'token', 'header:X-Name']],
  [/^sftp:/i, ['username', 'password', 'private_key', 'passphrase']],
  [/^s3:/i, ['access_key_id', 'secret_access_key', 'session_token']],
  [/^postgres(ql)?:/i, ['url', 'password']],
]

/**
 * Refuses a credential that nobody would read: a source would be asked without it.
 *
 * @throws RunError SOURCE_CREDENTIALS
 */
export function checkCredentialNames(definition: SourceDefinition): void {
  const names = known.find(([address]) => address.test(definition.uri))?.[1] ?? []
  for (const key of Object.keys(definition.credentials ?? {})) {
    if (names.includes(key) || (names.includes('header:X-Name') && key.startsWith('header:'))) continue
    throw new RunError('SOURCE_CREDENTIALS', `${JSON.stringify(key)} is no credential of this kind of source`, {
      where: `credentials.${key}`,
      mend: names.length === 0 ? 'Take `credentials` out: nothing would read them.' : `Name one of ${names.join(', ')}.`,
    })
  }
}

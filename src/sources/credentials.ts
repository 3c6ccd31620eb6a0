/** Reads and checks the credentials that a source names. */
import { RunError } from '../errors.ts'
import type { SourceDefinition } from '../model/pipeline.ts'
import { readSecretValue } from '../secretValue.ts'
import { sourceTypeOf, type SourceType } from './sourceAddress.ts'

/**
 * Reads a credential from the environment variable that the pipeline names, or from the file in `NAME_FILE`. Returns undefined if the
 * pipeline names no variable for this credential.
 *
 * @throws RunError SOURCE_CREDENTIALS if neither variable is set, or if `readSecretValue` reports a fault. The message has only names
 */
export function readCredential(
  key: string,
  names: Readonly<Record<string, string>> | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const name = names?.[key]
  if (name === undefined) return undefined
  const read = readSecretValue(env, name)
  if (read !== undefined && 'value' in read) return read.value
  const file = `${name}_FILE`
  const error = (message: string, hint: string, cause?: unknown) =>
    new RunError('SOURCE_CREDENTIALS', message, { where: `credentials.${key}`, hint, cause })
  if (read === undefined)
    throw error(`the environment variable ${name} is not set`, `Set ${name}, or ${file} to a file that contains the secret.`)
  if (read.fault === 'both') throw error(`both ${name} and ${file} are set`, `Unset one of ${name} and ${file}.`)
  if (read.fault === 'empty') throw error(`${file} names an empty file`, `Put the value of ${name} into it.`)
  throw error(
    `${file} names a file that cannot be read (${read.code})`,
    'Check the path and the permissions of the secret file.',
    read.cause,
  )
}

/** Names of the credentials that each type of source uses. Other types use none. */
const credentialNames: Readonly<Partial<Record<SourceType, readonly string[]>>> = {
  http: ['username', 'password', 'token', 'header:X-Name'],
  sftp: ['username', 'password', 'private_key', 'passphrase'],
  s3: ['access_key_id', 'secret_access_key', 'session_token'],
  postgres: ['url', 'password'],
}

/**
 * Rejects a credential that the type of the source does not use, because the request would be sent without it.
 *
 * @throws RunError SOURCE_CREDENTIALS
 */
export function checkCredentialNames(definition: SourceDefinition): void {
  const type = sourceTypeOf(definition.uri)
  const names = (type === undefined ? undefined : credentialNames[type]) ?? []
  for (const key of Object.keys(definition.credentials ?? {})) {
    if (names.includes(key) || (names.includes('header:X-Name') && key.startsWith('header:'))) continue
    throw new RunError('SOURCE_CREDENTIALS', `${JSON.stringify(key)} is not a credential of this type of source`, {
      where: `credentials.${key}`,
      hint: names.length === 0 ? 'Take `credentials` out: nothing would read them.' : `Name one of ${names.join(', ')}.`,
    })
  }
}

import { readFileSync } from 'node:fs'
import { RunError } from '../errors.ts'

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
  const value = env[name]
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

import { RunError } from '../../errors.ts'
import type { SourceDefinition } from '../../model/pipeline.ts'
import { readCredential } from '../credentials.ts'

/** Header names by RFC 9110 section 5.6.2, in lower case. */
const headerName = /^[!#$%&'*+.^_`|~\w-]+$/

/** Headers that select a part of a feed or control the transfer. A pipeline must not set these headers. */
const forbiddenHeaders = /^(range|if-[a-z-]+|accept-encoding|content-length|transfer-encoding|te|connection|upgrade|expect)$/

/** Header values by RFC 9110 section 5.5: visible characters of one byte, spaces and tabs. */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * Returns the headers of the credentials `username` and `password` (basic), `token` (bearer) and `header:NAME` (the header NAME).
 *
 * @throws RunError SOURCE_CREDENTIALS
 */
export function credentialHeaders(definition: SourceDefinition, env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const { credentials } = definition
  const headers: Record<string, string> = {}
  const put = (key: string, name: string, value: string) => {
    if (!headerValue.test(value))
      throw unusableError(
        key,
        'contains a character that is not allowed in a header',
        'Look for line ends, and for typographic quotes and dashes.',
      )
    headers[name] = value
  }
  const username = readCredential('username', credentials, env)
  const password = readCredential('password', credentials, env)
  if (username !== undefined || password !== undefined)
    put('password', 'authorization', `Basic ${Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')}`)
  const token = readCredential('token', credentials, env)
  if (token !== undefined) put('token', 'authorization', `Bearer ${token}`)
  for (const key of Object.keys(credentials ?? {})) {
    if (!key.startsWith('header:')) continue
    const name = key.slice('header:'.length).toLowerCase()
    if (!headerName.test(name) || forbiddenHeaders.test(name))
      throw unusableError(key, 'is not a header for a credential', 'Name the header that the server wants, such as header:X-Api-Key.')
    const value = readCredential(key, credentials, env)
    if (value !== undefined) put(key, name, value)
  }
  return headers
}

/** Returns the error for a credential, with its name and never its value. */
function unusableError(key: string, problem: string, hint: string): RunError {
  return new RunError('SOURCE_CREDENTIALS', `the credential ${JSON.stringify(key)} ${problem}`, { where: `credentials.${key}`, hint })
}

import type { Answer } from '../../../service/client/exchange.ts'
import { plural } from '../../terminal/text.ts'
import { listOf, recordOf } from '../../../unknownValue.ts'
import { parsedBody, textOf } from './serviceReads.ts'
import type { ReportFinding } from './finding.ts'

/**
 * Reports whether the service accepted the credentials. `answer`: the list of accounts, or a 401 or 403. Returns the ids of the accessible
 * accounts on the first page; undefined for a 401 or 403. `refusedVariables`: result of `Transport.refusedCredentials`, which sends test requests and
 * returns the names of the variables that may be wrong.
 */
export function examineCredentials(
  answer: Answer,
  refusedVariables: string | undefined,
  report: ReportFinding,
): readonly string[] | undefined {
  const body = parsedBody(answer)
  if (answer.status === 200) {
    const { data, next_cursor: next } = recordOf(body)
    const accounts = listOf(data).flatMap((account) => textOf(recordOf(account)['id']))
    const more = typeof next === 'string' ? 'more than ' : ''
    if (accounts.length > 0)
      report({ check: 'credentials', state: 'ok', message: `${more}${plural(accounts.length, 'accessible advertising account')}` })
    else
      report({
        check: 'credentials',
        state: 'warning',
        message: 'accepted, but no advertising account is accessible',
        hint: "ask the account's owner to add this user",
      })
    return accounts
  }
  const [code = ''] = listOf(recordOf(body)['errors']).flatMap((error) => textOf(recordOf(error)['code']))
  const reason = `${answer.status}${code === '' ? '' : `, code ${code}`}`
  const refusal = refusalOf(answer.status, code)
  // If the test requests do not show which variable is wrong, `refusedVariables` has all four.
  const isConsumer = refusedVariables?.includes('CONSUMER') === true && !refusedVariables.includes('ACCESS')
  report({
    check: 'credentials',
    state: 'failed',
    message: `${refusedVariables === undefined ? refusal.message : `${refusedVariables} refused`} (${reason})`,
    hint: isConsumer ? 'correct it, then sluice doctor' : refusal.hint,
  })
  return undefined
}

/** Message and hint about a refusal by the service. */
interface Refusal {
  readonly message: string
  readonly hint: string
}

/** Returns the text about a 401 or 403 by its error code (docs/spec-notes.md#errors). */
function refusalOf(status: number, code: string): Refusal {
  if (status === 401)
    return code === '89'
      ? { message: 'SLUICE_ACCESS_TOKEN was refused', hint: 'sluice auth login' }
      : {
          message:
            'the signature was refused: SLUICE_CONSUMER_KEY, SLUICE_CONSUMER_SECRET, SLUICE_ACCESS_TOKEN or SLUICE_ACCESS_TOKEN_SECRET',
          hint: 'sluice auth login',
        }
  return code === 'UNAUTHORIZED_CLIENT_APPLICATION'
    ? {
        message: 'the application of SLUICE_CONSUMER_KEY is not approved for advertising',
        hint: 'apply for access of the application at the service, then: sluice doctor',
      }
    : { message: 'the user of SLUICE_ACCESS_TOKEN may not list advertising accounts', hint: 'sluice auth status' }
}

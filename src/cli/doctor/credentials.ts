import type { Answer } from '../../service/client/exchange.ts'
import { plural } from '../text.ts'
import { array, parsed, property, textOf } from './answers.ts'
import type { Say } from './finding.ts'

/** Ids of the accounts within reach; undefined when the credentials were refused. */
export function examineCredentials(answer: Answer, say: Say): readonly string[] | undefined {
  const body = parsed(answer)
  if (answer.status === 200) {
    const accounts = array(property(body, 'data')).flatMap((account) => textOf(property(account, 'id')))
    if (accounts.length > 0)
      say({ check: 'credentials', state: 'ok', message: `${plural(accounts.length, 'advertising account')} within reach` })
    else
      say({
        check: 'credentials',
        state: 'warning',
        message: 'accepted, but no advertising account is within reach',
        mend: "ask the account's owner to add this user",
      })
    return accounts
  }
  const [code = ''] = array(property(body, 'errors')).flatMap((error) => textOf(property(error, 'code')))
  const reason = `${answer.status}${code === '' ? '' : `, code ${code}`}`
  const finding =
    refusals.find((row) => row.status === answer.status && row.codes.includes(code)) ??
    refusals.find((row) => row.status === answer.status && row.codes.length === 0)
  say({
    check: 'credentials',
    state: 'failed',
    message: `${finding?.what ?? 'the service refused'} (${reason})`,
    mend: finding?.mend ?? 'sluice auth status',
  })
  return undefined
}

/** Which variable a refusal speaks of (spec/gaps.md 4). */
const refusals: readonly { readonly status: number; readonly codes: readonly string[]; readonly what: string; readonly mend: string }[] = [
  { status: 401, codes: ['89'], what: 'SLUICE_ACCESS_TOKEN refused', mend: 'sluice auth login' },
  {
    status: 401,
    codes: [],
    what: 'the signature was refused: SLUICE_CONSUMER_KEY, SLUICE_CONSUMER_SECRET, SLUICE_ACCESS_TOKEN or SLUICE_ACCESS_TOKEN_SECRET',
    mend: 'sluice auth login',
  },
  {
    status: 403,
    codes: ['UNAUTHORIZED_CLIENT_APPLICATION'],
    what: 'the application of SLUICE_CONSUMER_KEY is not approved for advertising',
    mend: 'apply for access of the application at the service, then: sluice doctor',
  },
  { status: 403, codes: [], what: 'the user of SLUICE_ACCESS_TOKEN may not do this', mend: 'sluice auth status' },
]

import { needService } from '../../../config/config.ts'
import { writeJson, type CommandRun } from '../../context.ts'
import { eachPage } from '../../../service/client/list.ts'
import { ServiceError } from '../../../service/client/serviceErrors.ts'
import { withClient, type ServiceCalls } from '../../withClient.ts'
import { safe, table } from '../../terminal/text.ts'
import { listOf, recordOf } from '../../../unknownValue.ts'

interface Account {
  readonly id: string
  readonly name: string
  readonly approvalStatus: string
}

/** Shows the user, the advertising approval, all accessible accounts, and missing approvals. Exits 1 if any is missing. */
export const run: CommandRun = async (context) => {
  const service = needService(context.config())
  const accessible = await withClient(context, service, ({ call }) => listAccounts(call)).catch((error: unknown) => {
    // 403: the user is known but may not advertise. Every other status is an error.
    if (error instanceof ServiceError && error.status === 403) return undefined
    throw error
  })
  const isApproved = accessible !== undefined
  const accounts = accessible ?? []
  // Access tokens begin with the id of their user.
  const userId = /^(\d+)-/.exec(service.accessToken)?.[1] ?? null
  const missing = [
    ...(isApproved
      ? []
      : [
          {
            what: 'advertising calls are refused (403)',
            hint: 'apply for advertising access of the application at the service',
          },
        ]),
    ...(isApproved && accounts.length === 0
      ? [{ what: 'no advertising account is accessible', hint: "ask an account's owner to add this user" }]
      : []),
    ...accounts
      .filter(({ approvalStatus }) => approvalStatus !== '' && approvalStatus !== 'ACCEPTED')
      .map(({ id, approvalStatus }) => ({
        what: `account ${id} is ${approvalStatus}`,
        hint: 'wait for the approval of the account, or ask the service',
      })),
  ]
  if (context.json) writeJson(context, { userId, advertising: isApproved, accounts, missing })
  else {
    context.stdout.write(`signed in as user ${userId ?? 'unknown'}, advertising ${isApproved ? 'allowed' : 'refused'}\n`)
    context.stdout.write(table(accounts.map(({ id, name, approvalStatus }) => ['  account', id, safe(name), approvalStatus])))
    for (const { what, hint } of missing) context.stdout.write(`problem  ${what}\nhint     ${hint}\n`)
  }
  return missing.length > 0 ? 1 : 0
}

async function listAccounts(call: ServiceCalls['call']): Promise<readonly Account[]> {
  const accounts: Account[] = []
  const fetchPage = (cursor: string | undefined) => call('accounts.list', cursor === undefined ? {} : { cursor })
  for await (const { data } of eachPage(fetchPage, 'GET accounts')) accounts.push(...listOf(data).map(accountOf))
  return accounts
}

function accountOf(value: unknown): Account {
  const account = recordOf(value)
  return { id: textOf(account['id']), name: textOf(account['name']), approvalStatus: textOf(account['approval_status']) }
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? String(value) : ''
}

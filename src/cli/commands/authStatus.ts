import { needService } from '../../config/config.ts'
import { createCaller, refusal, type Call } from '../caller.ts'
import { writeJson, type CommandRun } from '../context.ts'
import { safe, table } from '../text.ts'

interface Account {
  readonly id: string
  readonly name: string
  readonly approvalStatus: string
}

/** Who signs, which advertising accounts are within reach, what access the token has, and what is missing. */
export const run: CommandRun = async (context) => {
  const service = needService(context.config())
  const caller = createCaller(service, context.signal)
  try {
    const me: Call = { method: 'GET', host: 'core', path: '/2/users/me', auth: 'user' }
    const who = await caller.answer(me)
    if (who.status !== 200) throw await refusal(who, me)
    const user = record(data(who.body))
    const list: Call = { method: 'GET', host: 'ads', path: `/${service.adsVersion}/accounts`, auth: 'user' }
    const answer = await caller.answer(list)
    const approved = answer.status === 200
    const accounts = approved ? (data(answer.body) as readonly unknown[]).map(accountOf) : []
    const access = who.headers['x-access-level'] ?? null
    const missing = [
      ...(approved ? [] : [{ what: `advertising calls are refused (${answer.status})`, mend: 'apply for advertising access of the application at the service' }]),
      ...(approved && accounts.length === 0 ? [{ what: 'no advertising account is within reach', mend: "ask an account's owner to add this user" }] : []),
      ...(access === 'read' ? [{ what: 'the token may read only', mend: 'raise the permission of the application, then: sluice auth login' }] : []),
    ]
    if (context.json) writeJson(context, { userId: text(user['id']), handle: text(user['username']), access, accounts, missing })
    else {
      context.stdout.write(`signed in as @${safe(text(user['username']))} (${text(user['id'])})${access === null ? '' : `, access ${safe(access)}`}\n`)
      context.stdout.write(table(accounts.map(({ id, name, approvalStatus }) => ['  account', id, safe(name), approvalStatus])))
      for (const { what, mend } of missing) context.stdout.write(`missing  ${what}\nmend     ${mend}\n`)
    }
    return missing.length > 0 ? 1 : 0
  } finally {
    await caller.close()
  }
}

function data(body: Buffer): unknown {
  return record(JSON.parse(body.toString('utf8')))['data']
}

function accountOf(value: unknown): Account {
  const account = record(value)
  return { id: text(account['id']), name: text(account['name']), approvalStatus: text(account['approval_status']) }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

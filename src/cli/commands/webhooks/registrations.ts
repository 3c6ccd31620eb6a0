/** Commands for webhook registrations: add, list, check, remove. */
import { needService } from '../../../config/config.ts'
import type { CallResult } from '../../../service/client/index.ts'
import { recordOf } from '../../../unknownValue.ts'
import { argument, writeJson, writeResult, type CommandRun, type Context } from '../../context.ts'
import { withClient, type ServiceCalls } from '../../withClient.ts'

/** Registers an address. The service sends a challenge to the address immediately, so the receiver must be up. */
export const add: CommandRun = async (context, invocation) => {
  printRegistrations(context, await callService(context, ({ call }) => call('webhooks.create', { url: argument(invocation, 0) })))
  return 0
}

export const list: CommandRun = async (context) => {
  const data = await callService(context, ({ call }) => call('webhooks.list', {}))
  if (!context.json && Array.isArray(data) && data.length === 0) context.stdout.write('none registered: sluice webhooks add https://…\n')
  else printRegistrations(context, data)
  return 0
}

/** Requests a new challenge. If the address passes it, the registration is enabled again; otherwise exits 1. */
export const check: CommandRun = async (context, invocation) => {
  const id = argument(invocation, 0)
  const data = await callService(context, ({ call }) => call('webhooks.check', { webhook_id: id }))
  const valid = recordOf(data)['valid'] === true
  const state = valid ? 'valid' : 'INVALID: the address did not answer the challenge\nNext  sluice webhooks listen'
  writeResult(context, data, `${id}  ${state}\n`)
  return valid ? 0 : 1
}

export const remove: CommandRun = async (context, invocation) => {
  const id = argument(invocation, 0)
  const data = await callService(context, ({ call }) => call('webhooks.delete', { webhook_id: id }))
  writeResult(context, data, `${id}  removed\n`)
  return 0
}

/** Sends one call as the application, and returns the `data` of its answer; an empty object if there is none. */
async function callService(context: Context, send: (calls: ServiceCalls) => Promise<CallResult>): Promise<unknown> {
  const { data } = await withClient(context, needService(context.config(), { user: false }), send)
  return data ?? {}
}

/** Prints one line per registration; with `--json`, the data of the service unchanged. */
function printRegistrations(context: Context, data: unknown): void {
  if (context.json) return writeJson(context, data)
  for (const row of Array.isArray(data) ? data : [data]) {
    const { id = '', url = '', valid, created_at: created = '' } = recordOf(row)
    const state = valid === true ? 'valid  ' : valid === false ? 'INVALID' : ''
    context.stdout.write(`${String(id)}  ${state}  ${String(url)}  ${String(created)}`.trimEnd() + '\n')
  }
}

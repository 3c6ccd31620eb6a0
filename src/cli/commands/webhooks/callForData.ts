import { needService } from '../../../config/config.ts'
import { createCaller, refusal, type Call } from '../api/caller.ts'
import { writeJson, type Context } from '../../context.ts'

/** Calls an endpoint of the service and returns its `data`; throws on a refusal, with parameter, rule and hint. */
export async function callForData(context: Context, call: Call): Promise<unknown> {
  const caller = createCaller(needService(context.config()), context)
  try {
    const answer = await caller.answer(call)
    if (answer.status >= 400) throw await refusal(answer, call)
    const body: unknown = JSON.parse(answer.body.toString('utf8') || '{}')
    return typeof body === 'object' && body !== null && 'data' in body ? body.data : body
  } finally {
    await caller.close()
  }
}

export interface WebhookRow {
  readonly id: string
  readonly url: string
  readonly valid: boolean
  readonly created_at: string
}

/** Prints registrations for people; with `--json`, the service's own data. */
export function printWebhooks(context: Context, data: unknown): void {
  if (context.json) return writeJson(context, data)
  const rows = (Array.isArray(data) ? data : [data]) as readonly Partial<WebhookRow>[]
  for (const { id = '', url = '', valid, created_at = '' } of rows) {
    context.stdout.write(`${id}  ${valid === true ? 'valid  ' : valid === false ? 'INVALID' : ''}  ${url}  ${created_at}`.trimEnd() + '\n')
  }
}

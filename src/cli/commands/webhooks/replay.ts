import { needService } from '../../../config/config.ts'
import { UsageError } from '../../../errors.ts'
import { argument, option, writeJson, type CommandRun, type Invocation } from '../../context.ts'
import { withClient } from '../../withClient.ts'

/**
 * Requests that the service delivers the events of a time span again; the receiver stores each only once (spec 6.1 rule 6,
 * docs/spec-notes.md#webhooks Replay).
 */
export const run: CommandRun = async (context, invocation) => {
  const range = { webhook_id: argument(invocation, 0), from_date: minuteOf(invocation, 'from'), to_date: minuteOf(invocation, 'to') }
  const { data } = await withClient(context, needService(context.config()), ({ call }) => call('webhooks.replay', range))
  if (context.json) writeJson(context, data)
  else
    context.stdout.write(
      `replay requested${typeof data === 'object' && data !== null && 'job_id' in data ? `: job ${String(data.job_id)}` : ''}\n`,
    )
  return 0
}

/** Converts ISO times to the service's format: minutes in UTC, `yyyymmddhhmm`. */
function minuteOf(invocation: Invocation, name: 'from' | 'to'): string {
  const given = option(invocation, name)
  const example = 'sluice webhooks replay ID --from 202611200000 --to 202611210000'
  if (given === undefined)
    throw new UsageError('MISSING_OPTION', `sluice webhooks replay needs --${name}. Nothing was sent.`, {
      where: `--${name}`,
      hint: example,
    })
  if (/^\d{12}$/.test(given)) return given
  const at = /^\d{4}-\d{2}-\d{2}/.test(given) ? Date.parse(given) : Number.NaN
  if (Number.isNaN(at))
    throw new UsageError('INVALID_VALUE', `--${name} is not a valid time. Nothing was sent.`, { where: `--${name}`, hint: example })
  return new Date(at).toISOString().replace(/\D/g, '').slice(0, 12)
}

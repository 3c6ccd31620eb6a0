import { needService } from '../../../config/config.ts'
import { UsageError } from '../../../errors.ts'
import { argument, option, writeJson, type CommandRun, type Invocation } from '../../context.ts'
import { withClient } from '../../withClient.ts'

/**
 * Requests that the service delivers the events of a time span again (docs/spec-notes.md#replays). The receiver does not store an event
 * twice.
 */
export const run: CommandRun = async (context, invocation) => {
  const range = { webhook_id: argument(invocation, 0), from_date: minuteOf(invocation, 'from'), to_date: minuteOf(invocation, 'to') }
  const service = needService(context.config(), { user: false })
  const { data } = await withClient(context, service, ({ call }) => call('webhooks.replay', range))
  if (context.json) writeJson(context, data)
  else
    context.stdout.write(
      `replay requested${typeof data === 'object' && data !== null && 'job_id' in data ? `: job ${String(data.job_id)}` : ''}\n`,
    )
  return 0
}

/** Returns the time of a required flag in the service's format. @throws {UsageError} `MISSING_OPTION`, `INVALID_VALUE` */
function minuteOf(invocation: Invocation, name: 'from' | 'to'): string {
  const given = option(invocation, name)
  const example = 'sluice webhooks replay ID --from 202611200000 --to 202611210000'
  if (given === undefined)
    throw new UsageError('MISSING_OPTION', `sluice webhooks replay needs --${name}. Nothing was sent.`, {
      where: `--${name}`,
      hint: example,
    })
  const minute = serviceMinute(given)
  if (minute !== undefined) return minute
  throw new UsageError('INVALID_VALUE', `--${name} is not a valid time. Nothing was sent.`, { where: `--${name}`, hint: example })
}

/**
 * Converts a time to the service's format: minutes in UTC, `yyyymmddhhmm`. Accepts that format and ISO 8601, which is in UTC unless it
 * has a zone. Drops seconds. Undefined for any other text. Exported for its test.
 */
export function serviceMinute(text: string): string | undefined {
  const [, year, month, day, hour, minute] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(text) ?? []
  if (year !== undefined) return serviceMinute(`${year}-${month}-${day}T${hour}:${minute}Z`) === text ? text : undefined
  if (!/^\d{4}-\d{2}-\d{2}/.test(text)) return undefined
  // Without a zone, Date.parse would take the zone of this machine.
  const at = Date.parse(/[T ]\d/.test(text) && !/(?:Z|[+-]\d{2}:?\d{2})$/i.test(text) ? `${text}Z` : text)
  return Number.isNaN(at) ? undefined : new Date(at).toISOString().replace(/\D/g, '').slice(0, 12)
}

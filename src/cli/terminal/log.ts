import { createRequire } from 'node:module'
import type * as pino from 'pino'
import { hideSecrets } from '../../config/secret.ts'
import type { Config, LogLevel } from '../../config/config.ts'
import type { LogFields, Logger } from '../../log.ts'
import type { Output } from '../context.ts'
import { safe } from './text.ts'
import { recordOf } from '../../unknownValue.ts'

/**
 * Returns a logger that writes one line per event, without secrets. The lines are text, or JSON if SLUICE_LOG_FORMAT is `json`. The
 * commands in the fields `next` and `hint` get the global options of the call. `fallback`: level if SLUICE_LOG_LEVEL is not set.
 */
export function createLogger(output: Output, config: Config, now: () => number, fallback?: LogLevel): Logger {
  const level = config.env['SLUICE_LOG_LEVEL'] === undefined ? (fallback ?? config.log.level) : config.log.level
  let log: pino.Logger | undefined
  const logAt = (lineLevel: Exclude<LogLevel, 'silent'>) => (fields: LogFields, message: string) => {
    // pino has 30 modules and most commands log nothing, so the first logged line loads it.
    if (levels.indexOf(lineLevel) >= levels.indexOf(level))
      (log ??= openPino(output, config, level, now))[lineLevel](withCompleteHints(fields), message)
  }
  const { completeHint } = output
  const withCompleteHints = (fields: LogFields): LogFields => {
    const { next, hint } = fields
    if (completeHint === undefined) return fields
    return {
      ...fields,
      ...(typeof next === 'string' ? { next: completeHint(next) } : {}),
      ...(typeof hint === 'string' ? { hint: completeHint(hint) } : {}),
    }
  }
  return { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') }
}

/** Log levels, the most detailed first. */
const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent']

function openPino(output: Output, config: Config, level: LogLevel, now: () => number): pino.Logger {
  const library = createRequire(import.meta.url)('pino') as typeof pino // require has no types
  const pretty = config.log.format === 'pretty'
  return library.pino(
    {
      level,
      // Without host and process id, because log collectors add them.
      base: null,
      messageKey: 'msg',
      timestamp: () => `,"time":"${new Date(now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line) => output.write(hideSecrets(pretty ? `${prettyLine(line)}\n` : line, config.secrets)) },
  )
}

/** Formats a JSON line of pino for people: `2026-11-22T03:00:04.000Z info  run ended runId=r_81`. */
function prettyLine(line: string): string {
  const { level, time, msg, ...fields } = recordOf(JSON.parse(line))
  const shown = Object.entries(fields).map(([key, value]) => `${key}=${safe(String(value))}`)
  return [String(time), String(level).padEnd(5), String(msg), ...shown].join(' ')
}

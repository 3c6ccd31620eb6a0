import { pino } from 'pino'
import { hideSecrets } from '../../config/secret.ts'
import type { Config, LogLevel } from '../../config/config.ts'
import type { LogFields, Logger } from '../../log.ts'
import type { Output } from '../context.ts'
import { safe } from './text.ts'
import { recordOf } from '../../unknownValue.ts'

/** Returns the logger: one line per event on stderr, `pretty` for people or `json`. */
export function createLogger(output: Output, config: Config, now: () => number, fallback?: LogLevel): Logger {
  const pretty = config.log.format === 'pretty'
  const log = pino(
    {
      level: config.env['SLUICE_LOG_LEVEL'] === undefined ? (fallback ?? config.log.level) : config.log.level,
      // Without host and process id, because log collectors add them.
      base: null,
      messageKey: 'msg',
      timestamp: () => `,"time":"${new Date(now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line) => output.write(hideSecrets(pretty ? `${prettyLine(line)}\n` : line, config.secrets)) },
  )
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: LogFields, message: string) => log[level](fields, message)
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** `2026-11-22T03:00:04.000Z info  run ended runId=r_81`. */
function prettyLine(line: string): string {
  const { level, time, msg, ...fields } = recordOf(JSON.parse(line))
  const shown = Object.entries(fields).map(([key, value]) => `${key}=${safe(String(value))}`)
  return [String(time), String(level).padEnd(5), String(msg), ...shown].join(' ')
}

import { hideSecrets } from '../config/secret.ts'
import type { Config, LogLevel } from '../config/config.ts'
import type { LogFields, Logger } from '../log.ts'
import type { Output } from './context.ts'
import { safe } from './text.ts'

const order = ['debug', 'info', 'warn', 'error', 'silent'] as const

/** Logs to stderr: one line an event, `pretty` for people or `json`; below the configured level nothing is made. */
export function createLogger(output: Output, config: Config, now: () => number, fallback?: LogLevel): Logger {
  const least = order.indexOf(config.env['SLUICE_LOG_LEVEL'] === undefined ? (fallback ?? config.log.level) : config.log.level)
  const at = (level: (typeof order)[number]) => {
    if (order.indexOf(level) < least) return () => undefined
    return (fields: LogFields, message: string) => {
      const time = new Date(now()).toISOString()
      const line =
        config.log.format === 'json'
          ? JSON.stringify({ time, level, msg: message, ...fields })
          : [
              time,
              level.padEnd(5),
              message,
              ...Object.entries(fields).flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${safe(String(value))}`])),
            ].join(' ')
      output.write(`${hideSecrets(line, config.secrets)}\n`)
    }
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

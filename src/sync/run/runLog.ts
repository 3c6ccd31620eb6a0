import type { Logger } from '../../log.ts'
import type { RunReport } from '../../model/report.ts'
import { codeOrName } from '../../unknownValue.ts'
import type { EngineDeps } from '../engine.ts'
import { nextCommands, reasonOf } from '../reports/nextCommands.ts'

/** Logs the end of a run with its counts above 0. For a run that did not succeed, adds a code, the reason, and the next command or a hint. */
export function logRunEnd(log: Logger, report: RunReport): void {
  const { runId, pipeline, status } = report
  const why = reasonOf(report)
  const commands = nextCommands(report).map(([command]) => command)
  const next = commands.find((command) => command.includes('sluice ')) ?? commands[0]
  const counts = Object.entries(report.counts)
    .filter(([, value]) => value > 0)
    .map(([name, value]) => `${name}:${value}`)
    .join(' ')
  const fields = { runId, pipeline, status, ...why, counts, ...(why === undefined || next === undefined ? {} : { next }) }
  if (status === 'failed') log.error(fields, 'run failed')
  else if (status === 'withheld' || status === 'partial') log.warn(fields, `run ended ${status}`)
  else log.info(fields, 'run ended')
}

/** Returns a function that logs the error of a step that does not end the run. `fields`: logged too. */
export function logFailure(
  { log }: Pick<EngineDeps, 'log'>,
  { id }: { readonly id: number },
  message: string,
  fields: object = {},
): (error: unknown) => void {
  return (error) => log.warn({ runId: `r_${id}`, ...fields, reason: codeOrName(error) }, message)
}

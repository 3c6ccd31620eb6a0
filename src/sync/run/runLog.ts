import type { Logger } from '../../log.ts'
import { nextCommands, reasonOf } from '../reports/nextCommands.ts'
import type { RunReport } from '../../model/report.ts'

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

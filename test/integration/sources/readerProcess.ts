/**
 * Reads one source to its end without keeping rows, and prints its memory. Argument: the definition as JSON; credentials come from the
 * environment. Prints `{ code, rows, bytes, complete, peakMiB }`, or `{ code, rows, message }` for an error. Peak memory is that of the
 * whole process.
 */
import { RunError } from '../../../src/errors.ts'
import { silentLogger } from '../../../src/log.ts'
import type { SourceDefinition } from '../../../src/model/pipeline.ts'
import { openSource } from '../../../src/sources/openSource.ts'
import { peakMebibytes } from '../../support/peakMemory.ts'

let rows = 0
let outcome: object
try {
  const source = await openSource(JSON.parse(process.argv[2] ?? '') as SourceDefinition, { env: process.env, log: silentLogger })
  for await (const batch of source.rows) rows += batch.length
  const { bytes, completeness } = source.facts()
  await source.close()
  outcome = { code: 'read', rows, bytes, complete: completeness.complete }
} catch (error) {
  if (!(error instanceof RunError)) throw error
  outcome = { code: error.code, rows, message: error.message }
}
process.stdout.write(`${JSON.stringify({ ...outcome, peakMiB: peakMebibytes() })}\n`)

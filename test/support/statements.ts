/**
 * Lints every statement that the modules of `src` sent in a test run, after its end (docs/scale.md). vitest's global setup of the
 * projects that need Postgres.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { statementsReport } from '../../scripts/statements/report.ts'

export function setup(): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-statements-'))
  // Workers start later and inherit it; their setup file is scripts/statements/capture.js.
  process.env['SLUICE_STATEMENTS'] = folder
  return async () => {
    const { statements, findings } = await statementsReport(folder)
    rmSync(folder, { recursive: true })
    if (findings.length === 0) return
    process.stderr.write(`\n${findings.length} of ${statements} statements break a rule of docs/scale.md:\n${findings.join('\n')}\n`)
    process.exitCode = 1
  }
}

/** Runs every check of the tree (`npm run check`), and reports each with its time. A failed check does not stop the next one. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import drizzle from '../drizzle.config.ts'
import { snapshotsFault } from './migrations.ts'
import { statementsReport } from './statements/report.ts'
import { wordsReport } from './words.ts'

interface Check {
  readonly name: string
  readonly hint: string
  readonly run: () => string | undefined | Promise<string | undefined>
}

const code = ['src', 'test', 'bench', 'scripts', 'pipelines', 'bin'].filter((folder) => existsSync(folder))

const checks: readonly Check[] = [
  { name: 'format', hint: 'npm run format', run: () => tool('oxfmt', ['--check', ...code]) },
  { name: 'lint', hint: 'npm run lint', run: () => tool('oxlint', ['--type-aware', ...code]) },
  { name: 'types', hint: 'npm run types', run: () => tool('tsc', ['--noEmit']) },
  { name: 'dead code', hint: 'npm run deadcode', run: () => tool('knip', []) },
  { name: 'migrations', hint: 'npm run migrations', run: migrationsFresh },
  { name: 'words', hint: 'CONTRIBUTING.md has the glossary; npm run words -- PATH', run: () => wordsReport() },
  { name: 'statements', hint: 'docs/scale.md has the rules', run: statementsOfDemo },
  { name: 'generated pages', hint: 'npm run docs', run: () => command(process.execPath, ['scripts/docs.ts', '--check']) },
]

const failed: Check[] = []
for (const check of checks) {
  const { name, hint } = check
  const start = performance.now()
  const output = await check.run()
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`${output === undefined ? 'ok    ' : 'failed'}  ${name}  ${seconds} s`)
  if (output !== undefined) console.log(`${output.trim()}\nhint: ${hint}\n`)
  if (output !== undefined) failed.push(check)
}
console.log(
  failed.length === 0
    ? `${checks.length} checks passed`
    : `${failed.length} of ${checks.length} checks failed: ${failed.map(({ name }) => name).join(', ')}`,
)
process.exitCode = failed.length === 0 ? 0 : 1

/** Runs a tool of node_modules. Returns its output if it fails, else undefined. */
function tool(name: string, args: readonly string[]): string | undefined {
  return command(join('node_modules', '.bin', name), args)
}

function command(file: string, args: readonly string[]): string | undefined {
  const { status, output } = run(file, args)
  return status === 0 ? undefined : output
}

function run(file: string, args: readonly string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr, error } = spawnSync(file, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, env: onOurNode() })
  return { status, output: error?.message ?? `${stdout}${stderr}` }
}

/** Returns an environment in which the launchers of tools (`env node`) find the project's Node. */
function onOurNode(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env['PATH'] ?? ''}` }
}

/**
 * Generates migrations in a copy of the folder, and returns the new ones: the schema must not be ahead of the migrations. The copy protects
 * migrations that are not committed yet. Of the snapshots, only the last one is stored.
 */
function migrationsFresh(): string | undefined {
  const fault = snapshotsFault()
  if (fault !== undefined) return fault
  const copy = mkdtempSync(join(tmpdir(), 'sluice-migrations-'))
  try {
    cpSync('migrations', copy, { recursive: true })
    const { dialect, schema } = drizzle as { dialect: string; schema: string }
    // Relative, because drizzle-kit puts a dot before every path.
    const generate = ['generate', '--dialect', dialect, '--schema', schema, '--out', relative('.', copy), '--name', 'check_only']
    const { output } = run(join('node_modules', '.bin', 'drizzle-kit'), generate)
    // The status is not used. If drizzle-kit would have to ask about a renamed column, it gives up and exits with 0.
    if (output.includes('No schema changes')) return undefined
    const added = readdirSync(copy).filter((name) => name.includes('check_only'))
    return `src/db/schema/ is ahead of migrations/:\n${added.map((name) => readFileSync(join(copy, name), 'utf8')).join('\n') || output}`
  } finally {
    rmSync(copy, { recursive: true })
  }
}

/** Runs the demo from its sources, and lints every statement that they send. `npm test` lints the statements of the tests in the same way. */
async function statementsOfDemo(): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-statements-'))
  try {
    const capture = new URL('statements/capture.js', import.meta.url).href
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', capture, 'src/cli/main.ts', 'demo'], {
      encoding: 'utf8',
      env: { ...onOurNode(), SLUICE_STATEMENTS: folder },
    })
    if (status !== 0) return `${stdout}${stderr}`
    const { findings } = await statementsReport(folder)
    return findings.length === 0 ? undefined : findings.join('\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

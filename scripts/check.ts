/** `npm run check`: format, lint, types, dead code, migrations and generated pages, all of them, worst first at the end. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

interface Check {
  readonly name: string
  readonly mend: string
  readonly run: () => string | undefined
}

const code = ['src', 'test', 'bench', 'scripts', 'pipelines', 'bin'].filter((folder) => existsSync(folder))

const checks: readonly Check[] = [
  { name: 'format', mend: 'npm run format', run: () => tool('oxfmt', ['--check', ...code]) },
  { name: 'lint', mend: 'npm run lint', run: () => tool('oxlint', ['--type-aware', ...code]) },
  { name: 'types', mend: 'npm run types', run: () => tool('tsc', ['--noEmit']) },
  { name: 'dead code', mend: 'npm run deadcode', run: () => tool('knip', []) },
  { name: 'migrations', mend: 'npm run migrations', run: migrationsFresh },
  { name: 'generated pages', mend: 'npm run docs', run: () => command(process.execPath, ['scripts/docs.ts', '--check']) },
]

const failed = checks.filter(({ name, mend, run }) => {
  const start = performance.now()
  const output = run()
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`${output === undefined ? 'ok    ' : 'failed'}  ${name}  ${seconds} s`)
  if (output !== undefined) console.log(`${output.trim()}\nmend: ${mend}\n`)
  return output !== undefined
})
console.log(
  failed.length === 0
    ? `${checks.length} checks hold`
    : `${failed.length} of ${checks.length} checks failed: ${failed.map(({ name }) => name).join(', ')}`,
)
process.exitCode = failed.length === 0 ? 0 : 1

/** Output of a failing tool of node_modules; undefined when it is content. */
function tool(name: string, args: readonly string[]): string | undefined {
  return command(join('node_modules', '.bin', name), args)
}

function command(file: string, args: readonly string[]): string | undefined {
  const { status, stdout, stderr, error } = spawnSync(file, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, env: onOurNode() })
  if (status === 0) return undefined
  return error?.message ?? `${stdout}${stderr}`
}

/** The tools' own launchers say `env node`: they shall find the project's. */
function onOurNode(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env['PATH'] ?? ''}` }
}

/** The schema must not be ahead of the migrations: generating once more finds nothing new. */
function migrationsFresh(): string | undefined {
  const before = readdirSync('migrations').join()
  const problem = tool('drizzle-kit', ['generate', '--name', 'check_only'])
  if (problem !== undefined) return problem
  const added = readdirSync('migrations').filter((name) => name.includes('check_only'))
  if (added.length === 0 && readdirSync('migrations').join() === before) return undefined
  const text = added.map((name) => readFileSync(join('migrations', name), 'utf8')).join('\n')
  for (const name of added) rmSync(join('migrations', name))
  spawnSync('git', ['checkout', '--', 'migrations/meta'])
  return `src/store/schema/ says more than migrations/:\n${text}`
}

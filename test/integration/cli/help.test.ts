/** Help, version, and invalid calls. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { catalogue, type CommandEntry } from '../../../src/cli/commandLine/catalogue.ts'
import { parseCommandLine } from '../../../src/cli/commandLine/parseCommandLine.ts'
import { UsageError } from '../../../src/errors.ts'
import { emptyFolder, sluice, sluiceHere } from './support.ts'

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))

describe('help', () => {
  test.for([[], ['-h'], ['--help'], ['help']])('sluice %s prints help on stdout and exits 0', async (args) => {
    const { code, stdout, stderr } = await sluiceHere(args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('Usage: sluice <command>')
  })

  const every = commands(catalogue, [])
  test('knows every command of the interface', () => {
    const names = every.map(({ path }) => path.join(' '))
    for (const name of [
      'init',
      'check',
      'doctor',
      'plan',
      'apply',
      'run',
      'backfill',
      'rerun',
      'cancel',
      'runs',
      'show',
      'rejects',
      'explain',
      'audit',
      'serve',
      'worker',
      'sandbox',
      'api',
      'auth login',
      'auth status',
      'auth logout',
      'auth bearer',
      'webhooks add',
      'webhooks list',
      'webhooks check',
      'webhooks remove',
      'webhooks replay',
      'webhooks listen',
      'db migrate',
      'db status',
      'db url',
      'db stop',
      'completion',
      'demo',
    ]) {
      expect(names).toContain(name)
    }
  })

  test.for([...every.map(({ path }) => path), ['environment'], ['exit-codes'], ['formatting'], []])(
    'help %s fits 80 by 40, example before options',
    (path) => {
      const text = print(['help', ...path])
      const lines = text.trimEnd().split('\n')
      expect(lines.length).toBeLessThanOrEqual(40)
      expect(lines.filter((line) => line.length > 80)).toEqual([])
      expect(text).toContain('Example')
      expect(`${text}\nOptions`.indexOf('\nOptions')).toBeGreaterThan(text.indexOf('Example'))
    },
  )

  test.for(every.flatMap(({ entry }) => entry.examples.filter((example) => example.startsWith('sluice '))))(
    'the example parses: %s',
    (example) => {
      const request = parseCommandLine(words(example), '1.0.0')
      expect(request.kind).toBe('run')
    },
  )

  test.for([['auth'], ['db'], ['webhooks']])('--help of the group %s lists its commands', ([group = '']) => {
    expect(print([group, '--help'])).toBe(print(['help', group]))
    expect(print([group, '-h'])).toMatch(/Usage: sluice \w+ <command>/)
  })

  test('--help of a command lists no option that the command ignores', () => {
    const read = (...path: readonly string[]) => print(['help', ...path])
    for (const path of [['sandbox'], ['completion'], ['schema'], ['api'], ['auth', 'login'], ['webhooks', 'add']])
      expect(read(...path), path.join(' ')).not.toMatch(/--pipelines|--database/)
    for (const path of [['run'], ['webhooks', 'listen']]) expect(read(...path), path.join(' ')).toMatch(/--pipelines[\s\S]*--database/)
    expect(read('backfill')).toMatch(/--source <URI> +required:/)
  })

  test('--help of a command is its help, wherever the flag stands', () => {
    expect(print(['--help', 'run'])).toBe(print(['help', 'run']))
    expect(print(['run', 'shop', '--help'])).toBe(print(['help', 'run']))
    expect(print(['webhooks', 'replay', '-h'])).toBe(print(['help', 'webhooks', 'replay']))
  })

  test('version is one line; neither it nor help writes to the folder', async () => {
    const cwd = emptyFolder()
    const { code, stdout } = await sluice(['--version'], { cwd })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
    await sluice(['help', 'run'], { cwd, env: { SLUICE_LOG_LEVEL: 'nonsense', DATABASE_URL: 'nonsense' } })
    expect(readdirSync(cwd)).toEqual([])
  })
})

test('help and version load only the argument parser (manner 24)', { tags: ['long'] }, () => {
  const trace = `import { registerHooks } from 'node:module'
    const seen = new Set()
    registerHooks({ resolve(specifier, context, next) { const found = next(specifier, context); const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url); if (name) seen.add(name[1]); return found } })
    process.on('exit', () => process.stderr.write([...seen].join(' ')))`
  const loaded = (...args: string[]) =>
    spawnSync(process.execPath, ['--import', `data:text/javascript,${encodeURIComponent(trace)}`, main, ...args], { encoding: 'utf8' })
      .stderr
  for (const args of [['--help'], ['--version'], ['help', 'run'], ['help', 'environment']])
    expect(loaded(...args)).toBe('commander fastest-levenshtein')
  expect(loaded('runs', '--limit', 'x')).toMatch(/^[^]*\bcommander\b[^]*\bdotenv\b/)
})

describe('a call that cannot be', () => {
  test.for([
    [['pln'], 'UNKNOWN_COMMAND', 'sluice plan'],
    [['auth', 'logni'], 'UNKNOWN_COMMAND', 'sluice auth login'],
    [['help', 'exit-code'], 'UNKNOWN_COMMAND', 'sluice help exit-codes'],
    [['zzzzzz'], 'UNKNOWN_COMMAND', 'sluice --help'],
    [['help', 'auth', 'logn'], 'UNKNOWN_COMMAND', 'sluice help auth login'],
    [['db', 'adop', '--help'], 'UNKNOWN_COMMAND', 'sluice help db adopt'],
    [['help', 'rn'], 'UNKNOWN_COMMAND', 'sluice help run'],
    [['help', 'db', 'zzzzzz'], 'UNKNOWN_COMMAND', 'sluice help db'],
    [['db', 'zzzzzz'], 'UNKNOWN_COMMAND', 'sluice help db'],
    [['rn', 'shop', '--full'], 'UNKNOWN_COMMAND', 'sluice run shop --full'],
    [['explian', 'crm', 'C-1042'], 'UNKNOWN_COMMAND', 'sluice help explain'],
    [['run', 'shop', '--ful'], 'UNKNOWN_OPTION', 'sluice run shop --full'],
    [
      ['--pipelines', '../b c', 'run', 'shop', '--approve-delete=3'],
      'UNKNOWN_OPTION',
      "sluice --pipelines '../b c' run shop --approve-deletes=3",
    ],
    [['forget', '--emial', 'jane@example.com'], 'UNKNOWN_OPTION', 'write --email instead of --emial'],
    [['run'], 'MISSING_ARGUMENT', 'sluice help run'],
    [['db'], 'MISSING_ARGUMENT', 'sluice help db'],
    [['apply', 'a', 'b'], 'TOO_MANY_ARGUMENTS', 'sluice help apply'],
  ] as const)('%s is %s and offers: %s', ([argv, code, hint]) => {
    const error = refused(argv)
    expect({ code: error.code, hint: error.hint }).toEqual({ code, hint })
  })

  test('exits 2 with the error and the hint as the last two lines, nothing on stdout', async () => {
    const { code, stdout, stderr } = await sluiceHere(['rn', 'shop'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.trimEnd().split('\n').slice(-2)).toEqual([
      'error  UNKNOWN_COMMAND  there is no command "rn". Nothing was done.',
      'hint   sluice run shop',
    ])
  })

  test('is one JSON document with --json', async () => {
    const { code, stdout, stderr } = await sluiceHere(['run', '--json'])
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({
      error: { code: 'MISSING_ARGUMENT', message: expect.any(String), where: 'PIPELINE', hint: 'sluice help run' },
    })
  })

  test.each([
    [['rn'], 'rn'],
    [['db'], 'sluice db'],
    [['auth', 'frob'], 'frob'],
    [['explain', 'shop'], 'KEY'],
    [['run', 'shop', '--approve-deletes'], '--approve-deletes'],
    [['show', 'r_1', 'r_2'], 'sluice show'],
    [['api', 'GET', '/12/accounts', '-F'], '--field'],
    [['schema', 'frob'], 'sluice schema'],
  ])('names the place: %j', (argv, where) => {
    expect(refused(argv).where).toBe(where)
  })

  test('does not repeat values of the call', () => {
    const error = refused(['explain', 'shop', 'jane@example.com', '--jsn'])
    expect(`${error.message} ${error.where} ${error.hint}`).not.toContain('jane')
  })
})

test('prints no escape byte into a pipe, FORCE_COLOR or not', async () => {
  for (const env of [{}, { FORCE_COLOR: '1' }]) {
    const { stdout } = await sluiceHere(['--help'], { env })
    expect(stdout).not.toContain('\u001b')
  }
})

function print(argv: readonly string[]): string {
  const request = parseCommandLine(argv, '1.0.0')
  if (request.kind !== 'print') throw new Error(`${argv.join(' ')} prints nothing`)
  return request.text
}

function refused(argv: readonly string[]): UsageError {
  try {
    parseCommandLine(argv, '1.0.0')
  } catch (error) {
    if (error instanceof UsageError) return error
    throw error
  }
  throw new Error(`${argv.join(' ')} was not refused`)
}

function commands(entries: readonly CommandEntry[], path: readonly string[]): { path: string[]; entry: CommandEntry }[] {
  return entries.flatMap((entry) => [{ path: [...path, entry.name], entry }, ...commands(entry.commands ?? [], [...path, entry.name])])
}

/** Splits a command as a shell does, for the quotes of the examples. */
function words(example: string): string[] {
  const [call = ''] = example.split(' > ')
  return [...call.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3] ?? '').slice(1)
}

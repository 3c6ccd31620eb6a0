/** Candidates of `__complete`, and the scripts that pass them to real shells. A shell that is not installed is skipped. */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { catalogue } from '../../../src/cli/commandLine/catalogue.ts'
import { emptyFolder, ended, launcher, printed, sluice, sluiceHere } from './support.ts'
import { feed, json, shopYaml, workspace } from './workspace.ts'

const folder = emptyFolder()
mkdirSync(join(folder, 'pipelines'))
mkdirSync(join(folder, 'other'))
for (const file of ['shop.yaml', 'shop-de.json', 'crm.ts', 'types.d.ts', 'notes.md', '.hidden.yaml', '$(touch pwned).yaml'])
  writeFileSync(join(folder, 'pipelines', file), '')
writeFileSync(join(folder, 'other', 'stock.yml'), '')

/** Words that the command line suggests for the last of `words`. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const { code, stdout, stderr } = await sluiceHere(['__complete', '--', ...words], { cwd: folder })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => line.replace(/\t.*/, ''))
    .toSorted()
}

test('offers the commands, and of a group its own', async () => {
  expect(await offered('')).toEqual([...catalogue.filter(({ hidden }) => !hidden).map(({ name }) => name), 'help'].toSorted())
  expect(await offered('re')).toEqual(['rejects', 'rerun', 'resume'])
  expect(await offered('auth', '')).toEqual(['bearer', 'login', 'logout', 'status'])
  expect(await offered('help', 'e')).toEqual(['environment', 'exit-codes', 'explain'])
  expect(await offered('help', 'auth', '')).toEqual(['bearer', 'login', 'logout', 'status'])
  expect(await offered('help', 'auth', 'login', '')).toEqual([])
  expect(await offered('help', 'api', '')).toEqual([])
  expect(await offered('completion', '')).toEqual(['bash', 'fish', 'zsh'])
  expect(await offered('api', '')).toEqual(['DELETE', 'GET', 'POST', 'PUT'])
  expect(await offered('api', 'GET', '')).toEqual([])
  expect(await offered('nonsense', '')).toEqual([])
  expect(await offered()).toEqual(await offered(''))
})

test('gives each word its meaning', async () => {
  const { stdout } = await sluiceHere(['__complete', '--', 'backf'], { cwd: folder })
  expect(stdout).toBe(`backfill\t${catalogue.find(({ name }) => name === 'backfill')?.summary}\n`)
})

test('offers the flags of the command and those of all', async () => {
  expect(await offered('run', 'shop', '--')).toEqual([
    '--approve-deletes',
    '--database',
    '--full',
    '--help',
    '--json',
    '--pipelines',
    '--take-over',
  ])
  expect(await offered('webhooks', 'replay', '--f')).toEqual(['--from'])
  expect(await offered('--json', 'rejects', 'r_1', '--from')).toEqual(['--from-source'])
})

test('offers the names of pipelines where one may stand, and of the folder that was named', async () => {
  expect(await offered('plan', 'sh')).toEqual(['shop', 'shop-de'])
  expect(await offered('plan', 'c')).toEqual(['crm'])
  expect(await offered('plan', 'types')).toEqual([])
  expect(await offered('run', 'crm', '--full', 'shop-')).toEqual(['shop-de'])
  expect(await offered('explain', 'crm', 'shop')).toEqual([])
  expect(await offered('forget', '--pipeline', 'cr')).toEqual(['crm'])
  expect(await offered('--pipelines', 'other', 'run', '')).toEqual(['stock'])
  expect(await offered('--pipelines=other', 'run', '')).toEqual(['stock'])
  expect(await offered('--pipelines', `${folder}/other`, 'run', 's')).toEqual(['stock'])
})

test('takes the value of a flag for no command, and offers none in its place', async () => {
  expect(await offered('--database', 'run', 'sh')).toEqual(['show'])
  expect(await offered('runs', '--limit', '')).toEqual([])
  expect(await offered('rejects', 'r_1', '--csv', '')).toEqual([':files'])
  expect(await offered('--pipelines', '')).toEqual([':directories'])
  expect(await offered('rejects', 'r_1', '--csv=bad')).toEqual([':files'])
  expect(await offered('forget', '--pipeline=cr')).toEqual(['--pipeline=crm'])
})

test('offers the newest runs and their plans where a command takes one', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(2))
  const { planId } = json(await shop.here(['plan', 'shop', '--json']))
  const { runId } = json(await shop.here(['run', 'shop', '--json']))
  const ids = async (...words: readonly string[]) => (await shop.here(['__complete', '--', ...words])).stdout
  expect(await ids('rejects', runId)).toBe(`${runId}\tshop, succeeded\n`)
  expect(await ids('apply', '')).toContain(`${planId}\tplan of shop, `)
  expect(await ids('show', planId)).toContain(planId)
  expect(await ids('show', 'r_')).toContain(runId)
})

test.for([
  ['a folder without pipelines', ['--pipelines', 'missing', 'run', ''], {}],
  ['no database, which is not started for it', ['show', ''], {}],
  ['a database that does not answer', ['show', ''], { DATABASE_URL: 'postgres://me@127.0.0.1:9/x' }],
  ['a wrong environment', ['show', ''], { SLUICE_BASE_URL: 'nonsense' }],
] as const)('offers nothing and is silent with %s', async ([, words, env]) => {
  const cwd = emptyFolder()
  expect(await sluiceHere(['__complete', '--', ...words], { cwd, env })).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(existsSync(join(cwd, '.sluice'))).toBe(false)
})

// The scripts call `sluice`, as a shell finds it.
const bin = emptyFolder()
writeFileSync(join(bin, 'sluice'), `#!/bin/sh\nexec "${process.execPath}" "${launcher}" "$@"\n`)
chmodSync(join(bin, 'sluice'), 0o755)

/** Calls of each shell for its completions of the words; the last word is incomplete. */
const shells: Readonly<Record<string, (script: string, words: readonly string[]) => readonly string[]>> = {
  bash: (script, words) => [
    '-c',
    `set -u; compopt() { echo ":$2"; }; source "$1"; shift; COMP_LINE="$*" COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _sluice; printf '%s\\n' "\${COMPREPLY[@]-}"`,
    'bash',
    script,
    ...words,
  ],
  // Outside of its line editor zsh has no completion functions. These substitutes print their arguments.
  zsh: (script, words) => [
    '-fc',
    'compdef() { : }; compset() { PREFIX=${PREFIX#*=} }; _files() { [[ $1 == -/ ]] && print :dirnames || print :default }; ' +
      '_describe() { local word; for word in ${(P)argv[-1]}; do print -r -- ${word%%:*}; done }; ' +
      'source "$1"; shift; words=("$@") CURRENT=$# PREFIX=$argv[-1]; _sluice; true',
    'zsh',
    script,
    ...words,
  ],
  fish: (script, words) => ['--no-config', '-c', `source ${script}; complete -C '${words.join(' ')}' | string replace -r '\\t.*' ''`],
}

describe.for(Object.entries(shells))('%s', ([shell, call]) => {
  const missing = spawnSync(shell, ['--version']).status !== 0
  const script = join(folder, `sluice.${shell}`)
  const shown = async (...words: readonly string[]) => {
    if (!existsSync(script)) writeFileSync(script, (await sluiceHere(['completion', shell])).stdout)
    const { PATH = '' } = process.env
    const { stdout, stderr } = spawnSync(shell, call(script, ['sluice', ...words]), {
      cwd: folder,
      encoding: 'utf8',
      env: { HOME: folder, PATH: `${bin}:${PATH}` },
    })
    expect(stderr).toBe('')
    return stdout.split('\n').filter(Boolean).toSorted()
  }

  test.skipIf(missing)('shows the candidates: commands, flags, pipelines', { tags: ['long'] }, async () => {
    expect(await shown('re')).toEqual(['rejects', 'rerun', 'resume'])
    expect(await shown('webhooks', 'replay', '--f')).toEqual(['--from'])
    expect(await shown('--pipelines', 'other', 'run', '')).toEqual(['stock'])
    expect(await shown('nonsense', '')).toEqual([])
  })

  test.skipIf(missing)('hands a flag that takes a file or a folder to its own completion', { tags: ['long'] }, async () => {
    // fish completes them in one step; the other two only print which files they would search.
    expect(await shown('--pipelines', 'o')).toEqual(shell === 'fish' ? ['other/'] : [':dirnames'])
    expect(await shown('rejects', 'r_1', '--csv', 'sluice.fi')).toEqual(shell === 'fish' ? ['sluice.fish'] : [':default'])
    expect(await shown('--pipelines=o')).toEqual(shell === 'fish' ? ['--pipelines=other/'] : [':dirnames'])
  })

  test.skipIf(missing)('evaluates neither the names of files nor what was typed', { tags: ['long'] }, async () => {
    const names = await shown('run', '')
    await shown('run', '$(touch pwned)', '')
    await shown('--pipelines', '$(touch pwned)', 'run', '')
    expect(existsSync(join(folder, 'pwned'))).toBe(false)
    expect(names.length).toBe(4)
  })

  test.skipIf(missing)('stays silent without sluice on the path', async () => {
    await shown('re')
    const { stdout, stderr } = spawnSync(shell, call(script, ['sluice', 're']), {
      cwd: folder,
      encoding: 'utf8',
      env: { HOME: folder, PATH: '/usr/bin:/bin' },
    })
    expect({ stdout: stdout.trim(), stderr }).toEqual({ stdout: '', stderr: '' })
  })
})

// `script` gives Bash a terminal, in which it splits the line itself.
const hasScript = spawnSync('script', ['--version']).status === 0
test.skipIf(!hasScript).for([
  ['sluice --database postgres://u@h/db explain cr', 'sluice --database postgres://u@h/db explain crm'],
  ['sluice --database=postgres://u@h/db explain cr', 'sluice --database=postgres://u@h/db explain crm'],
  ['sluice api -F key=value GE', 'sluice api -F key=value GET'],
  ['sluice  forget --pipeline=cr', 'sluice forget --pipeline=crm'],
  ['sluice --pipelines=other run ', 'sluice --pipelines=other run stock'],
  ['sluice --pipelines=ot', 'sluice --pipelines=other/'],
] as const)('bash completes %j (needs "script" of util-linux)', { tags: ['long'], timeout: 30_000 }, async ([typed, completed]) => {
  const script = join(folder, 'typed.bash')
  writeFileSync(script, `PS1='ready> '\n${(await sluiceHere(['completion', 'bash'])).stdout}`)
  const { PATH = '' } = process.env
  const child = spawn('script', ['-qec', `bash --noprofile --rcfile ${script} -i`, '/dev/null'], {
    cwd: folder,
    env: { HOME: folder, PATH: `${bin}:${PATH}`, TERM: 'dumb', INPUTRC: '/dev/null' },
    stdio: 'pipe',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ending = ended(child)
  await printed(child, /ready> /)
  // Completes, then prints the words of the line instead of running it: Ctrl-A and Ctrl-E go to its start and its end.
  child.stdin.end(`${typed}\t\x01printf '<%s>' \x05\nexit\n`)
  expect((await ending).stdout).toContain(`<${completed.split(' ').join('><')}>`)
})

test('a flag takes the same kind of value wherever it stands', () => {
  const kinds = new Map<string, Set<string>>()
  const options = [...catalogue, ...catalogue.flatMap(({ commands = [] }) => commands)].flatMap((entry) => entry.options ?? [])
  for (const { flags } of options) {
    const [, value] = /<(.+)>/.exec(flags) ?? []
    const kind = value === undefined ? 'none' : value === 'DIR' ? 'directory' : value === 'FILE' || value === 'URI' ? 'file' : 'other'
    const [name = ''] = /--[a-z-]+/.exec(flags) ?? []
    if (kind !== 'none') kinds.set(name, (kinds.get(name) ?? new Set()).add(kind))
  }
  expect([...kinds].filter(([, found]) => found.size > 1)).toEqual([])
  expect(kinds.size).toBeGreaterThan(15)
})

test('another shell is refused with those that there are; --json is one document', async () => {
  const { code, stderr } = await sluice(['completion', 'tcsh'])
  expect(code).toBe(2)
  expect(stderr).toMatch(/INVALID_VALUE.*bash, zsh, fish/)
  const { stdout } = await sluice(['completion', 'fish', '--json'])
  expect(JSON.parse(stdout)).toEqual({ shell: 'fish', script: expect.stringContaining('complete -c sluice') })
})

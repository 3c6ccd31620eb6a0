/** Completions as the real shells offer them. A shell that is not installed is skipped. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { catalogue } from '../../../src/cli/catalogue.ts'
import { scripts } from '../../../src/cli/completion/shells.ts'
import { shapeOf } from '../../../src/cli/completion/shape.ts'
import { emptyFolder, sluice } from './support.ts'

/** Calls of each shell for its completions of the words; the last word is incomplete. */
const shells: Readonly<Record<string, (script: string, words: readonly string[]) => readonly string[]>> = {
  bash: (script, words) => [
    '-c',
    `set -u; source "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _sluice; printf '%s\\n' "\${COMPREPLY[@]-}"`,
    'bash',
    script,
    ...words,
  ],
  // Outside of its line editor zsh has no completion functions: these print what they are given.
  zsh: (script, words) => [
    '-fc',
    'compdef() { : }; _files() { : }; _describe() { local name; for name in ${(P)argv[-1]}; do print -r -- ${name%%:*}; done }; ' +
      'source "$1"; shift; words=("$@") CURRENT=$# PREFIX=$argv[-1]; _sluice | while read -r word; do [[ $word == $PREFIX* ]] && print -r -- $word; done',
    'zsh',
    script,
    ...words,
  ],
  fish: (script, words) => ['--no-config', '-c', `source ${script}; complete -C '${words.join(' ')}' | string replace -r '\\t.*' ''`],
}

const folder = emptyFolder()
mkdirSync(join(folder, 'pipelines'))
mkdirSync(join(folder, 'other'))
for (const file of ['shop.yaml', 'shop-de.json', 'crm.ts', 'types.d.ts', 'notes.md', '.hidden.yaml', '$(touch pwned).yaml'])
  writeFileSync(join(folder, 'pipelines', file), '')
writeFileSync(join(folder, 'other', 'stock.yml'), '')

describe.for(Object.entries(shells))('%s', ([shell, ask]) => {
  const missing = spawnSync(shell, ['--version']).status !== 0
  const script = join(folder, `sluice.${shell}`)
  writeFileSync(script, scripts[shell]?.(shapeOf(catalogue)) ?? '')
  const offered = (...words: readonly string[]) => {
    const { stdout, stderr } = spawnSync(shell, ask(script, ['sluice', ...words]), { cwd: folder, encoding: 'utf8' })
    expect(stderr).toBe('')
    return stdout.split('\n').filter(Boolean).toSorted()
  }

  test.skipIf(missing)('offers the commands, and of a group its own', () => {
    expect(offered('')).toEqual([...catalogue.filter(({ hidden }) => !hidden).map(({ name }) => name), 'help'].toSorted())
    expect(offered('re')).toEqual(['rejects', 'rerun', 'resume'])
    expect(offered('auth', '')).toEqual(['bearer', 'login', 'logout', 'status'])
    expect(offered('help', 'e')).toEqual(['environment', 'exit-codes', 'explain'])
    expect(offered('completion', '')).toEqual(['bash', 'fish', 'zsh'])
    expect(offered('nonsense', '')).toEqual([])
  })

  test.skipIf(missing)('offers the flags of the command and those of all', () => {
    expect(offered('run', 'shop', '--')).toEqual([
      '--approve-deletes',
      '--database',
      '--full',
      '--help',
      '--json',
      '--pipelines',
      '--take-over',
    ])
    expect(offered('webhooks', 'replay', '--f')).toEqual(['--from'])
    expect(offered('--json', 'rejects', 'r_1', '--from')).toEqual(['--from-source'])
  })

  test.skipIf(missing)('offers the names of pipelines where one may stand, and of the folder that was named', () => {
    expect(offered('plan', 'sh')).toEqual(['shop', 'shop-de'])
    expect(offered('plan', 'c')).toEqual(['crm'])
    expect(offered('plan', 'types')).toEqual([])
    expect(offered('run', 'crm', '--full', 'shop-')).toEqual(['shop-de'])
    expect(offered('explain', 'crm', 'shop')).toEqual([])
    expect(offered('show', 's')).toEqual([])
    expect(offered('--pipelines', 'other', 'run', '')).toEqual(['stock'])
    expect(offered('--pipelines', `${folder}/other`, 'run', 's')).toEqual(['stock'])
  })

  test.skipIf(missing)('takes the value of a flag for no command, and offers none in its place', () => {
    expect(offered('--database', 'run', 'sh')).toEqual(['show'])
    expect(offered('runs', '--limit', '')).toEqual([])
  })

  test.skipIf(missing)('evaluates neither the names of files nor what was typed', () => {
    const names = offered('run', '')
    offered('run', '$(touch pwned)', '')
    offered('--pipelines', '$(touch pwned)', 'run', '')
    expect(existsSync(join(folder, 'pwned'))).toBe(false)
    expect(names.length).toBe(4)
  })
})

test('bash hands the flags that take a file or a folder to its own completion, and reads --flag=value', async () => {
  const { code, stdout, stderr } = await sluice(['completion', 'bash'], { cwd: folder })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const asked = (...words: readonly string[]) =>
    spawnSync(
      'bash',
      [
        '-c',
        `compopt() { echo "$2"; }; ${stdout}\nCOMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _sluice; echo "\${COMPREPLY[@]}"`,
        'bash',
        'sluice',
        ...words,
      ],
      {
        cwd: folder,
        encoding: 'utf8',
      },
    ).stdout.trim()
  expect(asked('rejects', 'r_1', '--csv', '')).toBe('default')
  expect(asked('--pipelines', '')).toBe('dirnames')
  expect(asked('--pipelines', '=', 'other', 'run', '')).toBe('stock')
})

test.skipIf(spawnSync('zsh', ['--version']).status !== 0)('zsh hands the value of --flag=value to the completion of files', () => {
  writeFileSync(join(folder, '_sluice'), scripts['zsh']?.(shapeOf(catalogue)) ?? '')
  const asked = (word: string) =>
    spawnSync(
      'zsh',
      [
        '-fc',
        'compdef() { : }; compset() { PREFIX=${PREFIX#*=} }; _files() { print "files $*" }; _describe() { print flags }; ' +
          'source ./_sluice; words=(sluice rejects "$1") CURRENT=3 PREFIX=$1; _sluice; print "prefix $PREFIX"',
        'zsh',
        word,
      ],
      { cwd: folder, encoding: 'utf8' },
    ).stdout
  expect(asked('--csv=bad')).toBe('files \nprefix bad\n')
  expect(asked('--pipelines=pip')).toBe('files -/\nprefix pip\n')
  expect(asked('--csv')).toBe('flags\nprefix --csv\n')
})

test('a flag takes the same kind of value wherever it stands', () => {
  const kinds = new Map<string, Set<string>>()
  for (const entry of [...catalogue, ...catalogue.flatMap(({ commands = [] }) => commands)])
    for (const kind of shapeOf([entry]).values) kinds.set(kind[0], (kinds.get(kind[0]) ?? new Set()).add(kind[1]))
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

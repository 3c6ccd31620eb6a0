/** Runs the programs of the pages as they are written. The comment after a line that prints is the expected output. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { python, PYTHON_CLIENTS } from '../support/foreign/python.ts'
import { ruby, RUBY_CLIENT } from '../support/foreign/ruby.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const sandbox = sharedSandbox()
const folder = mkdtempSync(join(tmpdir(), 'sluice-pages-'))
const library = new URL('../../src/index.ts', import.meta.url).href

const textOf = (page: string): string =>
  readFileSync(new URL(page === 'README' ? '../../README.md' : `../../docs/${page}.md`, import.meta.url), 'utf8')

function blocks(page: string, language: 'ts' | 'python' | 'ruby'): readonly string[] {
  return [...textOf(page).matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, block = '']) => block)
}

/** Returns the lines that a program prints, by the comments behind them. */
function printed(program: string): readonly string[] {
  return [...program.matchAll(/^.*\b(?:console\.log|print|puts)\b.* (?:\/\/|#) (.*)$/gm)].map(([, text = '']) => text)
}

async function run(command: string, file: string, program: string): Promise<readonly string[]> {
  const path = join(folder, file)
  writeFileSync(path, program.replaceAll('http://127.0.0.1:4010', sandbox.url).replaceAll("from 'sluice'", `from '${library}'`))
  // Runs in a process of its own, without blocking this one, which serves the sandbox.
  const child = spawn(command, [path], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', PYTHONWARNINGS: 'ignore' },
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
  const status = await new Promise((resolve) => child.on('close', resolve))
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' })
  return stdout.split('\n').slice(0, -1)
}

describe('TypeScript', () => {
  test('the blocks of client.md are one program', async () => {
    const program = blocks('client', 'ts').join('\n')
    expect(printed(program).length).toBeGreaterThan(15)
    expect(await run(process.execPath, 'client.ts', program)).toEqual(printed(program))
  })

  test('every section of client.md that a newcomer looks for has a block', () => {
    const sections = textOf('client').split(/^## /m).slice(1)
    expect(sections.map((section) => [section.slice(0, section.indexOf('\n')), section.includes('```ts')])).toEqual(
      ['A first program', 'Reads', 'Paging', 'Writes', 'Errors', 'Retries', 'Webhooks', 'Sign-in', 'Everything else', 'Testing'].map(
        (title) => [title, true],
      ),
    )
  })

  test.for([
    ['README', ['1']],
    ['sandbox', ['11']],
  ] as const)('the block of %s.md runs', { tags: ['long'] }, async ([page, output]) => {
    const [program = ''] = blocks(page, 'ts')
    expect(await run(process.execPath, `${page}.ts`, program)).toEqual(output)
  })

  test('the receiver of webhooks.md listens', { tags: ['long'] }, async () => {
    const [program = ''] = blocks('webhooks', 'ts')
    await run(process.execPath, 'webhooks.ts', `${program.replace('8080', '0')}\nserver.close()\n`)
  })

  // The blocks of sandbox-recipes.md run in recipes.test.ts.
  test('no other page has a program', () => {
    const pages = readdirSync(new URL('../../docs', import.meta.url)).filter((file) => file.endsWith('.md'))
    const withPrograms = pages.map((file) => file.slice(0, -'.md'.length)).filter((page) => blocks(page, 'ts').length > 0)
    expect(withPrograms.toSorted()).toEqual(['client', 'sandbox', 'sandbox-recipes', 'webhooks'])
  })
})

describe.skipIf(python === undefined)(`Python (${PYTHON_CLIENTS})`, () => {
  test.for(['sandbox', 'sandbox-recipes'])('the block of %s.md runs', async (page) => {
    const [program = ''] = blocks(page, 'python')
    expect(await run(python ?? '', `${page}.py`, program)).toEqual(printed(program))
    expect(printed(program)).not.toEqual([])
  })
})

describe.skipIf(ruby === undefined)(`Ruby (${RUBY_CLIENT})`, () => {
  test('the block of sandbox-recipes.md runs', async () => {
    const [program = ''] = blocks('sandbox-recipes', 'ruby')
    expect(await run(ruby ?? '', 'recipe.rb', program)).toEqual(['Spring mugs', 'Autumn'])
    expect(await sandbox.control.violations()).toEqual([])
  })
})

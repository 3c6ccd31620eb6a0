/** The README is right: its five commands run as they stand there, its other commands parse, its pipeline is one. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseCommandLine } from '../../../src/cli/program.ts'
import { resolvePipeline } from '../../../src/pipeline/resolve.ts'
import { json, workspace } from './workspace.ts'

const page = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/```(\w+)\n([\s\S]*?)```/g)].map(([, language = '', text = '']) => ({ language, text }))
const commands = (text: string) => [...text.matchAll(/^npx sluice (.*?)(?: {2,}#.*| {3,}.*)?$/gm)].map(([, call = '']) => call.split(' '))
const calls = blocks.filter(({ language }) => language === 'sh').flatMap(({ text }) => commands(text))

test('every command of the README parses', () => {
  expect(calls.length).toBeGreaterThan(15)
  for (const call of calls) expect(parseCommandLine(call, '1.0.0').kind, call.join(' ')).toBe('run')
})

test('its pipelines are whole', () => {
  const pipelines = blocks.filter(({ language }) => language === 'yaml')
  expect(pipelines.length).toBeGreaterThan(0)
  for (const { text } of pipelines) expect(resolvePipeline(parse(text), 'crm', 'crm.yaml').problems).toEqual([])
})

test('its five commands take the sample file to the audience', async () => {
  const five = commands(/in five commands\n\n```sh\n([\s\S]*?)```/.exec(page)?.[1] ?? '')
  expect(five.map(([name]) => name)).toEqual(['sandbox', 'init', 'check', 'plan', 'run'])
  await using there = await workspace()
  mkdirSync(join(there.folder, 'pipelines/data'), { recursive: true })
  copyFileSync(new URL('../../../pipelines/data/customers.csv', import.meta.url), join(there.folder, 'pipelines/data/customers.csv'))
  // The first, the sandbox, is there already, on a port of its own.
  for (const call of five.slice(1)) {
    const { code, stderr } = await there.run(call)
    expect({ call, code, stderr: code === 0 ? '' : stderr }).toEqual({ call, code: 0, stderr: '' })
  }
  const [report] = json(await there.run(['runs', 'customers', '--json']))
  expect(report).toMatchObject({ status: 'succeeded', counts: { read: 2000, confirmed: report.counts.creates } })
  expect((await there.sandbox.control.audience()).members).toBe(report.counts.confirmed)
  expect((await there.run(['explain', 'customers', 'C00001'])).stdout).toMatch(/^Live/)
})

test('its program runs', () => {
  const [{ text } = { text: '' }] = blocks.filter(({ language }) => language === 'ts')
  expect(text).toContain("from 'sluice'")
  const index = new URL('../../../src/index.ts', import.meta.url).href
  const folder = mkdtempSync(join(tmpdir(), 'sluice-readme-'))
  writeFileSync(join(folder, 'try.ts'), text.replaceAll("from 'sluice'", `from '${index}'`))
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'try.ts')], { encoding: 'utf8' })
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain('products: 1')
})

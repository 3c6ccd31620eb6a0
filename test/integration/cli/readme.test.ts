/** The commands of the README parse, and its pipeline is valid. newcomer.test.ts runs its blocks. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseCommandLine } from '../../../src/cli/commandLine/parseCommandLine.ts'
import { resolvePipeline } from '../../../src/pipeline/resolve.ts'

const page = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/```(\w+)\n([\s\S]*?)```/g)].map(([, language = '', text = '']) => ({ language, text }))
const commands = (text: string) => [...text.matchAll(/^npx sluice (.*?)(?: {2,}#.*| {3,}.*)?$/gm)].map(([, call = '']) => call.split(' '))
const calls = blocks.filter(({ language }) => language === 'sh').flatMap(({ text }) => commands(text))

test('every command of the README parses', () => {
  expect(calls.length).toBeGreaterThan(15)
  for (const call of calls) expect(parseCommandLine(call, '1.0.0').kind, call.join(' ')).toBe('run')
})

test('its pipelines are complete', () => {
  const pipelines = blocks.filter(({ language }) => language === 'yaml')
  expect(pipelines.length).toBeGreaterThan(0)
  for (const { text } of pipelines) expect(resolvePipeline(parse(text), 'crm', 'crm.yaml').problems).toEqual([])
})

test('its first block of commands is the five commands', () => {
  const five = commands(/in five commands\n\n```sh\n([\s\S]*?)```/.exec(page)?.[1] ?? '')
  expect(five.map(([name]) => name)).toEqual(['sandbox', 'init', 'check', 'plan', 'run'])
})

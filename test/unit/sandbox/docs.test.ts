import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FAULT_KINDS } from '../../../src/sandbox/faults.ts'
import { SWITCHES } from '../../../src/sandbox/switches.ts'

const page = readFileSync(new URL('../../../docs/sandbox.md', import.meta.url), 'utf8')

test('every switch, its values and every fault kind stand in docs/sandbox.md', () => {
  expect(SWITCHES.length + FAULT_KINDS.length).toBeGreaterThan(70)
  const rowOf = (name: string): string => page.split('\n').find((line) => line.startsWith('|') && line.includes(`\`${name}\` |`)) ?? ''
  const missing = SWITCHES.flatMap(({ name, values }) => values.filter((value) => !rowOf(name).includes(`\`${value}\``)).map((value) => `${name}: ${value}`))
  expect(missing).toEqual([])
  expect(FAULT_KINDS.filter((kind) => !page.includes(`\`${kind}\``))).toEqual([])
})

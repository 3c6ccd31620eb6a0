import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FAULT_KINDS } from '../../../src/sandbox/faults.ts'
import { SWITCHES } from '../../../src/sandbox/switches.ts'

const page = readFileSync(new URL('../../../docs/sandbox.md', import.meta.url), 'utf8')

test('every switch, its values and every fault kind stand in docs/sandbox.md', () => {
  expect(SWITCHES.length + FAULT_KINDS.length).toBeGreaterThan(70)
  for (const { name, values } of SWITCHES) {
    const row = page.split('\n').find((line) => line.startsWith('|') && line.includes(`\`${name}\` |`))
    expect(row, name).toBeDefined()
    for (const value of values) expect(row, name).toContain(`\`${value}\``)
  }
  for (const kind of FAULT_KINDS) expect(page, kind).toContain(`\`${kind}\``)
})

/** docs/sandbox.md names every switch, fault, rule and call of the control API that the code has. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FAULT_KINDS } from '../../../src/sandbox/faults/faultKinds.ts'
import { TLS_KINDS } from '../../../src/sandbox/http/tls/listeners.ts'
import { SWITCHES } from '../../../src/sandbox/state/switches.ts'

const page = readFileSync(new URL('../../../docs/sandbox.md', import.meta.url), 'utf8')
const source = (path: string): string => readFileSync(new URL(`../../../src/sandbox/${path}`, import.meta.url), 'utf8')

test('docs/sandbox.md lists every switch with its values, and every kind of fault', () => {
  expect(SWITCHES.length + FAULT_KINDS.length).toBeGreaterThan(70)
  const rowOf = (name: string): string => page.split('\n').find((line) => line.startsWith('|') && line.includes(`\`${name}\` |`)) ?? ''
  const missing = SWITCHES.flatMap(({ name, values }) =>
    values.filter((value) => !rowOf(name).includes(`\`${value}\``)).map((value) => `${name}: ${value}`),
  )
  expect(missing).toEqual([])
  expect(FAULT_KINDS.filter((kind) => !page.includes(`\`${kind}\``))).toEqual([])
})

test('docs/sandbox.md lists every call of the control API', () => {
  const calls = [
    'controlApi.ts',
    'audiences/area.ts',
    'auth/area.ts',
    'campaigns/features.ts',
    'catalogs/area.ts',
    'webhooks/area.ts',
  ].flatMap((file) =>
    [...source(file).matchAll(/'(GET|POST|PUT|DELETE) (?:\/_sandbox\/)?([a-z]+)/g)].map(
      ([, method = '', name = '']) => [method, name] as const,
    ),
  )
  expect(calls.length).toBeGreaterThan(15)
  const rows = page
    .slice(page.indexOf('## The control API'), page.indexOf('## Faults'))
    .split('\n')
    .filter((line) => line.startsWith('|'))
  const missing = calls.filter(
    ([method, name]) => !rows.some((row) => row.includes(method) && new RegExp(String.raw`[\s\`]${name}\b`).test(row.split('|')[1] ?? '')),
  )
  expect(missing).toEqual([])
})

test('docs/sandbox.md lists every kind of bad TLS and every field of a match', () => {
  expect(TLS_KINDS.length).toBeGreaterThan(5)
  expect(TLS_KINDS.filter((kind) => !page.includes(`\`${kind}\``))).toEqual([])
  const fields = [
    ...(source('faults/faultRule.ts').split('interface FaultMatch {')[1]?.split('\n}')[0] ?? '').matchAll(/readonly (\w+)\??:/g),
  ]
  expect(fields.length).toBeGreaterThan(8)
  expect(fields.map(([, name = '']) => name).filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})

test('docs/sandbox.md lists every rule that a caller can break', () => {
  const folder = new URL('../../../src/sandbox/', import.meta.url)
  const text = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('\n')
  const named = [...text.matchAll(/(?:record|report)Violation\((?:[\w.]+, )*'([a-z_0-9]+)'/g)].map(([, rule = '']) => rule)
  const classified = [...source('ledger/valueOrder.ts').matchAll(/^ {2}([a-z_]+): '/gm)].map(([, rule = '']) => rule)
  const rules = new Set([...named, ...classified])
  expect(rules.size).toBeGreaterThan(17)
  expect([...rules].filter((rule) => !page.includes(`\`${rule}\``))).toEqual([])
})

test('docs/sandbox.md lists every field of a fault and of an event', () => {
  const fields = (text: string, type: string): string[] =>
    [...(text.split(`interface ${type} {`)[1]?.split('\n}')[0] ?? '').matchAll(/readonly (\w+)\??:/g)].map(([, name = '']) => name)
  const control = source('webhooks/control.ts')
  const events = [...fields(control, 'EventFields'), ...fields(control, 'EventInput extends EventFields')]
  expect(events.length).toBeGreaterThan(12)
  expect(events.filter((name) => !page.includes(`\`${name}\``) && !page.includes(`"${name}"`))).toEqual([])
})

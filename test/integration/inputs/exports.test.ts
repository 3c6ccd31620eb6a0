/** Thirty exports, each through init, check and run with only the hints to follow. An oracle reads the people to send from the file. */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { Context, Output } from '../../../src/cli/context.ts'
import { loadCommand } from '../../../src/cli/loadCommand.ts'
import { parseCommandLine } from '../../../src/cli/commandLine/parseCommandLine.ts'
import { styleFor } from '../../../src/cli/terminal/style.ts'
import { systemClock } from '../../../src/clock.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { silentLogger } from '../../../src/log.ts'
import { completeDraft, inspectWithAnswers } from '../../../src/cli/commands/init/prompts.ts'
import { initOptionsOf } from '../../../src/cli/commands/init/options.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { createMapper } from '../../../src/destinations/createMapper.ts'
import { emptyFolder } from '../cli/support.ts'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { localized, odd, ordinary, type Cells, type ExportOfPeople } from './exports.ts'

const people = 12
const mostRounds = 3
const all = [...localized, ...odd, ...ordinary]

test('there are thirty exports', () => expect([localized.length, odd.length, ordinary.length]).toEqual([10, 10, 10]))

let engine: EngineUnderTest
beforeAll(async () => void (engine = await engineUnderTest()))
afterAll(() => engine[Symbol.asyncDispose]())

test.for(all)('$name: only people with consent are sent', { timeout: 30_000 }, async (given) => {
  const text = fileOf(given)
  const { folder, audience } = await place(given)
  const source = join(folder, 'people.csv')
  writeFileSync(source, text)
  const account = '18ce54d4x5t'
  await command(folder, ['init', 'people', '--source', source, '--audience', audience, '--account', account])
  let rounds = 0
  for (;;) {
    rounds++
    const [check] = JSON.parse(await command(folder, ['check', 'people', '--json'])) as [
      { sources: [{ holds: { code: string; hint: string }[] }] },
    ]
    const report = await runPipeline(engine.deps, await loadPipeline(folder, 'people'), { trigger: 'manual' })
    // The check reports the same as the run.
    expect(check.sources[0].holds.map(({ code, hint }) => [code, hint])).toEqual(report.guards.map(({ code, hint }) => [code, hint]))
    if (report.guards.length === 0) {
      expect(report).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } })
      break
    }
    expect(report.counts.confirmed).toBe(0)
    expect(rounds, JSON.stringify(report.guards)).toBeLessThan(mostRounds)
    for (const { hint } of report.guards) applyHint(join(folder, 'people.yaml'), hint)
  }
  expect(await sent(audience)).toEqual(expected(text, given))
})

/** A folder of pipelines and an empty audience of its own: one database and one sandbox serve all exports. */
async function place(given: ExportOfPeople): Promise<{ readonly folder: string; readonly audience: string }> {
  const folder = join(engine.folder, String(all.indexOf(given)), 'pipelines')
  mkdirSync(folder, { recursive: true })
  const made = await engine.sandbox.call('POST', '/12/accounts/18ce54d4x5t/custom_audiences', { query: { name: given.name } })
  return { folder, audience: made.body.data.id as string }
}

test.for(all)('$name: the defaults of init send people, and no one without consent', async (given) => {
  const text = fileOf(given)
  const folder = emptyFolder()
  const file = join(folder, 'people.csv')
  writeFileSync(file, text)
  const request = parseCommandLine(['init', 'people', '--source', file], '1.0.0')
  if (request.kind !== 'run') throw new Error('init runs')
  const options = initOptionsOf(request.invocation)
  const { inspection } = await inspectWithAnswers(contextOf({}, folder).context, { ...options, source: file }, undefined)
  const target = { name: 'people', file: 'people.yaml', kind: 'audience', targetId: '1nmth', account: '18ce54d4x5t' } as const
  const asked: string[] = []
  const draft = await completeDraft(inspection, target, options, (question) => {
    asked.push(question)
    return Promise.resolve('')
  })
  expect(draft.valid, asked.join('\n')).toBeGreaterThan(0)
  const mapper = createMapper(draft.pipeline, inspection.inspectedAt)
  const sendable = new Set(expected(text, { ...given, texts: given.yes ?? (() => true) }))
  // A column that the default answer leaves unread stops the run, and no person is sent.
  if (draft.consent.length > 0) return
  for (const row of inspection.rows) {
    const { record } = mapper.map(row)
    if (record?.kind !== 'member' || !record.desired) continue
    const emails = record.identifiers.filter((packed) => packed[0] === 1).map((packed) => `email\t${packed.subarray(1).toString('hex')}`)
    // An identifier that another row opted out is omitted by the read, not by its row.
    for (const identifier of emails) if (given.name !== 'one person twice, opted out once') expect(sendable).toContain(identifier)
  }
})

/**
 * Returns the expected identifiers at the service: those of all rows with a yes. Identifiers that a row with a no also has are left out.
 */
function expected(
  text: string,
  { delimiter = ',', emails, phones = [], yes = () => true, texts = yes }: ExportOfPeople,
): readonly string[] {
  const [header = '', ...lines] = text.split('\n').filter((line) => line !== '')
  const columns = header.split(delimiter)
  const rows = lines.map((line): Cells => Object.fromEntries(line.split(delimiter).map((cell, i) => [columns[i] ?? '', cell])))
  const may = new Set<string>()
  const mayNot = new Set<string>()
  for (const row of rows) {
    const cells = (names: readonly string[]) => names.map((name) => row[name] ?? '').filter((cell) => cell !== '')
    for (const cell of cells(emails)) (yes(row) ? may : mayNot).add(`email\t${digest(cell.trim().toLowerCase())}`)
    for (const cell of cells(phones)) (yes(row) && texts(row) ? may : mayNot).add(`phone_number\t${digest(e164(cell))}`)
  }
  return [...may].filter((identifier) => !mayNot.has(identifier)).toSorted()
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** All numbers of the files are of the United States. */
function e164(cell: string): string {
  const digits = cell.replace(/ x\d+$/, '').replace(/\D/g, '')
  return digits.length === 10 ? `+1${digits}` : `+${digits}`
}

function fileOf({ columns, delimiter = ',' }: ExportOfPeople): string {
  const rows = Array.from({ length: people }, (_, i) => Object.values(columns).map((cell) => cell(i)))
  return [Object.keys(columns), ...rows].map((cells) => `${cells.join(delimiter)}\n`).join('')
}

/** Writes the setting of a hint into the pipeline file, as a user would. */
function applyHint(file: string, hint: string): void {
  const settings = parse(readFileSync(file, 'utf8')) as Record<string, unknown>
  const consent = /consent: .*$/.exec(hint)?.[0]
  const map = /map: \{ .* \}(?=; or)/.exec(hint)?.[0]
  if (consent === undefined && map === undefined) throw new Error(`a hint that names no setting: ${hint}`)
  Object.assign(settings, consent === undefined ? {} : parse(consent))
  if (map !== undefined) settings['map'] = { ...(settings['map'] as object | undefined), ...(parse(map) as { map: object }).map }
  writeFileSync(file, stringify(settings))
}

/** A command of the command line, in this process; returns what it printed. */
async function command(folder: string, argv: readonly string[]): Promise<string> {
  const request = parseCommandLine([...argv, '--pipelines', folder], '1.0.0')
  if (request.kind !== 'run') throw new Error(`${argv[0]} runs`)
  const { context, printed } = contextOf(engine.env, request.globals.pipelines, argv[0], request.globals.json)
  const run = await loadCommand(request.path)
  await run(context, request.invocation)
  return printed()
}

function contextOf(env: Readonly<Record<string, string>>, pipelines: string, name = 'init', json = false) {
  let text = ''
  const style = styleFor({ isTTY: false } as NodeJS.WriteStream, {})
  const output = (write: (text: string) => void): Output => ({ write, isTTY: false, columns: undefined, style })
  const config = loadConfig(env, {})
  const context: Context = {
    stdout: output((more) => (text += more)),
    stderr: output(() => undefined),
    env,
    argv: [name],
    command: name,
    json,
    pipelines,
    config: () => config,
    log: () => silentLogger,
    clock: systemClock,
    inFlight: { requests: 0 },
    signal: new AbortController().signal,
  }
  return { context, printed: () => text }
}

async function sent(audience: string): Promise<readonly string[]> {
  const lines = (await engine.sandbox.control.identifiers(audience)).split('\n').filter((line) => line !== '')
  return lines.map((line) => line.split('\t').slice(0, 2).join('\t')).toSorted()
}

/**
 * Lists what the start of a command loads. A module costs a millisecond, a large library 20 to 30 MB (docs/benchmarks.md). So modules that
 * a run may not need are loaded on demand.
 */
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'

const src = join(import.meta.dirname, '../../../src')

/** Returns the packages and modules that a file loads at its start, with one path of imports to each. */
function loadedBy(entry: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  const open: [file: string, path: readonly string[]][] = [[join(src, entry), [entry]]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [file, path] = next
    for (const target of staticImports(file)) {
      const name = target.startsWith('.') ? relative(src, join(dirname(file), target)) : target
      if (name.startsWith('node:') || found.has(name)) continue
      found.set(name, [...path, name])
      if (name.endsWith('.ts')) open.push([join(src, name), [...path, name]])
    }
  }
  return found
}

const importsOf = new Map<string, readonly string[]>()

/** After the types are stripped, an import without names of values remains only if it loads the module at run time. */
function staticImports(file: string): readonly string[] {
  const known = importsOf.get(file)
  if (known !== undefined) return known
  const code = stripTypeScriptTypes(readFileSync(file, 'utf8'))
  const found = [...code.matchAll(/^(?:import|export)\s+(?:[\w*{][^;'"=()]*?\sfrom\s+)?'([^']+)'/gm)].flatMap(([, target]) => target ?? [])
  importsOf.set(file, found)
  return found
}

const onDemand = [
  ['undici', 'a run sends requests'],
  ['libphonenumber-js/max', 'a row has a phone number'],
  ['libphonenumber-js/max/metadata', 'a row has a phone number'],
  ['csv-parse/sync', 'a record has quotes in unusual places'],
  ['pino', 'a line is logged'],
  ['croner', 'a pipeline has a schedule'],
  ['lossless-json', 'an answer has a long number or an unusual form'],
  ['string-width', 'a text has other characters than ASCII'],
  ['cli-progress', 'stderr is a terminal'],
  ['saxes', 'the source is XML or a workbook'],
  ['yauzl', 'the source is a workbook'],
  ['ssh2', 'the source is SFTP'],
] as const

/** Returns what a run loads, with the engine, which `run` imports while the database is connected. */
const loadedByRun = () => new Map([...loadedBy('cli/commands/run.ts'), ...loadedBy('sync/run/run.ts')])

test.each(onDemand)('sluice run loads %s only when %s', (name) => {
  expect(loadedByRun().get(name)).toBeUndefined()
})

test.each([
  ['sync/read/readRecords.ts', 'a source changed'],
  ['formats/openFormat.ts', 'a source changed'],
  ['sources/openSource.ts', 'a source changed, or is on a server'],
  ['sync/push/sendOpenBatches.ts', 'there are requests to send'],
  ['sync/plan/loadParts.ts', 'it is a first load of people'],
  ['sync/erasure/planDeletes.ts', 'a person is to be erased'],
  ['sync/productSets/keepProductSets.ts', 'a pipeline has product sets'],
  ['db/retention.ts', 'it is the first run of the day'],
  ['db/embedded/server.ts', 'no database is configured'],
  ['service/contract/index.ts', 'the client or the sandbox is used'],
])('sluice run loads %s only when %s', (name) => {
  expect(loadedByRun().get(name)).toBeUndefined()
})

test('the imports of a command are followed to its libraries', () => {
  expect(loadedByRun().has('pg')).toBe(true)
  expect(loadedByRun().has('sync/read/snapshot.ts')).toBe(true)
  expect(loadedBy('http/imageCheck.ts').has('undici')).toBe(true)
})

test('sluice --help loads no library but those of the command line', () => {
  const packages = ['cli/main.ts', 'cli/execute.ts', 'cli/commandLine/parseCommandLine.ts'].flatMap((entry) => [...loadedBy(entry).keys()])
  expect(new Set(packages.filter((name) => !name.endsWith('.ts')))).toEqual(new Set(['commander', 'fastest-levenshtein']))
})

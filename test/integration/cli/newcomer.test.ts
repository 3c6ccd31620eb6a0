/**
 * Runs each block of the README in a shell, as an ordinary user with an empty home and a clone. Three things differ:
 * - `npm ci` does not fetch the packages; the installed ones are used.
 * - The sandbox uses a free port.
 * - From the second command on, `npx` starts the launcher without npm.
 */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { printed } from './support.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const page = readFileSync(join(repository, 'README.md'), 'utf8')
const blocks = [...page.matchAll(/```(\w+)\n([\s\S]*?)```/g)].map(([, language = '', text = '']) => ({ language, text }))
const blockWith = (command: string) => blocks.find(({ language, text }) => language === 'sh' && text.includes(command))?.text ?? ''
const notCloned = new Set(['.git', 'node_modules', 'dist', '.sluice', '.env', 'sandbox.json'])

test(
  'the five commands, the questions about rejects and records, and the program run as written',
  { tags: ['long'], timeout: 480_000 },
  async () => {
    const home = mkdtempSync(join(tmpdir(), 'sluice-newcomer-'))
    const clone = join(home, 'sluice')
    onTestFinished(() => rmSync(home, { recursive: true, force: true }))
    cpSync(repository, clone, { recursive: true, filter: (path) => !notCloned.has(relative(repository, path).split('/')[0] ?? '') })
    symlinkSync(join(repository, 'node_modules'), join(clone, 'node_modules'))
    chmodSync(home, 0o755)
    // Root is not an ordinary user and has another home folder.
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
    if ('uid' in user) spawnSync('chown', ['-R', '-h', `${user.uid}:${user.gid}`, home])
    // Compiled code is kept between the commands, as for a single user: the shared folder may belong to another user here.
    const env = { PATH: process.env['PATH'] ?? '', HOME: home, NODE_COMPILE_CACHE: join(home, 'compiled') }
    const there = { cwd: clone, env, ...user }
    // npx finds the command of the clone once. Each of ten starts of npm takes 0.8 s of processor time more than the command.
    const bin = join(home, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'npx'), '#!/bin/sh\n[ "$1" = sluice ] && shift && exec node bin/sluice.js "$@"\n', { mode: 0o755 })
    const afterwards = { ...there, env: { ...env, PATH: `${bin}:${env.PATH}` } }
    const shell = (text: string) => {
      const { status, stdout, stderr } = spawnSync('sh', ['-e', '-c', text], { ...afterwards, encoding: 'utf8' })
      return { status, output: stdout + stderr }
    }

    const [sandbox = '', ...four] = blockWith('npx sluice init').trim().split('\n')
    const running = spawn('sh', ['-c', `exec ${sandbox.replace('sluice sandbox', 'sluice sandbox --port 0')}`], { ...there, stdio: 'pipe' })
    onTestFinished(() => void running.kill('SIGTERM'))
    await printed(running, /ready on \S+/)
    for (const line of four) expect({ line, ...shell(line) }).toMatchObject({ line, status: 0 })
    expect(shell('npx sluice runs customers --json').output).toMatch(/"status":"succeeded","counts":\{"read":2000,/)
    const questions = shell(blockWith('npx sluice rejects'))
    expect(questions).toMatchObject({ status: 0, output: expect.stringMatching(/^Live/m) as string })
    expect(readFileSync(join(clone, 'bad.csv'), 'utf8')).toContain('hint')
    expect(shell('npx sluice db stop').status).toBe(0)

    writeFileSync(join(clone, 'try.ts'), blocks.find(({ language }) => language === 'ts')?.text ?? '')
    for (const command of ['npm run build', 'node bin/node24.js try.ts']) expect(page).toContain(`\`${command}\``)
    expect(shell('npm run build')).toMatchObject({ status: 0 })
    expect(shell('node bin/node24.js try.ts')).toMatchObject({ status: 0, output: '1\n' })
  },
)

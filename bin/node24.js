#!/usr/bin/env node
// Runs a script on the project's own Node 24, whatever Node started this file (Node 20 is enough).
// Used by the npm scripts; the product's launcher (sluice.js) shares the two functions.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Path of the pinned Node 24: the `node` npm package, or this very process where it is new enough. */
export function node24() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 24 || (major === 24 && minor >= 12)) return process.execPath
  const require = createRequire(import.meta.url)
  const home = dirname(fileURLToPath(import.meta.url))
  const places = []
  try {
    places.push(join(dirname(require.resolve('node/package.json')), 'bin', process.platform === 'win32' ? 'node.exe' : 'node'))
  } catch {
    // not installed: the message below says what to do
  }
  const found = places.find((path) => existsSync(path))
  if (found) return found
  process.stderr.write(
    `error  NODE_MISSING  Sluice runs on Node 24 and this is Node ${process.versions.node}; the pinned copy is not installed in ${join(home, '..')}.\n` +
      'mend   npm ci   (with install scripts allowed: the package "node" unpacks its binary in one)\n',
  )
  process.exit(2)
}

/**
 * Runs `args` on Node 24 with our own standard streams, and ends as it ends.
 * Signals are handed on; if this process dies without a word, the child sees the channel close and stops too.
 */
export function runOnNode24(args) {
  const child = spawn(node24(), args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env: { ...process.env, SLUICE_LAUNCHED: '1' } })
  child.on('error', (error) => {
    process.stderr.write(`error  NODE_MISSING  ${error.message}\n`)
    process.exit(2)
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    if (signal) {
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) process.removeAllListeners(name)
      process.kill(process.pid, signal)
    } else process.exit(code ?? 1)
  })
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) runOnNode24(process.argv.slice(2))

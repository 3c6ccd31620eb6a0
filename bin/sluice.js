#!/usr/bin/env node
// Starts the command line on Node 24.12 or newer, with any Node from 20 on. An installed package has only the bundle in dist/. In the
// repository the bundle runs while it matches the sources, else the sources themselves: they take 0.15 s of processor more to load.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { node24, runOnNode24, stopWithNpm } from './node24.js'
import { bundledDigest, sourcesDigest } from './sourcesDigest.js'

const home = join(dirname(fileURLToPath(import.meta.url)), '..')
const bundle = join(home, 'dist', 'cli', 'main.js')
const source = join(home, 'src', 'cli', 'main.ts')
const isInstalled = home.split(/[\\/]/).includes('node_modules') || !existsSync(source)
const main = isInstalled || isBundleCurrent() ? bundle : source

if (node24() === process.execPath) {
  stopWithNpm(() => process.kill(process.pid, 'SIGTERM'))
  await import(pathToFileURL(main).href)
} else runOnNode24(['--disable-warning=ExperimentalWarning', main, ...process.argv.slice(2)])

function isBundleCurrent() {
  const bundled = bundledDigest(home)
  return bundled !== undefined && bundled === sourcesDigest(home)
}

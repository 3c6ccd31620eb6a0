#!/usr/bin/env node
// Starts the command line on Node 24.12 or newer, with any Node from 20 on. In the repository it runs the TypeScript sources; an installed
// package has JavaScript, because Node strips no types below node_modules.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { node24, runOnNode24, stopWithNpm } from './node24.js'

const home = join(dirname(fileURLToPath(import.meta.url)), '..')
const built = join(home, 'dist', 'cli', 'main.js')
const source = join(home, 'src', 'cli', 'main.ts')
const main = home.split(/[\\/]/).includes('node_modules') || !existsSync(source) ? built : source

if (node24() === process.execPath) {
  stopWithNpm(() => process.kill(process.pid, 'SIGTERM'))
  await import(pathToFileURL(main).href)
} else runOnNode24(['--disable-warning=ExperimentalWarning', main, ...process.argv.slice(2)])

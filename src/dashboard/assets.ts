/**
 * Serves the files that pages load: those in assets/, and uPlot from its package. Each address contains a digest of the file, so that
 * browsers may cache the file forever.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ownPath } from '../ownPackage.ts'

const uplotFolder = dirname(fileURLToPath(import.meta.resolve('uplot')))

const files: Readonly<Record<string, readonly [path: string, type: string]>> = {
  'style.css': [ownPath('assets', 'style.css'), 'text/css; charset=utf-8'],
  'client.js': [ownPath('assets', 'client.js'), 'text/javascript; charset=utf-8'],
  'icon.svg': [ownPath('assets', 'icon.svg'), 'image/svg+xml'],
  'uplot.js': [join(uplotFolder, 'uPlot.iife.min.js'), 'text/javascript; charset=utf-8'],
  'uplot.css': [join(uplotFolder, 'uPlot.min.css'), 'text/css; charset=utf-8'],
}

interface Asset {
  readonly content: Buffer<ArrayBuffer>
  readonly type: string
  readonly digest: string
}

const cache = new Map<string, Asset>()

/** Returns a file of the dashboard; undefined if no file has this name. Each file is read once per process. */
export function loadAsset(name: string): Asset | undefined {
  const cached = cache.get(name)
  if (cached !== undefined) return cached
  const entry = Object.hasOwn(files, name) ? files[name] : undefined
  if (entry === undefined) return undefined
  const content = readFileSync(entry[0])
  const asset = { content, type: entry[1], digest: createHash('sha256').update(content).digest('hex').slice(0, 12) }
  cache.set(name, asset)
  return asset
}

/** Returns the address of a file, with its digest as query. */
export function assetUrl(name: string): string {
  return `/assets/${name}?v=${loadAsset(name)?.digest ?? ''}`
}

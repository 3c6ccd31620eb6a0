// Tells whether the bundle in dist/ was made of the sources that are there now. JavaScript, because the launcher may run on Node 20.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Returns a digest of the name, size and time of change of each file in `src`: their content would take three times as long to read. */
export function sourcesDigest(home) {
  const digest = createHash('sha256')
  const open = [join(home, 'src')]
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) {
        open.push(path)
        continue
      }
      const { size, mtimeMs } = statSync(path)
      digest.update(`${path.slice(home.length)} ${size} ${Math.floor(mtimeMs)}\n`)
    }
  }
  return digest.digest('hex')
}

/** Returns the digest of the sources that the bundle was made of; undefined without a bundle. */
export function bundledDigest(home) {
  try {
    return readFileSync(join(home, 'dist', 'sources.sha256'), 'utf8')
  } catch {
    return undefined
  }
}

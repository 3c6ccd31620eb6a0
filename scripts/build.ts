/**
 * Bundles `src` into `dist/`: the command line and the entries of the package, with the files that several of them share. Does nothing if
 * `dist/` is current.
 *
 * A run then loads 111 files of Sluice instead of 332. Packages are not bundled: that saves little more, and their licences would have to
 * be shipped.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundledDigest, sourcesDigest } from '../bin/sourcesDigest.js'

const home = join(import.meta.dirname, '..')
const dist = join(home, 'dist')
const entries = ['cli/main', 'index', 'service/client/index', 'sandbox/index', 'pipeline/index', 'webhooks/index']

const digest = sourcesDigest(home)
if (bundledDigest(home) !== digest) {
  const { build } = await import('esbuild').catch(() => {
    console.error('no bundle was made, because esbuild is not installed (npm ci --omit=dev); commands run from the sources')
    process.exit(1)
  })
  rmSync(dist, { recursive: true, force: true })
  await build({
    absWorkingDir: home,
    entryPoints: entries.map((entry) => `src/${entry}.ts`),
    outdir: dist,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'esnext',
    packages: 'external',
    // Templates with `</script>` need no protection, because no bundle becomes a part of a page.
    supported: { 'inline-script': false },
    // The name of an error is that of its class. Without this, classes with equal names get different ones.
    keepNames: true,
    chunkNames: 'parts/[name]-[hash]',
    charset: 'utf8',
    logLevel: 'warning',
  })
  // Written last: an incomplete bundle has no digest, and a file that changed meanwhile has another.
  writeFileSync(join(dist, 'sources.sha256'), digest)
}

/** Resolves the imports between the files of Sluice without a look at the disk. */
import { registerHooks } from 'node:module'

/** Folder of this program: `src` in the repository, `dist` in the package. */
const folder = new URL('../', import.meta.url).href
const isSource = import.meta.url.endsWith('.ts')
const ending = isSource ? '.ts' : '.js'
const format = isSource ? 'module-typescript' : 'module'

/** Returns the address and format of a file that a file of Sluice imports by its path; undefined for any other import. */
export function ownFile(specifier: string, parentURL: string | undefined): { readonly url: string; readonly format: string } | undefined {
  if (!specifier.startsWith('.') || !specifier.endsWith(ending) || parentURL?.startsWith(folder) !== true) return undefined
  const { href } = new URL(specifier, parentURL)
  return href.startsWith(folder) ? { url: href, format } : undefined
}

/**
 * Resolves imports of own files from now on. For each import, Node looks for the file, its real path, and a package.json in each folder
 * above it. A run has some 2,000 imports, which took 10 % of its processor time if nothing changed (643 instead of 719 ms at load 28).
 */
export function resolveOwnFiles(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const own = ownFile(specifier, context.parentURL)
      return own === undefined ? next(specifier, context) : { ...own, shortCircuit: true }
    },
  })
}

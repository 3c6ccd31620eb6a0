/** Resolves the imports between the files of Sluice, and between those of zod, without access to the disk. */
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
 * Returns the address and format of a file that a file of zod imports by its path; undefined for any other import. `zod`: address of the
 * folder of zod, whose files are ES modules. Replaces the file that imports the messages of all languages (62 of zod's 100 files) by that
 * of the English messages: Sluice uses no others. Loading zod then takes 18 instead of 45 ms of processor time (Node 24.21).
 */
export function zodFile(
  specifier: string,
  parentURL: string | undefined,
  zod: string,
): { readonly url: string; readonly format: string } | undefined {
  if (!specifier.startsWith('.') || !specifier.endsWith('.js') || parentURL?.startsWith(zod) !== true) return undefined
  const { href } = new URL(specifier === '../locales/index.js' ? '../locales/en.js' : specifier, parentURL)
  return href.startsWith(zod) ? { url: href, format: 'module' } : undefined
}

/**
 * Registers a hook that resolves later imports of own files, and of files of the zod that they import. Node itself searches the disk for
 * each file, its real path, and a package.json in each folder above it. A run has some 2,000 imports. The hook saves 10 % of the processor
 * time of a run without changes (643 instead of 719 ms, at a load average of 28).
 */
export function resolveOwnFiles(): void {
  let zod: string | undefined
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL } = context
      const known = ownFile(specifier, parentURL) ?? (zod === undefined ? undefined : zodFile(specifier, parentURL, zod))
      if (known !== undefined) return { ...known, shortCircuit: true }
      const found = next(specifier, context)
      if (specifier === 'zod' && parentURL?.startsWith(folder) === true) zod ??= new URL('./', found.url).href
      return found
    },
  })
}

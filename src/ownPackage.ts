/** Finds the files of this package. Works in the sources and in the bundle, whose modules are in other folders. */
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

/** Folder of the package.json of Sluice. */
const folder = dirname(findPackageJSON(import.meta.url) ?? '.')

/** True if this program runs from the TypeScript in `src`; false if from the bundle in `dist`. */
export const isSource = import.meta.url.endsWith('.ts')

/** Returns the path of a file or folder of the package. */
export function ownPath(...names: readonly string[]): string {
  return join(folder, ...names)
}

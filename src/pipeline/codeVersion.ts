/**
 * Computes the version of a pipeline in TypeScript: a digest of its file and of the modules that it imports. Imports are found in the text
 * of the files. The gates (docs/architecture.md) skip unchanged rows. If a user's function maps the rows, the gates may do so only while
 * this version is the same.
 */
import { createHash } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import { findPackageJSON, isBuiltin } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

export interface CodeVersion {
  /** SHA-256 in hex of the file, the local modules, and the `package.json` of each package. */
  readonly digest: string
  /**
   * True if the results of the pipeline's functions depend only on this code and the row. False if they may depend on files, the
   * environment, the clock, random numbers or the network. The time zone and language of the machine do not count.
   */
  readonly isSelfContained: boolean
}

/**
 * Matches `import … from 'x'`, `export … from 'x'`, `import 'x'` and `import('x')`, also in comments. If `x` is not a known module, the
 * code does not count as self-contained.
 */
const specifiers = /\b(?:from|import)\s*(?:\(\s*)?(?:"([^"\n]+)"|'([^'\n]+)')/g
/** Matches code that may depend on more than its text: imports by a computed name, and values that differ between runs. */
const outsideInputs =
  /\bimport\s*\(\s*(?!["'\s])|\b(?:require|createRequire|getBuiltinModule|process|fetch|Temporal|performance|random\w*|getRandomValues)\b|\bDate\s*\.\s*now\b|\bDate\s*\(\s*\)|\bnew\s+Date\b(?!\s*\()/
/** Node modules whose functions depend only on their arguments, as mappings use them. `outsideInputs` matches those with random results. */
const pureModules = new Set([
  'assert',
  'assert/strict',
  'buffer',
  'crypto',
  'path',
  'path/posix',
  'querystring',
  'string_decoder',
  'url',
  'util',
])

/**
 * Computes the version of `file`. Reads the file and every local module that it imports, directly or not. Of packages, only the
 * `package.json` is a part of the digest.
 */
export async function computeCodeVersion(file: string): Promise<CodeVersion> {
  const start = path.resolve(file)
  const textByPath = new Map<string, string>()
  const toRead = [start]
  let isSelfContained = true
  for (let modulePath = toRead.pop(); modulePath !== undefined; modulePath = toRead.pop()) {
    if (textByPath.has(modulePath)) continue
    // A missing file counts as empty here, because the import itself reports it.
    const text = await readFile(modulePath, 'utf8').catch(() => '')
    textByPath.set(modulePath, text)
    if (modulePath.endsWith('.json')) continue
    isSelfContained &&= !outsideInputs.test(text)
    for (const [, inDoubleQuotes, inSingleQuotes] of text.matchAll(specifiers)) {
      const imported = await moduleOf(inDoubleQuotes ?? inSingleQuotes ?? '', modulePath)
      if (imported === undefined) isSelfContained = false
      else if ('local' in imported) toRead.push(imported.local)
      else if ('package' in imported) textByPath.set(imported.package, await readFile(imported.package, 'utf8'))
    }
  }
  const digest = createHash('sha256')
  // Paths are relative to the file, so that a moved or copied folder has the same version.
  const parts = [...textByPath].map(([name, text]) => [path.relative(path.dirname(start), name), text])
  digest.update(JSON.stringify(parts.sort(([a = ''], [b = '']) => (a < b ? -1 : 1))))
  return { digest: digest.digest('hex'), isSelfContained }
}

/** Imported module: a local file, the `package.json` of a package, or a module of Sluice or Node. */
type Module = { readonly local: string } | { readonly package: string } | { readonly builtIn: true }

/** Returns true for a module name that `importPipeline` resolves to this program. */
export function isSluiceModule(specifier: string): boolean {
  return specifier === 'sluice' || specifier === 'sluice/pipeline'
}

/** Finds an imported module. Returns undefined if its code is not known, or if it may depend on more than its arguments. */
async function moduleOf(specifier: string, from: string): Promise<Module | undefined> {
  // A change of Sluice's own mapping rules is covered by `mappingRulesVersion` (mapping/mapper.ts).
  if (isSluiceModule(specifier)) return { builtIn: true }
  if (isBuiltin(specifier)) return pureModules.has(specifier.replace(/^node:/, '')) ? { builtIn: true } : undefined
  const importer = pathToFileURL(from)
  try {
    if (/^(?:\.{0,2}\/|file:)/.test(specifier)) return { local: fileURLToPath(new URL(specifier, importer)) }
    const manifest = findPackageJSON(specifier, importer)
    if (manifest === undefined) return undefined
    const realManifest = await realpath(manifest)
    // A package that is linked to its sources may change without a new version.
    return realManifest.split(path.sep).includes('node_modules') ? { package: manifest } : undefined
  } catch {
    return undefined
  }
}

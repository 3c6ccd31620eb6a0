/** Imports pipelines in TypeScript, again after each change of the file or of a module that it imports. */
import { randomUUID } from 'node:crypto'
import { registerHooks } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { inTime } from '../inTime.ts'
import { isSource, ownPath } from '../ownPackage.ts'
import { computeCodeVersion, isSluiceModule } from './codeVersion.ts'

export interface ImportedPipeline {
  /** The default export. */
  readonly input: unknown
  /** Version of the pipeline's functions. With equal versions, results are equal. If that is not certain, each import has a new version. */
  readonly codeVersion: string
}

const versionMark = '?version='
/** Maximum time in milliseconds for the code of a file. An `await` outside of functions may wait forever. */
const maxLoadMs = 60_000
let isHookRegistered = false

/**
 * Imports a file. This executes the file.
 *
 * @throws the error of the file; {Error} if it has no default export, or does not end within `limitMs`
 */
export async function importPipeline(file: string, limitMs = maxLoadMs): Promise<ImportedPipeline> {
  if (!isHookRegistered) registerHook()
  const { digest, isSelfContained } = await computeCodeVersion(file)
  const loading: Promise<unknown> = import(`${pathToFileURL(path.resolve(file)).href}${versionMark}${digest}`)
  // The timer also keeps the process alive: without it, Node would exit if nothing else is open.
  const module = await inTime(limitMs, loading, 'its code did not end')
  const exported = typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined
  if (exported === undefined) throw new Error('has no default export; write: export default definePipeline({ … })')
  return { input: exported, codeVersion: isSelfContained ? digest : randomUUID() }
}

/**
 * Registers a module hook, which resolves `sluice` and `sluice/pipeline` to this program, wherever the pipeline file is. The hook also adds
 * the version to the URLs of the pipeline's own modules, because Node caches modules by URL.
 */
function registerHook(): void {
  isHookRegistered = true
  const sluiceModule = {
    url: pathToFileURL(isSource ? ownPath('src', 'index.ts') : ownPath('dist', 'index.js')).href,
    format: isSource ? 'module-typescript' : 'module',
    shortCircuit: true,
  }
  registerHooks({
    resolve: (specifier, context, next) => {
      if (isSluiceModule(specifier)) return sluiceModule
      const resolved = next(specifier, context)
      const version = versionSuffixOf(context.parentURL)
      return version === '' || !resolved.url.startsWith('file:') || resolved.url.includes('/node_modules/')
        ? resolved
        : { ...resolved, url: resolved.url + version }
    },
  })
}

/** Returns the end of a URL from `versionMark` on; empty if the URL has no mark. */
function versionSuffixOf(url: string | undefined): string {
  const at = url?.lastIndexOf(versionMark) ?? -1
  return at === -1 ? '' : (url?.slice(at) ?? '')
}

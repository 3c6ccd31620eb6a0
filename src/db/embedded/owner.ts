/** Checks the owner of the data directory. If another user wrote to the directory, its owner could no longer use it. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { UsageError } from '../../errors.ts'
import { systemUsers } from './account.ts'

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
        : `run it as ${owner}; another SLUICE_DATA_DIR is an empty database, which knows nothing of what was sent`,
  })
}

/** Returns the name of a user, or `#` and the number of a user who is not in `/etc/passwd`. */
function userName(uid: number): string {
  return systemUsers().find((user) => user.uid === uid)?.name ?? `#${uid}`
}

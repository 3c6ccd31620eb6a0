import { hostname, userInfo } from 'node:os'

/** Returns who acts, for the audit log: the operating-system user and host, and the reason where one was given. */
export function operator(reason?: string): { readonly actor: string; readonly reason?: string } {
  return { actor: `${systemUser()}@${hostname()}`, ...(reason === undefined ? {} : { reason: reason.slice(0, 500) }) }
}

function systemUser(): string {
  try {
    return userInfo().username
  } catch {
    // Containers may run as a number without a name.
    return `uid ${process.getuid?.() ?? '?'}`
  }
}

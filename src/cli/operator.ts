import { hostname, userInfo } from 'node:os'
import { cutText } from '../cutText.ts'

/** Returns the actor for the audit log, `user@host` of the operating system, and the first 500 characters of the reason. */
export function operator(reason?: string): { readonly actor: string; readonly reason?: string } {
  return { actor: `${systemUser()}@${hostname()}`, ...(reason === undefined ? {} : { reason: cutText(reason, 500) }) }
}

function systemUser(): string {
  try {
    return userInfo().username
  } catch {
    // In containers the user id may have no name.
    return `uid ${process.getuid?.() ?? '?'}`
  }
}

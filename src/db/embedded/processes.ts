import { errorCode } from '../../unknownValue.ts'

/** Returns true if a process with this pid runs, under any user. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errorCode(error) === 'EPERM'
  }
}

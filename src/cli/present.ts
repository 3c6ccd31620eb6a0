import { ConfigError, SluiceError, UsageError, type Problem } from '../errors.ts'
import { hideSecrets, type Secret } from '../config/secret.ts'
import { below, safe } from './text.ts'

/** An error as it leaves the process: the same four facts for people and for programs. */
export interface PresentedError {
  readonly code: string
  readonly message: string
  readonly where: string | null
  readonly mend: string
  /** Every problem of a file or of the environment; absent for single errors. */
  readonly problems?: readonly Problem[]
}

/** Turns whatever was thrown into those facts. Faults of our own and of libraries become `INTERNAL`, without a stack. */
export function presentError(error: unknown, secrets: readonly Secret[] = []): PresentedError {
  const hide = (text: string) => safe(hideSecrets(text, secrets))
  if (error instanceof SluiceError) {
    return {
      code: error.code,
      message: hide(error.message),
      where: error.where === undefined ? null : hide(below(error.where)),
      mend: hide(error.mend) || 'sluice doctor',
      ...(error instanceof ConfigError
        ? { problems: error.problems.map((problem) => ({ ...problem, message: hide(problem.message) })) }
        : {}),
    }
  }
  const { code, path } = systemFacts(error)
  const known = systemErrors[code]
  if (known)
    return {
      code: known.code,
      message: hide(`${known.message}${path === undefined ? '' : `: ${path}`}`),
      where: path === undefined ? null : hide(path),
      mend: known.mend,
    }
  const fault = databaseFault(error, code)
  if (fault !== undefined)
    return {
      code: 'DATABASE_FAILED',
      message: `the database failed (${fault})`,
      where: 'database',
      mend: 'sluice doctor',
    }
  return {
    code: 'INTERNAL',
    message: hide(`a fault of Sluice itself: ${error instanceof Error ? error.message : String(error)}`),
    where: null,
    mend: 'set SLUICE_LOG_LEVEL=debug, run it again, and report what it prints',
  }
}

/**
 * Exit code of an error: 2 where the call or the configuration is at fault and nothing was done, else 1. A refusal by
 * the service may ask for another configuration too, but by then the command was under way. 5: another run holds it.
 */
export function exitCodeOfError(error: unknown): number {
  if (error instanceof SluiceError && error.code === 'PIPELINE_HELD') return 5
  return error instanceof UsageError || error instanceof ConfigError ? 2 : 1
}

/**
 * Lines for a person: every problem, the error, where, and as last line the mend. One in words alone ends with a command all
 * the same (experience.md 2a, 20): with the page of help on `command`, the words of the one that failed.
 */
export function errorLines(error: PresentedError, command?: string): string {
  const lines: string[] = []
  for (const problem of error.problems ?? []) {
    const place =
      problem.where === undefined || problem.where.endsWith(problem.path)
        ? (problem.where ?? problem.path)
        : `${problem.where} ${problem.path}`
    lines.push(`  ${safe(place)}  ${safe(problem.message)}${problem.mend === undefined ? '' : `; ${safe(problem.mend)}`}`)
  }
  const where =
    error.where !== null && !error.message.includes(error.where) && error.problems === undefined ? `where  ${error.where}\n` : ''
  // For a fault of ours there is no page of help: the same call again is what helps us.
  const next = command === undefined || error.code === 'INTERNAL' || /\bsluice [a-z-]/.test(error.mend) ? '' : `   (sluice help ${command})`
  return `${lines.map((line) => `${line}\n`).join('')}${where}error  ${error.code}  ${error.message}\nmend   ${error.mend}${next}\n`
}

/**
 * What a connection to the database ended with, or the server refused for a reason of its own; undefined for any other fault.
 * The service and sources report theirs by codes of ours. Postgres' own texts may hold values; its code does not.
 */
function databaseFault(error: unknown, code: string): string | undefined {
  if (/^(?:08|53|57|58)...$|^(?:25006|42501)$|^(?:ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT)$/.test(code)) return code
  return error instanceof Error && error.message.startsWith('Connection terminated') ? 'connection lost' : undefined
}

interface SystemFacts {
  readonly code: string
  readonly path: string | undefined
}

function systemFacts(error: unknown): SystemFacts {
  if (typeof error !== 'object' || error === null) return { code: '', path: undefined }
  const { code, path, port } = error as { code?: unknown; path?: unknown; port?: unknown }
  return {
    code: typeof code === 'string' ? code : '',
    path: typeof path === 'string' ? path : typeof port === 'number' ? `port ${port}` : undefined,
  }
}

/** Faults of the machine that a person can mend, by Node's code. */
const systemErrors: Readonly<Record<string, { readonly code: string; readonly message: string; readonly mend: string }>> = {
  EADDRINUSE: {
    code: 'PORT_IN_USE',
    message: 'another program listens there',
    mend: 'choose another port with --port, or --port 0 for a free one',
  },
  EACCES: { code: 'NO_PERMISSION', message: 'no permission', mend: 'check owner and mode of the path, or choose another' },
  EROFS: { code: 'NO_PERMISSION', message: 'the disk is mounted read-only', mend: 'choose another path' },
  EADDRNOTAVAIL: {
    code: 'HOST_UNAVAILABLE',
    message: 'this machine has no such address',
    mend: 'leave out --host, or name an address of this machine',
  },
  ENOSPC: { code: 'DISK_FULL', message: 'the disk is full', mend: 'free some space; nothing that was confirmed is lost' },
  ENOENT: { code: 'FILE_MISSING', message: 'no such file or folder', mend: 'correct the path' },
  EISDIR: { code: 'NOT_A_FILE', message: 'that is a folder', mend: 'name a file' },
}

import { ConfigError, SluiceError, type Problem } from '../../errors.ts'
import { hideSecrets, type Secret } from '../../config/secret.ts'
import { connectionFault, diskFault, isConnectionFault, isConnectionLost, statementFault } from '../../db/connectionFault.ts'
import { redactPersonalData } from '../../mapping/redactPersonalData.ts'
import { isUnknownName, type ErrorCode } from '../../model/errorCodes.ts'
import { recordOf } from '../../unknownValue.ts'
import type { Output } from '../context.ts'
import { relativePath, hintText, safe } from './text.ts'

/** Error as the process prints it, as text or as JSON. */
export interface PresentedError {
  readonly code: ErrorCode
  readonly message: string
  readonly where: string | null
  readonly hint: string
  /** Every problem of the files or of the environment; absent for other errors. */
  readonly problems?: readonly Problem[]
}

/**
 * Converts any thrown value into an error to print, without secrets and without a stack. Unexpected errors of Sluice and of libraries
 * become `INTERNAL`.
 */
export function presentError(error: unknown, secrets: readonly Secret[] = []): PresentedError {
  const hide = (text: string) => safe(hideSecrets(text, secrets))
  if (error instanceof SluiceError) {
    // The user may have given personal data in the place of a name. So an unknown name is redacted.
    const hideArgument = (text: string) => hide(isUnknownName(error.code) ? redactPersonalData(text) : text)
    return {
      code: error.code,
      message: hideArgument(error.message),
      where: error.where === undefined ? null : hideArgument(relativePath(error.where)),
      hint: hide(error.hint) || 'sluice doctor',
      ...(error instanceof ConfigError
        ? { problems: error.problems.map((problem) => ({ ...problem, message: hide(problem.message) })) }
        : {}),
    }
  }
  const { code, place } = systemFacts(error)
  const systemError = systemErrors[code]
  if (systemError)
    return {
      code: systemError.code,
      message: hide(`${systemError.message}${place === undefined ? '' : `: ${place}`}`),
      where: place === undefined ? null : hide(place),
      hint: systemError.hint,
    }
  const diskError = diskFault(error)
  if (diskError !== undefined) return presentError(diskError, secrets)
  if (isConnectionFault(error)) return presentError(connectionFault(error, undefined), secrets)
  const missing = missingPackage(error)
  if (missing !== undefined)
    return {
      code: 'PACKAGE_MISSING',
      message: `this needs the package "${missing}", which is optional and not installed`,
      where: null,
      hint: `npm install ${missing}`,
    }
  if (isDatabaseFault(error, code)) return presentError(statementFault(error), secrets)
  return {
    code: 'INTERNAL',
    message: hide(`internal error (please report): ${error instanceof Error ? error.message : String(error)}`),
    where: null,
    hint: 'set SLUICE_LOG_LEVEL=debug, run it again, and report what it prints',
  }
}

/** Returns the name of an optional dependency that is not installed (`npm install --omit=optional`); undefined for any other error. */
function missingPackage(error: unknown): string | undefined {
  const { code, message } = recordOf(error)
  return code === 'ERR_MODULE_NOT_FOUND' ? /^Cannot find package '([^']+)'/.exec(String(message))?.[1] : undefined
}

/**
 * Returns the error as lines: every problem, the place, the error, the hint. Leaves out a place that the message has. `command`: the failed
 * command. Its help page is added if the hint has no command. `output`: adds the global options to the hint.
 */
export function errorLines(error: PresentedError, command?: string, output: Pick<Output, 'completeHint'> = {}): string {
  const lines: string[] = []
  for (const problem of error.problems ?? []) {
    const place =
      problem.where === undefined || problem.where.endsWith(problem.path)
        ? (problem.where ?? problem.path)
        : `${problem.where} ${problem.path}`
    lines.push(`  ${safe(place)}  ${safe(problem.message)}${problem.hint === undefined ? '' : `; ${safe(problem.hint)}`}`)
  }
  const where =
    error.where !== null && !error.message.includes(error.where) && error.problems === undefined ? `where  ${error.where}\n` : ''
  // An internal error has no help page; its hint requests the debug log.
  const next = command === undefined || error.code === 'INTERNAL' || /\bsluice [a-z-]/.test(error.hint) ? '' : `   (sluice help ${command})`
  return `${lines.map((line) => `${line}\n`).join('')}${where}error  ${error.code}  ${error.message}\nhint   ${hintText(error.hint, output)}${next}\n`
}

/** Returns the frames of the stack if the log level is `debug`; otherwise empty. Leaves out the message, because it may contain secrets. */
export function stackLines(error: unknown, level: string | undefined): string {
  if (level !== 'debug' || !(error instanceof Error)) return ''
  const frames = (error.stack ?? '').split('\n').filter((line) => line.trimStart().startsWith('at '))
  return `${frames.join('\n')}\n`
}

/**
 * Returns true for a fault of the database:
 * - a lost connection
 * - a server that failed, was stopped or has no resources
 * - a cancelled statement
 * - a read-only database, or missing rights
 */
function isDatabaseFault(error: unknown, code: string): boolean {
  return /^(?:08|53|57|58)...$|^(?:25006|42501)$|^(?:ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT)$/.test(code) || isConnectionLost(error)
}

interface SystemFacts {
  readonly code: string
  /** Path, address, or `port 8080`. */
  readonly place: string | undefined
}

/** Returns the code of an error, empty if it has none, and the place that it names. */
function systemFacts(error: unknown): SystemFacts {
  const { code, path, address, port } = recordOf(error)
  const codeText = typeof code === 'string' ? code : ''
  if (typeof path === 'string') return { code: codeText, place: path }
  if (code === 'EADDRNOTAVAIL' && typeof address === 'string') return { code: codeText, place: address }
  return { code: codeText, place: typeof port === 'number' ? `port ${port}` : undefined }
}

/** Errors of the operating system that the user can correct, by Node's code. */
const systemErrors: Readonly<Record<string, { readonly code: ErrorCode; readonly message: string; readonly hint: string }>> = {
  EADDRINUSE: {
    code: 'PORT_IN_USE',
    message: 'in use by another program',
    hint: 'choose another port with --port, or --port 0 for a free one',
  },
  EACCES: { code: 'NO_PERMISSION', message: 'no permission', hint: 'check owner and mode of the path, or choose another' },
  EPERM: { code: 'NO_PERMISSION', message: 'no permission', hint: 'check owner and mode of the path, or choose another' },
  EROFS: { code: 'NO_PERMISSION', message: 'the disk is mounted read-only', hint: 'choose another path' },
  EADDRNOTAVAIL: {
    code: 'HOST_UNAVAILABLE',
    message: 'this machine has no such address',
    hint: 'leave out --host, or name an address of this machine',
  },
  EDQUOT: { code: 'DISK_FULL', message: 'the disk quota is used up', hint: 'free some space; nothing that was confirmed is lost' },
  EFBIG: { code: 'DISK_FULL', message: 'the file may not grow any further (ulimit -f)', hint: 'raise the limit, or choose another disk' },
  ENOSPC: { code: 'DISK_FULL', message: 'the disk is full', hint: 'free some space; nothing that was confirmed is lost' },
  ENOENT: { code: 'FILE_MISSING', message: 'no such file or folder', hint: 'correct the path' },
  ENOTDIR: { code: 'FILE_MISSING', message: 'a folder of the path is a file', hint: 'correct the path' },
  ELOOP: { code: 'FILE_MISSING', message: 'the symbolic links of the path form a loop', hint: 'correct the path' },
  ENAMETOOLONG: { code: 'FILE_MISSING', message: 'the name is too long', hint: 'choose a shorter one' },
  EEXIST: { code: 'FILE_EXISTS', message: 'a file of this name exists already', hint: 'choose another name, or move the file away' },
  EISDIR: { code: 'NOT_A_FILE', message: 'this is a folder', hint: 'name a file' },
}

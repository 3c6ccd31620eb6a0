import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { dotenvLine } from '../../../config/dotenvLine.ts'
import { readText, type Environment } from '../../../config/values.ts'
import { UsageError } from '../../../errors.ts'
import { quoteArgument } from '../../../format.ts'
import { openWholeFile, writeWholeFile } from '../../wholeFile.ts'
import { errorCode } from '../../../unknownValue.ts'

/** Access token and secret of a user. The service issues them once. */
export interface UserToken {
  readonly token: string
  readonly secret: string
}

/** Files for token and secret: one each, or one `.env` for both. */
export type TokenFiles = readonly [token: string, secret: string] | readonly [dotenv: string]

/**
 * Chooses the files for token and secret. Call this before the sign-in, because the service issues a token only once. The files, the first
 * that is given:
 * - the file of `--out`
 * - the files of `SLUICE_ACCESS_TOKEN_FILE` and `SLUICE_ACCESS_TOKEN_SECRET_FILE`
 * - `.env`
 *
 * @throws {UsageError} `INVALID_VALUE` if a folder does not exist. Without `--out`, also if only one of the two variables is set
 * @throws the error of the system if a file cannot be read or written
 */
export function tokenFiles(env: Environment, out: string | undefined): TokenFiles {
  const tokenFile = readText(env, tokenVariable)
  const secretFile = readText(env, secretVariable)
  if (out !== undefined) return probeWritable([out], '--out')
  if (tokenFile === undefined && secretFile === undefined) return probeWritable(['.env'], '.env')
  if (tokenFile !== undefined && secretFile !== undefined) return probeWritable([tokenFile, secretFile], tokenVariable)
  const unset = tokenFile === undefined ? tokenVariable : secretVariable
  throw new UsageError(
    'INVALID_VALUE',
    `only one of ${tokenVariable} and ${secretVariable} is set, so half of the sign-in would be lost. Nothing was sent.`,
    {
      where: unset,
      hint: `set ${unset} too, or: sluice auth login --out new.env`,
    },
  )
}

const tokenVariable = 'SLUICE_ACCESS_TOKEN_FILE'
const secretVariable = 'SLUICE_ACCESS_TOKEN_SECRET_FILE'

/**
 * Returns the files. Writes a temporary file beside each, to find a folder, disk or file that cannot be written.
 *
 * @throws {UsageError} `INVALID_VALUE` if the folder of a file does not exist
 * @throws the error of the system if a file cannot be read or written
 */
function probeWritable<Files extends TokenFiles>(files: Files, where: string): Files {
  for (const file of files) {
    if (!existsSync(dirname(file)))
      throw new UsageError('INVALID_VALUE', `the folder of ${file} does not exist. Nothing was sent.`, {
        where,
        hint: `mkdir -p ${quoteArgument(dirname(file))}`,
      })
    const fileStat = statSync(file, { throwIfNoEntry: false })
    // A device or a pipe is not probed, because bytes written to it cannot be removed.
    if (fileStat !== undefined && !fileStat.isFile() && !fileStat.isDirectory()) continue
    const existingLines = fileStat?.isFile() === true ? readLines(file) : []
    const probe = openWholeFile(file, { private: true })
    probe.write(`${existingLines.join('\n')}${' '.repeat(1_000)}`)
    probe.discard()
  }
  return files
}

/** Stores token and secret for later commands, with mode 0600. Other lines of a `.env` are kept. */
export function storeUserToken(files: TokenFiles, pair: UserToken): void {
  const [file, secretFile] = files
  if (secretFile !== undefined) {
    writeWholeFile(file, `${pair.token}\n`, { private: true })
    writeWholeFile(secretFile, `${pair.secret}\n`, { private: true })
    return
  }
  const values = { SLUICE_ACCESS_TOKEN: pair.token, SLUICE_ACCESS_TOKEN_SECRET: pair.secret }
  const otherLines = readLines(file).filter(
    (line) => !Object.keys(values).some((name) => new RegExp(`^\\s*(export\\s+)?${name}\\s*=`).test(line)),
  )
  const lines = [...otherLines, ...Object.entries(values).map(([name, value]) => dotenvLine(name, value))]
  writeWholeFile(file, `${lines.join('\n')}\n`, { private: true })
}

/** Returns the lines of a file, without the empty lines at its end. None if there is no file. */
function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .filter((line, i) => i > 0 || line !== '')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  }
}

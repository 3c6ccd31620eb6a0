import { readFileSync } from 'node:fs'
import type { Config } from '../../../config/config.ts'
import { writeWholeFile } from '../../wholeFile.ts'
import { errorCode } from '../../../unknownValue.ts'

/** Access token and secret of a user. The service issues them once. */
export interface UserToken {
  readonly token: string
  readonly secret: string
}

/**
 * Stores token and secret for later commands, with mode 0600: in the files of `SLUICE_ACCESS_TOKEN_FILE` and
 * `SLUICE_ACCESS_TOKEN_SECRET_FILE` if both are set, else as lines of `file`, a `.env` whose other lines are kept. Returns the written
 * paths.
 */
export function storeUserToken(config: Config, pair: UserToken, file: string): readonly string[] {
  const tokenFile = config.env['SLUICE_ACCESS_TOKEN_FILE']
  const secretFile = config.env['SLUICE_ACCESS_TOKEN_SECRET_FILE']
  if (tokenFile !== undefined && secretFile !== undefined) {
    writePrivately(tokenFile, `${pair.token}\n`)
    writePrivately(secretFile, `${pair.secret}\n`)
    return [tokenFile, secretFile]
  }
  const values = { SLUICE_ACCESS_TOKEN: pair.token, SLUICE_ACCESS_TOKEN_SECRET: pair.secret }
  const kept = readLines(file).filter(
    (line) => !Object.keys(values).some((name) => new RegExp(`^\\s*(export\\s+)?${name}\\s*=`).test(line)),
  )
  writePrivately(file, `${[...kept, ...Object.entries(values).map(([name, value]) => `${name}=${value}`)].join('\n')}\n`)
  return [file]
}

/** Writes a file that only its owner can read, from the first byte on. Replaces an existing file. */
export function writePrivately(file: string, content: string): void {
  writeWholeFile(file, content, { private: true })
}

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

import { existsSync, mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { errorCode } from './unknownValue.ts'

/**
 * Creates a folder and those above it that are missing.
 *
 * @throws the error of the system. On a read-only disk Node 24 reports ENOENT, so the first missing folder is then created alone.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true })
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    let missing = resolve(path)
    while (!existsSync(dirname(missing))) missing = dirname(missing)
    mkdirSync(missing)
    throw error
  }
}

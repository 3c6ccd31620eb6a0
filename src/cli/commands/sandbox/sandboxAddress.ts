/** Stores the address of the sandbox that runs in this folder, so that `init --sandbox` finds it on any port. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { processExists } from '../../../db/embedded/processes.ts'
import { recordOf } from '../../../unknownValue.ts'
import { writeWholeFile } from '../../wholeFile.ts'

const fileIn = (dataDir: string) => join(dataDir, 'sandbox.json')

/**
 * Stores the address with the id of this process, and returns the function that removes it. Does nothing if the file cannot be written.
 * A later sandbox of the folder replaces the address.
 */
export function storeSandboxAddress(dataDir: string, url: string): () => void {
  const file = fileIn(dataDir)
  try {
    mkdirSync(dataDir, { recursive: true })
    writeWholeFile(file, `${JSON.stringify({ url, pid: process.pid })}\n`)
  } catch {
    return () => undefined
  }
  return () => {
    if (readStored(file)?.pid === process.pid) rmSync(file, { force: true })
  }
}

/** Returns the address of the running sandbox of this folder; undefined if none runs. */
export function runningSandbox(dataDir: string): string | undefined {
  const stored = readStored(fileIn(dataDir))
  return stored !== undefined && processExists(stored.pid) ? stored.url : undefined
}

function readStored(file: string): { readonly url: string; readonly pid: number } | undefined {
  try {
    const { url, pid } = recordOf(JSON.parse(readFileSync(file, 'utf8')))
    return typeof url === 'string' && typeof pid === 'number' ? { url, pid } : undefined
  } catch {
    return undefined
  }
}

import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import type { SourceDefinition } from '../../../src/model/pipeline.ts'

export interface Reading {
  readonly code: string
  readonly rows: number
  readonly bytes: number
  readonly complete: boolean
  readonly peakMiB: number
  readonly message?: string
}

const program = fileURLToPath(new URL('./readerProcess.ts', import.meta.url))

/**
 * Reads in a process with at most 64 MB of objects. New objects are collected early, so that kept objects show.
 * - `stdin`: bytes to pipe in until the reader stops, an open file, or a connection
 * - `uid`: runs as this user
 */
export async function readApart(
  definition: SourceDefinition,
  options: { readonly env?: Readonly<Record<string, string>>; readonly stdin?: Readable | Socket | number; readonly uid?: number } = {},
): Promise<Reading> {
  const { stdin } = options
  const child = spawn(process.execPath, ['--max-old-space-size=64', '--max-semi-space-size=4', program, JSON.stringify(definition)], {
    env: { ...process.env, ...options.env },
    ...(options.uid === undefined ? {} : { uid: options.uid }),
    stdio: [typeof stdin === 'number' || stdin instanceof Socket ? stdin : stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'inherit'],
  })
  const printed = Array.fromAsync(child.stdout as Readable)
  // A reader that stops closes the pipe, and the writer gets an error.
  if (stdin !== undefined && child.stdin !== null) await pipeline(stdin as Readable, child.stdin).catch(() => undefined)
  return JSON.parse((await printed).join('')) as Reading
}

import { chmodSync, closeSync, openSync, writeSync } from 'node:fs'
import type { Output } from './context.ts'
import { csvLine } from './render/csv.ts'

export interface CsvFile {
  readonly write: (cells: readonly string[]) => void
  readonly close: () => void
}

const chunkLength = 65_536

/** Writes lines of CSV to a file of that mode, or to `stdout` for `-`; a chunk at a time, whatever their number. */
export function openCsv(file: string, stdout: Output, mode: number): CsvFile {
  const descriptor = file === '-' ? undefined : openSync(file, 'w', mode)
  // `mode` counts only for a new file.
  if (descriptor !== undefined && mode === 0o600) chmodSync(file, mode)
  let text = ''
  const flush = () => {
    if (descriptor === undefined) stdout.write(text)
    else writeSync(descriptor, text)
    text = ''
  }
  return {
    write(cells) {
      text += csvLine(cells)
      if (text.length > chunkLength) flush()
    },
    close() {
      flush()
      if (descriptor !== undefined) closeSync(descriptor)
    },
  }
}

import { openWholeFile } from '../../wholeFile.ts'
import type { Output } from '../../context.ts'
import { csvLine } from '../../../sync/rejectsCsv.ts'

export interface CsvFile {
  readonly write: (cells: readonly string[]) => void
  /** Completes the file and renames it to its final name. */
  readonly finish: () => void
  /** Removes the file. */
  readonly discard: () => void
}

const chunkLength = 65_536

/** Writes lines of CSV to a file, or to `stdout` for `-`, in chunks of constant size. */
export function openCsv(path: string, stdout: Output, options: { readonly private?: boolean } = {}): CsvFile {
  const file = path === '-' ? undefined : openWholeFile(path, options)
  let text = ''
  const flush = () => {
    if (file === undefined) stdout.write(text)
    else file.write(text)
    text = ''
  }
  return {
    write(cells) {
      text += csvLine(cells)
      if (text.length > chunkLength) flush()
    },
    finish() {
      flush()
      file?.finish()
    },
    discard: () => file?.discard(),
  }
}

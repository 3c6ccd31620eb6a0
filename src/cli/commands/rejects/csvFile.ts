import { openWholeFile } from '../../wholeFile.ts'
import type { Output } from '../../context.ts'
import { csvLine } from '../../../sync/reports/rejectsCsv.ts'

export interface CsvFile {
  readonly write: (cells: readonly string[]) => void
  /** Writes the last lines. Then renames the file to its final name, unless it is stdout. */
  readonly finish: () => void
  /** Removes the file; does nothing for stdout. */
  readonly discard: () => void
}

const chunkLength = 65_536

/** Opens a CSV file, or `stdout` for `-`. Lines are written in chunks of about 64 KB. `private`: mode 0600. */
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

import { createHash } from 'node:crypto'
import { createReadStream, statSync, type Stats } from 'node:fs'
import { UsageError } from '../../../errors.ts'
import { quoteArgument } from '../../../format.ts'
import type { SourceFacts } from '../../../formats/rows.ts'
import { loadPipelines } from '../../../pipeline/load.ts'
import { findFile } from '../../../sources/file/localFile.ts'
import type { Store } from '../../../db/open.ts'
import { loadRunSources, csvLine } from '../../../sync/reports/rejectsCsv.ts'
import type { Context, Output } from '../../context.ts'
import { openWholeFile } from '../../wholeFile.ts'

/**
 * Checks that the file of `--csv` is not a source of the run or of a pipeline of the folder. The rejects would replace it. Compares
 * device and inode, and the SHA-256 of the content with the sources of the run.
 *
 * @throws {UsageError} `FILE_EXISTS` for a source
 */
export async function checkNotSource(
  context: Context,
  store: Store,
  target: { readonly runId: string; readonly pipeline: string; readonly file: string; readonly fromSource: boolean },
): Promise<void> {
  const { runId, pipeline, file, fromSource } = target
  const found = file === '-' ? undefined : statSync(file, { throwIfNoEntry: false })
  if (found?.isFile() !== true) return
  const { facts } = await loadRunSources(store.db, runId)
  const read = facts.flatMap((source) => (source.joined === undefined ? [source] : [source.joined.main, source.joined.file]))
  const isOfRun = read.some(({ uri }) => isSameFile(uri, found)) || (await hasContentOf(file, found, read))
  const owner = isOfRun ? pipeline : await ownerOf(context, found)
  if (owner === undefined) return
  throw new UsageError('FILE_EXISTS', `${file} is a source of ${owner}, so the rejects do not replace it. Nothing was written.`, {
    where: '--csv',
    hint: `sluice rejects ${quoteArgument(runId)} --csv rejects-${runId}.csv${fromSource ? ' --from-source' : ''}`,
  })
}

/** Returns the name of a pipeline of the folder with this file as a local source; undefined if there is none. Ignores invalid files. */
async function ownerOf(context: Context, found: Stats): Promise<string | undefined> {
  const loaded = await loadPipelines(context.pipelines, context.config().env).catch(() => undefined)
  for (const { name, sources } of loaded === undefined ? [] : [...loaded.pipelines, ...loaded.conflicting])
    for (const { uri } of sources.flatMap((source) => [source, ...(source.join === undefined ? [] : [source.join.source])])) {
      const path = await findFile(uri).catch(() => undefined)
      if (path !== undefined && isSameFile(path, found)) return name
    }
  return undefined
}

function isSameFile(path: string, { dev, ino }: Stats): boolean {
  const other = statSync(path, { throwIfNoEntry: false })
  return other?.dev === dev && other.ino === ino
}

async function hasContentOf(file: string, { size }: Stats, read: readonly SourceFacts[]): Promise<boolean> {
  const digests = read.filter(({ bytes }) => bytes === size && size > 0).map(({ sha256 }) => sha256)
  if (digests.length === 0) return false
  const sha256 = createHash('sha256')
  for await (const chunk of createReadStream(file)) sha256.update(chunk as Buffer)
  return digests.includes(sha256.digest('hex'))
}

interface CsvFile {
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

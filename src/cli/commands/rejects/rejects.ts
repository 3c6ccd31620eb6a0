import { UsageError } from '../../../errors.ts'
import { quoteArgument } from '../../../format.ts'
import { loadRejects, loadRun } from '../../../sync/reports/history.ts'
import { rejectRows } from '../../../sync/reports/rejectsCsv.ts'
import type { Store } from '../../../db/open.ts'
import { argument, flag, option, writeJson, type CommandRun, type Context } from '../../context.ts'
import { openCsv, checkNotSource } from './csvFile.ts'
import { faultsOf, renderRejects, type ShownReject } from '../../reports/rejects.ts'
import { withStore } from '../../store.ts'
import { nextLines, plural } from '../../terminal/text.ts'
import { waiting } from '../../terminal/waiting.ts'

/** Shows the rejected rows of a run: as text grouped by code and field; with `--json` every fault; with `--csv` every row. */
export const run: CommandRun = async (context, invocation) => {
  const runId = argument(invocation, 0)
  const file = option(invocation, 'csv')
  if (flag(invocation, 'fromSource') && (file === undefined || file === '-')) {
    throw new UsageError(
      'MISSING_OPTION',
      '--from-source writes personal data in clear, so it needs a file: --csv FILE. Nothing was read.',
      { where: '--csv', hint: `sluice rejects ${quoteArgument(runId)} --csv ${quoteArgument(`${runId}.csv`)} --from-source` },
    )
  }
  if (context.json && file === '-')
    throw new UsageError('OPTIONS_CONFLICT', '--json and --csv - both write to stdout. Nothing was read.', {
      where: '--csv',
      hint: `sluice rejects ${quoteArgument(runId)} --csv -`,
    })
  return withStore(context, async (store) => {
    if (file !== undefined) return writeCsv(context, store, runId, file, flag(invocation, 'fromSource'))
    const rejects: ShownReject[] = []
    for await (const reject of loadRejects(store.db, runId)) rejects.push(...faultsOf(reject))
    if (context.json) writeJson(context, rejects)
    else if (rejects.length === 0) context.stdout.write(`${await reasonForNone(store, runId)}\n`)
    else {
      context.stdout.write(renderRejects(rejects, context.stdout))
      context.stdout.write(nextLines([`sluice rejects ${runId} --csv ${runId}.csv`], context.stdout))
    }
    return 0
  })
}

/** Returns the reason why no rejects are stored: there were none, or they have expired (docs/retention.md). */
async function reasonForNone(store: Store, runId: string): Promise<string> {
  const { rejected } = (await loadRun(store.db, runId)).counts
  return rejected === 0
    ? `no rejects in ${runId}`
    : `${plural(rejected, 'reject')} in ${runId}, but they have expired: rejects are kept for 30 days`
}

async function writeCsv(context: Context, store: Store, runId: string, file: string, fromSource: boolean): Promise<number> {
  const { columns, pipeline } = await loadRun(store.db, runId)
  await checkNotSource(context, store, { runId, pipeline, file, fromSource })
  // The modules that read sources are loaded only if they are needed.
  const written = fromSource
    ? await waiting(context, 'reading the source again', async () =>
        (await import('./fromSource.ts')).writeUnmaskedRows(context, store, { runId, pipeline, columns, file }),
      )
    : await writeMasked(context, store, { runId, file })
  if (context.json) writeJson(context, { file, rows: written })
  else if (file !== '-') context.stderr.write(`${plural(written, 'reject')} in ${file}${fromSource ? ', in clear, mode 0600' : ''}\n`)
  return 0
}

/** Writes the rejects with masked cells, which are empty 7 days after the run. Returns the number of rejects. */
async function writeMasked(context: Context, store: Store, target: { readonly runId: string; readonly file: string }): Promise<number> {
  const csv = openCsv(target.file, context.stdout)
  // Starts at -1, because the header is not a reject.
  let rows = -1
  try {
    for await (const cells of rejectRows(store.db, target.runId)) {
      csv.write(cells)
      rows++
    }
    csv.finish()
  } catch (error) {
    csv.discard()
    throw error
  }
  return rows
}

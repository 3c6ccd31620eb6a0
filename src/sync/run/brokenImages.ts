import type { ImageCheck, ImageCheckOptions } from '../../http/imageCheck.ts'
import { noteOf } from '../../mapping/statistics/qualityCodes.ts'
import { addWarnings } from '../../db/runs/update.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import type { DbRow } from '../../db/row.ts'
import type { EngineDeps } from '../engine.ts'

const maxExamples = 3
/** Estimated number of rows of the table `record` from which on only a sample of its pages is read. */
const sampledFromRows = 100_000
/** Number of sampled rows for each selected product. More than one, because the sample also has rows of other destinations. */
const rowsPerProduct = 50

type ImageChecker = (links: readonly string[], options: ImageCheckOptions) => Promise<ImageCheck>

// Loaded on demand, because it imports undici, which most runs do not need.
const checkImages: ImageChecker = async (links, options) => (await import('../../http/imageCheck.ts')).checkImages(links, options)

/**
 * Checks the image links of at most `imageSample` live products, and adds a warning about broken links to the run. Only logs an error of
 * the check. Does nothing once `deps.signal` has aborted.
 */
export async function warnOfBrokenImages(
  deps: EngineDeps,
  run: ClaimedRun,
  imageSample: number,
  check: ImageChecker = checkImages,
): Promise<void> {
  if (deps.signal?.aborted) return
  try {
    const products = await sampleProducts(deps, run.destinationId, imageSample)
    const { checked, broken } = await check(
      products.map(({ link }) => link),
      deps.signal === undefined ? {} : { signal: deps.signal },
    )
    if (broken.length === 0) return
    const examples = broken.slice(0, maxExamples).map(({ index, reason }) => `${products[index]?.id ?? ''} (${reason})`)
    const message = `${broken.length} of ${checked} image links checked by sample ${broken.length === 1 ? 'is' : 'are'} broken: ${examples.join(', ')}`
    await addWarnings(deps.db, run, [noteOf('IMAGE_BROKEN', message, { field: 'image_link', count: broken.length })], 'last')
  } catch (error) {
    deps.log.warn({ runId: `r_${run.id}`, reason: error instanceof Error ? error.name : 'error' }, 'image links could not be checked')
  }
}

/** Selects up to `maxProducts` live products at random, and returns those with an image link. */
async function sampleProducts(
  { db }: EngineDeps,
  destinationId: number,
  maxProducts: number,
): Promise<readonly { readonly id: string; readonly link: string }[]> {
  const [table] = await db.query<{ rows: number }>(`select reltuples as rows from pg_class where oid = to_regclass('record')`)
  const rows = table?.rows ?? 0
  const percent = rows < sampledFromRows ? 100 : Math.min(100, Math.max(0.01, (100 * rowsPerProduct * maxProducts) / rows))
  const found = await db.query<DbRow<'record', 'key'> & { link: string | null }>(
    `select key, body::jsonb ->> 'image_link' as link from (
       select key, body from record tablesample system (${percent})
       where destination_id = $1 and status = 'live' order by random() limit $2) r`,
    [destinationId, maxProducts],
  )
  return found.flatMap(({ key, link }) => (link === null ? [] : [{ id: key.toString(), link }]))
}

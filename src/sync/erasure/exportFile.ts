/**
 * Makes the content of the file that `forget --export` writes, and parses it for `forget --replay`. The file keeps erasures while a backup
 * is restored.
 */
import { z } from 'zod'
import { UsageError } from '../../errors.ts'
import { areErased, listErasures, type ErasedKeys } from '../../db/erasures.ts'
import { findDestination } from '../../destinations/index.ts'
import { ensureDestination } from '../../db/destinations.ts'
import type { Database, Queryable } from '../../db/database.ts'

/** Type of a destination of people, except a do-not-reach list. */
const peopleKind = z.string().refine((kind) => findDestination(kind)?.reachesPeople === true)
const digest = z.string().regex(/^(?:[0-9a-f]{2})+$/)

const erasureSchema = z.strictObject({
  id: z.string(),
  erasedAt: z.string(),
  identifiers: z.array(digest),
  /**
   * Record keys, each in one destination. A file of an earlier version has no `kind`, because all destinations of people were audiences.
   */
  records: z.array(z.strictObject({ kind: peopleKind.default('audience'), accountId: z.string(), audienceId: z.string(), key: digest })),
})
const header = { format: z.literal('sluice-erasures'), exportedAt: z.string() }

/** Version 1 has the erasures of one service. It is converted to version 2. */
const exportSchema = z.discriminatedUnion('version', [
  z
    .strictObject({ ...header, version: z.literal(1), service: z.string(), erasures: z.array(erasureSchema) })
    .transform(({ service, erasures, ...rest }) => ({
      ...rest,
      version: 2 as const,
      erasures: erasures.map((erasure) => ({ ...erasure, service })),
    })),
  z.strictObject({ ...header, version: z.literal(2), erasures: z.array(erasureSchema.extend({ service: z.string() })) }),
])

/** Erasures of all services, as the file has them. */
export type ErasureExport = z.infer<typeof exportSchema>

/** Returns the erasures of all services with their digests. Leaves out an erasure if earlier ones have all its digests. */
export async function exportErasures(db: Queryable, now: Date): Promise<ErasureExport> {
  const erasures = await listErasures(db)
  return {
    format: 'sluice-erasures',
    version: 2,
    exportedAt: now.toISOString(),
    erasures: erasures.map(({ service, id, erasedAt, identifiers, records }) => ({
      service,
      id: `e_${id}`,
      erasedAt: erasedAt.toISOString(),
      identifiers: identifiers.map((key) => key.toString('hex')),
      records: records.map((record) => ({ ...record, key: record.key.toString('hex') })),
    })),
  }
}

/**
 * Parses the text of an export. `file`: its name, for messages.
 *
 * @throws {UsageError} `INVALID_VALUE`
 */
export function parseExport(text: string, file: string): ErasureExport {
  const parsed = exportSchema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw new UsageError('INVALID_VALUE', `${file} is not a file of sluice forget --export. Nothing was erased.`, {
    where: '--replay',
    hint: 'sluice forget --export FILE   (in the environment that has the erasures)',
  })
}

/**
 * Returns the erasures of an export that this database lacks, at least in one digest. `id`: id in the export. `keys`: with ids of
 * destinations of this database; missing destinations are created.
 */
export async function missingErasures(
  db: Database,
  { erasures }: ErasureExport,
): Promise<readonly { readonly id: string; readonly service: string; readonly keys: ErasedKeys }[]> {
  const missing = []
  for (const erasure of erasures) {
    const records = []
    for (const { kind, accountId, audienceId, key } of erasure.records) {
      const { id } = await ensureDestination(db, { service: erasure.service, kind, accountId, targetId: audienceId })
      records.push({ destinationId: id, key: Buffer.from(key, 'hex') })
    }
    const keys = { identifiers: erasure.identifiers.map((key) => Buffer.from(key, 'hex')), records }
    if (!(await areErased(db, erasure.service, keys))) missing.push({ id: erasure.id, service: erasure.service, keys })
  }
  return missing
}

/** Returns undefined if the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

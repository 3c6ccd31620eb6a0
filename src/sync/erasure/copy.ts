/** Content of the file that `forget --export` writes, and that `forget --replay` reads after a backup was restored. */
import { z } from 'zod'
import { UsageError } from '../../errors.ts'
import { hasErased, listErasures, type ErasedKeys } from '../../db/erasures.ts'
import { findDestination } from '../../destinations/index.ts'
import { ensureDestination } from '../../db/destinations.ts'
import type { Database, Queryable } from '../../db/database.ts'

/** Type of destination with `reachesPeople`. */
const peopleKind = z.string().refine((kind) => findDestination(kind)?.reachesPeople === true)
const digest = z.string().regex(/^(?:[0-9a-f]{2})+$/)

/** Content of the file, as JSON. */
const copySchema = z.strictObject({
  format: z.literal('sluice-erasures'),
  version: z.literal(1),
  service: z.string(),
  exportedAt: z.string(),
  erasures: z.array(
    z.strictObject({
      id: z.string(),
      erasedAt: z.string(),
      identifiers: z.array(digest),
      /** Record keys of single destinations. Earlier versions wrote audiences only, without the type. */
      records: z.array(
        z.strictObject({ kind: peopleKind.default('audience'), accountId: z.string(), audienceId: z.string(), key: digest }),
      ),
    }),
  ),
})

/** Erasures of one service, as the file has them. */
export type ErasureCopy = z.infer<typeof copySchema>

/**
 * Returns the erasures of a service with their suppressed digests, to be stored outside of the backup. Leaves out an erasure whose digests
 * all belong to earlier erasures.
 */
export async function copyErasures(db: Queryable, service: string, now: Date): Promise<ErasureCopy> {
  const erasures = await listErasures(db, service)
  return {
    format: 'sluice-erasures',
    version: 1,
    service,
    exportedAt: now.toISOString(),
    erasures: erasures.map(({ id, erasedAt, identifiers, records }) => ({
      id: `e_${id}`,
      erasedAt: erasedAt.toISOString(),
      identifiers: identifiers.map((key) => key.toString('hex')),
      records: records.map((record) => ({ ...record, key: record.key.toString('hex') })),
    })),
  }
}

/**
 * Parses the text of an export file. `file`: name of the file, for messages.
 *
 * @throws {UsageError} `INVALID_VALUE`: the text is not a copy of the erasures of this service
 */
export function readCopy(text: string, service: string, file: string): ErasureCopy {
  const copy = copySchema.safeParse(parseJson(text))
  if (!copy.success)
    throw new UsageError('INVALID_VALUE', `${file} is not a file of sluice forget --export. Nothing was erased.`, {
      where: '--replay',
      hint: `sluice forget --export ${file}   (in the environment that has the erasures)`,
    })
  if (copy.data.service !== service)
    throw new UsageError(
      'INVALID_VALUE',
      `${file} is from ${copy.data.service}, but this environment uses ${service}. Nothing was erased.`,
      {
        where: '--replay',
        hint: 'run it in the environment that the file was exported from',
      },
    )
  return copy.data
}

/**
 * Returns the erasures of a copy of which the database lacks a digest. Their records name the destinations by the ids of this database;
 * creates destinations that do not exist here. `id`: id in the copy.
 */
export async function missingErasures(db: Database, copy: ErasureCopy): Promise<readonly (ErasedKeys & { readonly id: string })[]> {
  const missing = []
  for (const erasure of copy.erasures) {
    const records = []
    for (const { kind, accountId, audienceId, key } of erasure.records) {
      const { id } = await ensureDestination(db, { service: copy.service, kind, accountId, targetId: audienceId })
      records.push({ destinationId: id, key: Buffer.from(key, 'hex') })
    }
    const keys = { identifiers: erasure.identifiers.map((key) => Buffer.from(key, 'hex')), records }
    if (!(await hasErased(db, copy.service, keys))) missing.push({ ...keys, id: erasure.id })
  }
  return missing
}

/** Returns the value of a JSON text; undefined if the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

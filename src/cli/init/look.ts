import { RunError } from '../../errors.ts'
import type { SourceDefinition } from '../../model/pipeline.ts'
import type { Row } from '../../model/record.ts'
import { openSource } from '../../sources/openSource.ts'
import type { Context } from '../context.ts'
import { safe } from '../text.ts'
import { detectedWords } from '../render/detected.ts'

/** The beginning of a source that nobody described yet. */
export interface Look {
  readonly uri: string
  /** Format, encoding, delimiter … as `check` says them. */
  readonly detected: readonly string[]
  /** Of all rows that were looked at, in the order of their first appearance; of a file without rows, its header. */
  readonly columns: readonly string[]
  readonly rows: readonly Row[]
  /** Those are all the rows there are. */
  readonly whole: boolean
  /** When it was looked at: it decides over ages. */
  readonly day: Date
  /** A feed that is read only where a `map:` names its elements. */
  readonly needsMap: boolean
  /** Values as the encoding reads them that the bytes were recognized by; undefined where it was given. */
  readonly encodingSamples?: readonly string[]
}

const rowsLooked = 200

/**
 * Reads the first rows, once, and keeps them: what a `map:` would make of them can then be tried without reading again.
 *
 * @throws {RunError} as `openSource`
 */
export async function lookAtSource(context: Context, definition: SourceDefinition): Promise<Look> {
  try {
    return await look(context, definition)
  } catch (error) {
    // A bare <channel> is somebody's product feed only where its owner says so, as who calls `init` does.
    if (!(error instanceof RunError) || error.code !== 'WRONG_FORMAT' || definition.uri === '-') throw error
    return { ...(await look(context, { ...definition, mapped: true })), needsMap: true }
  }
}

async function look(context: Context, definition: SourceDefinition): Promise<Look> {
  const source = await openSource(definition, { env: context.config().env, log: context.log(), signal: context.signal })
  const columns = new Set<string>()
  const rows: Row[] = []
  let whole = true
  try {
    reading: for await (const batch of source.rows) {
      for (const row of batch) {
        if (rows.length === rowsLooked) {
          whole = false
          break reading
        }
        for (const column of row.columns) columns.add(column)
        rows.push(row)
      }
    }
    if (rows.length === 0) for (const column of source.facts().columns) columns.add(column)
    const detected = source.detected === undefined ? [] : detectedWords(source.detected)
    return { uri: definition.uri, detected, columns: [...columns], rows, whole, day: new Date(context.clock.now()), needsMap: false }
  } finally {
    await source.close()
  }
}

/** The columns of a source for a sentence, twenty at the most. */
export function listed({ columns }: Look): string {
  return `${columns
    .slice(0, 20)
    .map((column) => safe(column.slice(0, 60)))
    .join(', ')}${columns.length > 20 ? ' …' : ''}`
}

import { RunError } from '../../../errors.ts'
import type { SourceDefinition } from '../../../model/pipeline.ts'
import type { SourceRow } from '../../../model/record.ts'
import { maskedExcerpt } from '../../../mapping/redactPersonalData.ts'
import { openSource } from '../../../sources/openSource.ts'
import type { Context } from '../../context.ts'
import { safe } from '../../terminal/text.ts'
import { isTable } from '../../../formats/openFormat.ts'
import { detectedWords } from '../../reports/detected.ts'

/** First rows of a source, at most 200, with facts about the source. */
export interface Inspection {
  readonly uri: string
  /** True if all rows have the same columns (`formats/openFormat.ts`). */
  readonly isTable: boolean
  /** Format, encoding, delimiter and so on, as `check` prints them. */
  readonly detected: readonly string[]
  /** Columns of the inspected rows, in the order of their first appearance; the header if there are no rows. */
  readonly columns: readonly string[]
  readonly rows: readonly SourceRow[]
  /** True if `rows` is the whole source. */
  readonly whole: boolean
  /** Time of the inspection. Consent tests that compare dates with today use it. */
  readonly inspectedAt: Date
  /** True for XML that is read only if a `map:` names its elements. */
  readonly needsMap: boolean
  /** Some values, decoded with the encoding that `init` guessed; absent if it guessed none. */
  readonly encodingSamples?: readonly string[]
}

const maxInspectedRows = 200

/** Reads the first rows and keeps them, so that several `map:` settings can be tried on them. @throws {RunError} as `openSource` */
export async function inspectSource(context: Context, definition: SourceDefinition): Promise<Inspection> {
  try {
    return await readFirstRows(context, definition)
  } catch (error) {
    // XML whose root is <channel> is read only with a `map:`, which init writes. Standard input cannot be read twice.
    if (!(error instanceof RunError) || error.code !== 'WRONG_FORMAT' || definition.uri === '-') throw error
    return { ...(await readFirstRows(context, { ...definition, mapped: true })), needsMap: true }
  }
}

async function readFirstRows(context: Context, definition: SourceDefinition): Promise<Inspection> {
  const source = await openSource(definition, { env: context.config().env, log: context.log(), signal: context.signal })
  const columns = new Set<string>()
  const rows: SourceRow[] = []
  let whole = true
  try {
    reading: for await (const batch of source.rows) {
      for (const row of batch) {
        if (rows.length === maxInspectedRows) {
          whole = false
          break reading
        }
        for (const column of row.columns) columns.add(column)
        rows.push(row)
      }
    }
    if (rows.length === 0) for (const column of source.facts().columns) columns.add(column)
    const detected = source.detected === undefined ? [] : detectedWords(source.detected)
    return {
      uri: definition.uri,
      isTable: isTable(source.detected?.format),
      detected,
      columns: [...columns],
      rows,
      whole,
      inspectedAt: new Date(context.clock.now()),
      needsMap: false,
    }
  } finally {
    await source.close()
  }
}

/** Returns the names of the first twenty columns, separated by commas. */
export function columnNames({ columns }: Inspection): string {
  return `${columns
    .slice(0, 20)
    .map((column) => safe(maskedExcerpt(column)))
    .join(', ')}${columns.length > 20 ? ' …' : ''}`
}

import type { Pipeline } from '../../model/pipeline.ts'
import { missingColumnWarning, mappingFromPreset, presetOf, type MissingColumn } from '../boundColumns.ts'
import { bindField, type BoundField } from '../fields.ts'
import type { Preset } from '../presets/index.ts'
import type { Warning } from '../../model/record.ts'

const timeFields: ReadonlySet<string> = new Set(['effective_at', 'expires_at'])

/** Header of a source while its fields are bound. Collects the used columns, the missing columns and the warnings. */
export class MemberHeader {
  readonly pipeline: Pipeline
  readonly columns: readonly string[]
  /** The configured preset, or the recognized one if the pipeline has no `map:`. */
  readonly preset: Preset | undefined
  /** Indexes of the columns that the mapping reads. */
  readonly usedIndexes = new Set<number>()
  readonly missing: MissingColumn[] = []
  readonly warnings: Warning[] = []

  constructor(pipeline: Pipeline, columns: readonly string[]) {
    this.pipeline = pipeline
    this.columns = columns
    const needsPreset = pipeline.preset !== undefined || Object.keys(pipeline.map).length === 0
    this.preset = needsPreset ? presetOf(pipeline, columns, 'members') : undefined
  }

  /**
   * Binds a field by `map:`, or else by the preset, and marks its columns as used. Warns about each column of `map:` that the header lacks.
   * Returns undefined if the mapping has no constant, no function and no column of this header. Exception: a time with a default. For the
   * key and the identifiers, a default is not enough: all rows would be one person.
   */
  bindField(field: string): BoundField | undefined {
    const { columns } = this
    const configured = this.pipeline.map[field]
    const presetField = this.preset?.map[field]
    const mapping = configured ?? (presetField === undefined ? undefined : mappingFromPreset(presetField, columns))
    if (mapping === undefined) return undefined
    const bound = bindField(field, mapping, columns)
    for (const index of bound.indexes) this.usedIndexes.add(index)
    if (configured !== undefined) for (const name of bound.missing) this.warnings.push(missingColumnWarning(field, name, columns))
    const needsNoColumn =
      mapping.constant !== undefined || mapping.compute !== undefined || (mapping.default !== undefined && timeFields.has(field))
    return bound.indexes.length > 0 || needsNoColumn ? bound : undefined
  }
}

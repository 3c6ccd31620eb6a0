import type { Pipeline } from '../../model/pipeline.ts'
import { missingColumnWarning, fromPreset, presetOf, type MissingColumn } from '../boundColumns.ts'
import { bindField, type BoundField } from '../fields.ts'
import type { Preset } from '../presets/index.ts'
import type { Warning } from '../../model/record.ts'

/** Header whose fields are being bound. Collects the used columns, the missing columns and the warnings. */
export class MemberHeader {
  readonly pipeline: Pipeline
  readonly columns: readonly string[]
  /** The configured preset. Without one, the recognized preset if `map:` is empty, else undefined. */
  readonly preset: Preset | undefined
  /** Indexes of the columns in use. */
  readonly used = new Set<number>()
  readonly missing: MissingColumn[] = []
  readonly warnings: Warning[] = []

  constructor(pipeline: Pipeline, columns: readonly string[]) {
    this.pipeline = pipeline
    this.columns = columns
    const needsPreset = pipeline.preset !== undefined || Object.keys(pipeline.map).length === 0
    this.preset = needsPreset ? presetOf(pipeline, columns, 'members') : undefined
  }

  /**
   * Binds a field by the pipeline's `map:`, or else by the preset. Undefined if neither maps the field, or if the mapping has no column of
   * this header, no constant and no function.
   */
  field(field: string): BoundField | undefined {
    const { columns } = this
    const own = this.pipeline.map[field]
    const entry = this.preset?.map[field]
    const fieldMapping = own ?? (entry === undefined ? undefined : fromPreset(entry, columns))
    if (fieldMapping === undefined) return undefined
    const made = bindField(field, fieldMapping, columns)
    for (const index of made.indexes) this.used.add(index)
    if (own !== undefined) for (const name of made.missing) this.warnings.push(missingColumnWarning(field, name, columns))
    return made.indexes.length > 0 || fieldMapping.constant !== undefined || fieldMapping.compute !== undefined ? made : undefined
  }
}

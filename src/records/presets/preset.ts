import type { ValueTest } from '../../pipeline/definition.ts'
import type { PresetField } from '../fields.ts'

/** What an export of a well-known kind looks like: data only, one file each. */
export interface Preset {
  /** As written in `preset:`. */
  readonly name: string
  readonly title: string
  readonly kind: 'catalog' | 'members'
  /** A header as such an export has it. */
  readonly sample: readonly string[]
  /** Columns that together tell it from the others, compared by `normalizeHeader`. */
  readonly recognize: readonly string[]
  /** Target field → the names of its column, first present one first. */
  readonly map: Readonly<Record<string, PresetField>>
  readonly consent?: ValueTest
}

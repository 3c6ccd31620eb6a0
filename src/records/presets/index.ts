import { normalizeHeader } from '../fields.ts'
import { googleShopping } from './googleShopping.ts'
import type { Preset } from './preset.ts'

export type { Preset } from './preset.ts'

/** All presets; where a header fits several, the one that asks for more columns is meant. */
export const presets: readonly Preset[] = [googleShopping]

export function presetByName(name: string): Preset | undefined {
  return presets.find((preset) => preset.name === name)
}

/** The preset whose telling columns are all in the header. */
export function recognizePreset(columns: readonly string[], kind: Preset['kind']): Preset | undefined {
  const names = new Set(columns.map(normalizeHeader))
  return presets
    .filter((preset) => preset.kind === kind && preset.recognize.every((column) => names.has(normalizeHeader(column))))
    .sort((a, b) => b.recognize.length - a.recognize.length)[0]
}

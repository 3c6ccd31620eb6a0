import { readFile, stat } from 'node:fs/promises'
import type { SourceDefinition } from '../pipeline/definition.ts'
import type { Witness } from './completeness.ts'

/**
 * Looks for the done marker or manifest beside a source; `{path}` stands for the source's own path. A manifest is JSON
 * with `rows`, `bytes`, `sha256`, or the line that sha256sum writes. Undefined where neither was asked for.
 */
export async function readWitness(definition: SourceDefinition, path: string): Promise<Witness | undefined> {
  const { complete } = definition
  if (complete.kind !== 'marker' && complete.kind !== 'manifest') return undefined
  const beside = complete.path.replaceAll('{path}', path)
  try {
    const found = await stat(beside)
    if (!found.isFile()) return { found: false }
    if (complete.kind === 'marker') return { found: true }
    // A manifest is a few hundred bytes; anything large is something else.
    return found.size > 65_536 ? { found: false } : parseManifest(await readFile(beside, 'utf8'))
  } catch {
    // Missing or unreadable is one answer here: the end is not proved, and the report says so.
    return { found: false }
  }
}

function parseManifest(text: string): Witness {
  const sum = /^([0-9a-f]{64})\b/i.exec(text.trim())?.[1]
  if (sum !== undefined) return { found: true, sha256: sum }
  const parsed: unknown = JSON.parse(text)
  if (typeof parsed !== 'object' || parsed === null) return { found: false }
  const { rows, bytes, sha256 } = parsed as Readonly<Record<string, unknown>>
  return {
    found: true,
    ...(typeof rows === 'number' ? { rows } : {}),
    ...(typeof bytes === 'number' ? { bytes } : {}),
    ...(typeof sha256 === 'string' ? { sha256 } : {}),
  }
}

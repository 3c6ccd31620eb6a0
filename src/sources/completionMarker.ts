/** Reads the files that prove the end of a source: completion markers and manifests. */
import { readFile, stat } from 'node:fs/promises'
import type { SourceDefinition } from '../model/pipeline.ts'
import { maxBesideBytes, type BesideFile, type ByteStream } from './byteStream.ts'
import type { MarkerOrManifest } from './completeness.ts'
import { recordOf } from '../unknownValue.ts'

/** Placeholder in the path of a marker or manifest: the path or address of the source. */
const sourcePath = '{path}'

/**
 * Looks for the completion marker or manifest of a source. Returns undefined if `complete:` is neither of them. Never rejects.
 * - A path that begins with `{path}` is beside the source: in its folder, on its server, in its bucket.
 * - Any other path is on this machine. `{path}` in it is replaced by the source's label.
 *
 * A manifest is JSON with `rows`, `bytes` or `sha256`, or a line of sha256sum.
 */
export async function readMarkerOrManifest(definition: SourceDefinition, stream: ByteStream): Promise<MarkerOrManifest | undefined> {
  const { complete } = definition
  if (complete.kind !== 'marker' && complete.kind !== 'manifest') return undefined
  const { path } = complete
  try {
    const found =
      path.startsWith(sourcePath) && stream.readBeside !== undefined
        ? await stream.readBeside(path.slice(sourcePath.length))
        : await readLocalBeside(
            path.replaceAll(sourcePath, () => stream.label),
            stream.changedMs,
          )
    if (found === undefined) return { found: false }
    return complete.kind === 'marker' ? { found: true, older: found.older } : parseManifest(found.content.toString('utf8'))
  } catch {
    // A missing and an unreadable file have the same result: the end is not proven. The report shows this.
    return { found: false }
  }
}

/**
 * Reads a file of this machine. Returns undefined if it is not a regular file. `changedMs`: time of the last change of the source in
 * milliseconds since 1970; undefined if it is not known.
 *
 * @throws the error of the system, for example if there is no such file
 */
export async function readLocalBeside(path: string, changedMs: number | undefined): Promise<BesideFile | undefined> {
  const found = await stat(path)
  if (!found.isFile()) return undefined
  return {
    content: found.size > maxBesideBytes ? Buffer.alloc(0) : await readFile(path),
    older: changedMs !== undefined && found.mtimeMs < changedMs,
  }
}

/** Parses a manifest. @throws {SyntaxError} for a text that is not a digest and not JSON */
function parseManifest(written: string): MarkerOrManifest {
  // Some programs begin every text with a byte order mark.
  const text = written.replace(/^\ufeff/, '')
  const sum = /^([0-9a-f]{64})\b/i.exec(text.trim())?.[1]
  if (sum !== undefined) return { found: true, sha256: sum }
  const parsed: unknown = JSON.parse(text)
  if (typeof parsed !== 'object' || parsed === null) return { found: false }
  const { rows, bytes, sha256 } = recordOf(parsed)
  return {
    found: true,
    ...(isNumber(rows) ? { rows: Number(rows) } : {}),
    ...(isNumber(bytes) ? { bytes: Number(bytes) } : {}),
    ...(typeof sha256 === 'string' ? { sha256 } : {}),
  }
}

/** Returns true for a number, and for a text of digits, because some programs write numbers as texts. */
function isNumber(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value))
}

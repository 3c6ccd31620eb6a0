/** Decides whether a read that ended without an error was complete, by the facts of format, transport and marker. */
import type { FormatEnd } from '../formats/formatReader.ts'
import type { Completeness, SourceFacts } from '../formats/rows.ts'
import type { CompletenessProof } from '../model/pipeline.ts'
import type { TransportEnd } from './byteStream.ts'

/** Facts about a read that ended without an error. */
export interface EndFacts {
  /** Setting `complete:` of the source: the proof that is needed. */
  readonly required: CompletenessProof
  readonly format: FormatEnd
  readonly transport: TransportEnd
  /** Proof by the end of compressed data; undefined without compression. */
  readonly containerProof: string | undefined
  /** Facts of the last complete read. */
  readonly previous?: SourceFacts
  /** True if JSON lines was detected, but is not the configured format. */
  readonly isGuessedLines?: boolean
  /** Result of the search for the completion marker or manifest; absent if none is configured. */
  readonly marker?: MarkerOrManifest
  /** Number of bytes as received, and their SHA-256 in lower-case hex. */
  readonly bytes: number
  readonly sha256: string
}

/** Completion marker, or manifest with the values that it announces. */
export interface MarkerOrManifest {
  /** False if the file is missing or cannot be read. */
  readonly found: boolean
  /** True if the marker is older than the source, so that it belongs to an earlier export. */
  readonly older?: boolean
  readonly rows?: number
  readonly bytes?: number
  readonly sha256?: string
}

/**
 * Decides whether the end of the source was proven (docs/guarantees.md#deletes-need-proof). Only then may missing rows be deleted.
 * If the source changed during the read, only the digest of a manifest proves that all bytes are of one version.
 */
export function classifyCompleteness(facts: EndFacts): Completeness {
  const { required, format, transport, marker } = facts
  if (transport.doubt !== undefined && marker?.sha256 === undefined) return unproven(transport.doubt)
  switch (required.kind) {
    case 'auto':
      return classifyEnd(facts)
    case 'rows':
      if (required.count !== format.rowCount) return unproven(`${required.count} rows were announced, ${format.rowCount} were read`)
      // A count cannot detect a cut inside the last field.
      return checkOpenEnd(facts) ?? proven('row count met')
    case 'trailer':
      if (format.trailerRows === undefined) return unproven('the trailer row is missing')
      return format.trailerRows === format.rowCount
        ? proven('trailer row met')
        : unproven(`the trailer row announces ${format.trailerRows} rows, ${format.rowCount} were read`)
    case 'marker':
      if (marker?.found !== true) return unproven('the completion marker is missing')
      return marker.older === true ? unproven('the completion marker is older than the source') : proven('completion marker found')
    case 'manifest':
      return classifyManifest(facts)
  }
}

/** Decides for `complete: auto`, by the proof of the format, of compressed data, or of the transport. */
function classifyEnd(facts: EndFacts): Completeness {
  const { format, containerProof, transport } = facts
  if (format.proof !== undefined) return proven(format.proof)
  // If there are several compressed members, the data may be cut off between two of them. So the end of the text is checked too.
  if (containerProof !== undefined) return checkOpenEnd(facts) ?? proven(containerProof)
  if (transport.proof === undefined) return unproven(transport.reason ?? 'nothing proves that the end was reached')
  return checkOpenEnd(facts) ?? proven(transport.proof)
}

/** Returns `unproven` if the end of a format without an end mark, such as CSV, is in doubt; otherwise undefined. */
function checkOpenEnd({ format, transport, previous, isGuessedLines }: EndFacts): Completeness | undefined {
  if (format.proof !== undefined) return undefined
  if (format.doubt !== undefined) return unproven(format.doubt)
  if (previous === undefined) return undefined
  // The file may be an error message in place of the records.
  if (isGuessedLines === true && previous.format === 'json')
    return unproven('its last complete read was an array of records, this one is not; set `format: jsonl` if its lines are records')
  // A table without rows may have been cut off within its header.
  if (format.rowCount === 0 && previous.columns.some((column) => !format.columns.includes(column)))
    return unproven('the header lacks columns of the last complete read, and no row follows')
  const hadFinalNewline = previous.finalNewline
  if (transport.mustEndAsBefore !== true || hadFinalNewline === null || hadFinalNewline === format.finalNewline) return undefined
  return unproven(
    hadFinalNewline
      ? 'the file ends without a line end, its last complete read ended with one; set `complete:` if it is whole'
      : 'the file ends with a line end, its last complete read ended without one; set `complete:` if it is whole',
  )
}

function classifyManifest({ marker, format, bytes, sha256 }: EndFacts): Completeness {
  if (marker?.found !== true) return unproven('the manifest is missing or cannot be read')
  if (marker.rows === undefined && marker.bytes === undefined && marker.sha256 === undefined)
    return unproven('the manifest has neither rows, bytes nor sha256')
  if (marker.rows !== undefined && marker.rows !== format.rowCount)
    return unproven(`the manifest announces ${marker.rows} rows, ${format.rowCount} were read`)
  if (marker.bytes !== undefined && marker.bytes !== bytes)
    return unproven(`the manifest announces ${marker.bytes} bytes, ${bytes} were read`)
  if (marker.sha256 !== undefined && marker.sha256.toLowerCase() !== sha256)
    return unproven('the manifest has a different digest than the file')
  return proven('manifest met')
}

function proven(proof: string): Completeness {
  return { complete: true, proof }
}

function unproven(reason: string): Completeness {
  return { complete: false, proof: 'none', reason }
}

import type { FormatEnd } from '../formats/formatReader.ts'
import type { Completeness, SourceFacts, SourceStandard } from '../formats/rows.ts'
import type { CompletenessProof } from '../pipeline/definition.ts'
import type { TransportEnd } from './byteStream.ts'

export interface EndFacts {
  readonly asked: CompletenessProof
  readonly format: FormatEnd
  readonly transport: TransportEnd
  readonly containerProof: string | undefined
  readonly compression: string
  readonly previous?: SourceFacts
  /** What a marker or manifest said; undefined where none was asked for. */
  readonly witness?: Witness
  readonly bytes: number
  readonly sha256: string
}

export interface Witness {
  readonly found: boolean
  readonly rows?: number
  readonly bytes?: number
  readonly sha256?: string
}

/**
 * Decides whether reading to the end proved that nothing is missing (I8): only then may absence mean gone. Everything
 * provably wrong has been thrown before; here only proof counts, and what is not proved is not complete.
 */
export function judgeCompleteness(facts: EndFacts): Completeness {
  const { asked, format } = facts
  switch (asked.kind) {
    case 'auto':
      return judgeEnd(facts)
    case 'rows':
      if (asked.count !== format.rowCount) return unproven(`${asked.count} rows were announced, ${format.rowCount} were read`)
      // A count cannot see a cut inside the last field.
      return judgeOpenEnd(facts) ?? proven('row count met')
    case 'trailer':
      if (format.trailerRows === undefined) return unproven('the trailer row is missing')
      return format.trailerRows === format.rowCount ? proven('trailer row met') : unproven(`the trailer row announces ${format.trailerRows} rows, ${format.rowCount} were read`)
    case 'marker':
      return facts.witness?.found === true ? proven('done marker found') : unproven('the done marker is missing')
    case 'manifest':
      return judgeManifest(facts)
  }
}

function judgeEnd(facts: EndFacts): Completeness {
  const { format, containerProof, transport } = facts
  if (format.proof !== undefined) return proven(format.proof)
  if (containerProof !== undefined) return proven(containerProof)
  if (transport.proof === undefined) return unproven(transport.reason ?? 'nothing proves that the end was reached')
  return judgeOpenEnd(facts) ?? proven(transport.proof)
}

/** What speaks against the end of a text that has no end mark of its own; undefined where nothing does. */
function judgeOpenEnd({ format, containerProof, transport, previous, compression }: EndFacts): Completeness | undefined {
  if (format.proof !== undefined || containerProof !== undefined) return undefined
  if (format.doubt !== undefined) return unproven(format.doubt)
  if (previous === undefined) return undefined
  if (previous.compression !== compression) return unproven(`the source was packed with ${previous.compression} and is ${compression} now`)
  const gone = previous.columns.filter((column) => !format.columns.includes(column))
  // Only tables have one header for all rows; the keys of JSON come and go with the records.
  if (isTable(previous.format) && gone.length > 0) return unproven(`${gone.length} columns of the last reading are gone`)
  const ended = standardOf(previous)?.finalNewline
  if (transport.endsAsBefore !== true || ended === undefined || ended === null || ended === format.finalNewline) return undefined
  return unproven(
    ended ? 'the file ends without a line end, its last complete reading ended with one' : 'the file ends with a line end, its last complete reading ended without one',
  )
}

/** How the last complete reading ended, carried through readings that were not complete. */
export function standardOf(previous: SourceFacts | undefined): SourceStandard | undefined {
  if (previous === undefined) return undefined
  return previous.completeness.complete ? { finalNewline: previous.finalNewline } : previous.standard
}

function isTable(format: string): boolean {
  return format === 'csv' || format === 'tsv' || format === 'xlsx'
}

function judgeManifest({ witness, format, bytes, sha256 }: EndFacts): Completeness {
  if (witness?.found !== true) return unproven('the manifest is missing or cannot be read')
  if (witness.rows === undefined && witness.bytes === undefined && witness.sha256 === undefined) return unproven('the manifest names neither rows, bytes nor sha256')
  if (witness.rows !== undefined && witness.rows !== format.rowCount) return unproven(`the manifest announces ${witness.rows} rows, ${format.rowCount} were read`)
  if (witness.bytes !== undefined && witness.bytes !== bytes) return unproven(`the manifest announces ${witness.bytes} bytes, ${bytes} were read`)
  if (witness.sha256 !== undefined && witness.sha256.toLowerCase() !== sha256) return unproven('the manifest names another digest than the file has')
  return proven('manifest met')
}

function proven(proof: string): Completeness {
  return { complete: true, proof }
}

function unproven(reason: string): Completeness {
  return { complete: false, proof: 'none', reason }
}

import type { FormatEnd } from '../formats/formatReader.ts'
import type { Completeness, SourceFacts } from '../formats/rows.ts'
import type { CompletenessProof } from '../pipeline/definition.ts'
import type { TransportEnd } from './byteStream.ts'

export interface EndFacts {
  readonly asked: CompletenessProof
  readonly format: FormatEnd
  readonly transport: TransportEnd
  readonly containerProof: string | undefined
  readonly previous?: SourceFacts
  /** Read as JSON lines because it looks so, not because its owner says so. */
  readonly seemsLines?: boolean
  /** What a marker or manifest said; undefined where none was asked for. */
  readonly witness?: Witness
  readonly bytes: number
  readonly sha256: string
}

export interface Witness {
  readonly found: boolean
  /** A marker that was there before the source changed. */
  readonly older?: boolean
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
      return format.trailerRows === format.rowCount
        ? proven('trailer row met')
        : unproven(`the trailer row announces ${format.trailerRows} rows, ${format.rowCount} were read`)
    case 'marker':
      if (facts.witness?.found !== true) return unproven('the done marker is missing')
      if (facts.witness.older === true) return unproven('the done marker is older than the source')
      return facts.transport.doubt === undefined ? proven('done marker found') : unproven(facts.transport.doubt)
    case 'manifest':
      return judgeManifest(facts)
  }
}

function judgeEnd(facts: EndFacts): Completeness {
  const { format, containerProof, transport } = facts
  if (transport.doubt !== undefined) return unproven(transport.doubt)
  if (format.proof !== undefined) return proven(format.proof)
  // A stream of several packed members may end between two of them: the text still has to end as it used to.
  if (containerProof !== undefined) return judgeOpenEnd(facts) ?? proven(containerProof)
  if (transport.proof === undefined) return unproven(transport.reason ?? 'nothing proves that the end was reached')
  return judgeOpenEnd(facts) ?? proven(transport.proof)
}

/** What speaks against the end of a text that has no end mark of its own; undefined where nothing does. */
function judgeOpenEnd({ format, transport, previous, seemsLines }: EndFacts): Completeness | undefined {
  if (format.proof !== undefined) return undefined
  if (format.doubt !== undefined) return unproven(format.doubt)
  if (previous === undefined) return undefined
  // An error message in place of the answer that holds the records, say.
  if (seemsLines === true && previous.format === 'json')
    return unproven('its last complete reading was an array of records, this one is not; set `format: jsonl` if its lines are records')
  // A table without a row may have been cut in its header; with rows behind it the header is whole.
  if (format.rowCount === 0 && previous.columns.some((column) => !format.columns.includes(column)))
    return unproven('the header is not whole and no row follows')
  const ended = previous.finalNewline
  if (transport.endsAsBefore !== true || ended === null || ended === format.finalNewline) return undefined
  return unproven(
    ended
      ? 'the file ends without a line end, its last complete reading ended with one; set `complete:` if it is whole'
      : 'the file ends with a line end, its last complete reading ended without one; set `complete:` if it is whole',
  )
}

function judgeManifest({ witness, format, bytes, sha256 }: EndFacts): Completeness {
  if (witness?.found !== true) return unproven('the manifest is missing or cannot be read')
  if (witness.rows === undefined && witness.bytes === undefined && witness.sha256 === undefined)
    return unproven('the manifest names neither rows, bytes nor sha256')
  if (witness.rows !== undefined && witness.rows !== format.rowCount)
    return unproven(`the manifest announces ${witness.rows} rows, ${format.rowCount} were read`)
  if (witness.bytes !== undefined && witness.bytes !== bytes)
    return unproven(`the manifest announces ${witness.bytes} bytes, ${bytes} were read`)
  if (witness.sha256 !== undefined && witness.sha256.toLowerCase() !== sha256)
    return unproven('the manifest names another digest than the file has')
  return proven('manifest met')
}

function proven(proof: string): Completeness {
  return { complete: true, proof }
}

function unproven(reason: string): Completeness {
  return { complete: false, proof: 'none', reason }
}

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
      return asked.count === format.rowCount ? proven('row count met') : unproven(`${asked.count} rows were announced, ${format.rowCount} were read`)
    case 'trailer':
      if (format.trailerRows === undefined) return unproven('the trailer row is missing')
      return format.trailerRows === format.rowCount ? proven('trailer row met') : unproven(`the trailer row announces ${format.trailerRows} rows, ${format.rowCount} were read`)
    case 'marker':
      return facts.witness?.found === true ? proven('done marker found') : unproven('the done marker is missing')
    case 'manifest':
      return judgeManifest(facts)
  }
}

function judgeEnd({ format, containerProof, transport, previous }: EndFacts): Completeness {
  if (format.proof !== undefined) return proven(format.proof)
  if (containerProof !== undefined) return proven(containerProof)
  if (format.doubt !== undefined) return unproven(format.doubt)
  if (transport.proof === undefined) return unproven(transport.reason ?? 'nothing proves that the end was reached')
  if (transport.endsAsBefore === true && previous?.finalNewline !== undefined && previous.finalNewline !== null && previous.finalNewline !== format.finalNewline) {
    return unproven(previous.finalNewline ? 'the file ends without a line end, its last complete reading ended with one' : 'the file ends with a line end, its last complete reading ended without one')
  }
  return proven(transport.proof)
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

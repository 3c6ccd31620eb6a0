import type { Environment } from '../config/config.ts'

/** Colours of one stream: all of them give the text back unchanged where the stream must stay plain. */
export interface Style {
  /** No escape may be written to this stream: neither a colour nor a move of the cursor. */
  readonly plain: boolean
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
}

/** Only a terminal gets colours, and `NO_COLOR` (not empty) or `TERM=dumb` win. Meaning never rests on colour alone. */
export function styleFor(stream: { readonly isTTY?: boolean | undefined }, env: Environment): Style {
  const plain = stream.isTTY !== true || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
  // Node's styleText lets FORCE_COLOR win over both, so the five codes stand here.
  const code = (open: number, close: number) => (text: string) => (plain ? text : `\u001b[${open}m${text}\u001b[${close}m`)
  return { plain, bold: code(1, 22), dim: code(2, 22), red: code(31, 39), green: code(32, 39), yellow: code(33, 39) }
}

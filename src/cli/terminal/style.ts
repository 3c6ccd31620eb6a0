import type { Environment } from '../../config/config.ts'

/** Functions that style a text for one stream. On a plain stream, each returns the text unchanged. */
export interface Style {
  /** True if the stream may contain no escape sequences: no colours, no cursor movement. */
  readonly plain: boolean
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
}

/** Returns the style of a stream. It is plain if the stream is not a terminal, `NO_COLOR` is not empty, or `TERM` is `dumb`. */
export function styleFor(stream: { readonly isTTY?: boolean | undefined }, env: Environment): Style {
  const plain = stream.isTTY !== true || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
  // Node's styleText is not used, because it gives FORCE_COLOR priority over NO_COLOR and TERM.
  const code = (open: number, close: number) => (text: string) => (plain ? text : `\u001b[${open}m${text}\u001b[${close}m`)
  return { plain, bold: code(1, 22), dim: code(2, 22), red: code(31, 39), green: code(32, 39), yellow: code(33, 39) }
}

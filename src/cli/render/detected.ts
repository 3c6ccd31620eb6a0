import type { Detected } from '../../formats/openFormat.ts'

/** `csv`, `utf-8`, `delimiter ";"`, `header on line 1`: what was found out about a source before its first row. */
export function detectedWords({ format, encoding, compression, delimiter, headerLine, notes }: Detected): readonly string[] {
  return [
    format,
    encoding,
    ...(compression === 'none' ? [] : [compression]),
    ...(delimiter === undefined ? [] : [`delimiter ${delimiter === '\t' ? 'TAB' : `"${delimiter}"`}`]),
    ...(headerLine === undefined ? [] : [headerLine === 0 ? 'no header' : `header on line ${headerLine}`]),
    ...notes,
  ]
}

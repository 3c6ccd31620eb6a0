import type { Detected } from '../../formats/openFormat.ts'

/** Returns the detected format as words: `csv`, `utf-8`, `delimiter ";"`, `header on line 1`. */
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

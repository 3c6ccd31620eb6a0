/** Encodes a text in an encoding that the platform can only decode. */
export function encodeAs(text: string, encoding: string): Buffer {
  const table = tableOf(encoding)
  return Buffer.concat(
    Array.from(text, (character) => {
      const bytes = character < '\u0080' ? Buffer.from(character) : table.get(character)
      if (bytes === undefined) throw new Error(`${encoding} has no ${character}`)
      return bytes
    }),
  )
}

const tables = new Map<string, ReadonlyMap<string, Buffer>>()

function tableOf(encoding: string): ReadonlyMap<string, Buffer> {
  const known = tables.get(encoding)
  if (known !== undefined) return known
  const decoder = new TextDecoder(encoding, { fatal: true })
  const table = new Map<string, Buffer>()
  const add = (bytes: Buffer) => {
    try {
      const text = decoder.decode(bytes)
      if ([...text].length === 1 && !table.has(text)) table.set(text, bytes)
    } catch {
      // Not a character of the encoding.
    }
  }
  for (let lead = 0x80; lead <= 0xff; lead++) add(Buffer.of(lead))
  if (!/^(?:windows|iso|koi8|x-mac|macintosh)/.test(encoding))
    for (let lead = 0x81; lead <= 0xfe; lead++) for (let second = 0x40; second <= 0xfe; second++) add(Buffer.of(lead, second))
  tables.set(encoding, table)
  return table
}

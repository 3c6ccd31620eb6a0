/** Runs the XML parser alone, as the base of the ratios of feeds. */
import { createReadStream } from 'node:fs'
import { SaxesParser } from 'saxes'

/** Parses a file with namespaces, and counts elements and characters. */
export async function saxesAlone(input: { readonly file: string }): Promise<object> {
  const started = performance.now()
  const parser = new SaxesParser({ xmlns: true })
  let elements = 0
  let characters = 0
  parser.on('opentag', () => (elements += 1))
  parser.on('text', (text) => (characters += text.length))
  parser.on('cdata', (text) => (characters += text.length))
  parser.on('error', (error) => {
    throw error
  })
  for await (const chunk of createReadStream(input.file, { encoding: 'utf8', highWaterMark: 1 << 18 })) parser.write(chunk as string)
  parser.close()
  return { seconds: (performance.now() - started) / 1000, elements, characters }
}

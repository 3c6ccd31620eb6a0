import { StringDecoder } from 'node:string_decoder'
import { XMLParser, XMLValidator } from 'fast-xml-parser'
import type { RunError } from '../../errors.ts'
import { isRecord } from '../../unknownValue.ts'
import { fileError } from '../fileError.ts'
import type { ZipDirectory } from './zipDirectory.ts'

type Attributes = Readonly<Record<string, string>>

/**
 * Parser of small parts. The parser removes namespace prefixes, and puts @ before the names of attributes. A value is a text, an object or
 * a list of these.
 */
const smallPartParser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  removeNSPrefix: true,
  parseTagValue: false,
  parseAttributeValue: false,
  htmlEntities: true,
})

/** Maximum length of a small part in UTF-16 units. */
const maxPartLength = 64 * 1_048_576

/**
 * Reads a small part as one document. `parsePart` (workbookParts.ts) is for strings and sheets, because they may be large.
 *
 * @throws RunError FILE_MALFORMED, and the errors of `ZipDirectory.read`
 */
export async function readSmallPart(archive: ZipDirectory, member: string, name: string): Promise<unknown> {
  let text = ''
  const decoder = new StringDecoder('utf8')
  for await (const chunk of archive.read(member)) {
    text += decoder.write(chunk)
    if (text.length > maxPartLength) throw unreadablePartError('is larger than 64 MB', name)
  }
  text = (text + decoder.end()).replace(/^\ufeff/, '')
  if (/<!DOCTYPE/i.test(text)) throw unreadablePartError('has a document type declaration', name)
  if (XMLValidator.validate(text) !== true) throw unreadablePartError('is not well-formed XML', name)
  try {
    return smallPartParser.parse(text)
  } catch {
    // The parser rejects, for example, a name such as `__proto__`, or too many entity references.
    throw unreadablePartError('cannot be read', name)
  }
}

/** Returns the error for a part that cannot be used. `message` follows the words "a part of the workbook". */
export function unreadablePartError(message: string, name: string): RunError {
  return fileError('FILE_MALFORMED', `a part of the workbook ${message}`, {
    name,
    hint: 'Save the workbook again, or save the sheet as CSV.',
  })
}

/** Returns the attributes of all elements at a path of local names. */
export function attributesAt(document: unknown, ...path: readonly string[]): readonly Attributes[] {
  let found: readonly unknown[] = [document]
  for (const step of path) found = found.flatMap((node) => (isRecord(node) && step in node ? [node[step]].flat() : []))
  return found.map((node) => (isRecord(node) ? attributesOf(node) : {}))
}

function attributesOf(node: Readonly<Record<string, unknown>>): Attributes {
  return Object.fromEntries(
    Object.entries(node).flatMap(([key, value]) => (key.startsWith('@') && typeof value === 'string' ? [[key.slice(1), value]] : [])),
  )
}

import { StringDecoder } from 'node:string_decoder'
import { SaxesParser, type SaxesTagPlain } from 'saxes'
import type { RunError } from '../../errors.ts'
import { isRecord } from '../../unknownValue.ts'
import { fileError } from '../fileError.ts'
import type { FormatContext } from '../formatReader.ts'
import { readRelations } from './relations.ts'
import { attributesAt, readSmallPart, unreadablePartError } from './smallPart.ts'
import type { ZipDirectory } from './zipDirectory.ts'

/** Functions that `parsePart` calls. Names of elements are without their prefixes; names of attributes are unchanged. */
export interface XmlPartHandler {
  open: (name: string, attributes: Readonly<Record<string, string>>) => void
  text: (text: string) => void
  close: (name: string) => void
}

/**
 * Parses one XML part of a workbook strictly. Yields after each chunk, so that the caller can yield rows in between.
 *
 * @throws RunError FILE_MALFORMED, and the errors of `ZipDirectory.read`
 */
export async function* parsePart(archive: ZipDirectory, member: string, handler: XmlPartHandler, name: string): AsyncGenerator<void> {
  const parser = new SaxesParser()
  parser.on('error', () => {
    throw unreadablePartError('is not well-formed XML', name)
  })
  parser.on('doctype', () => {
    throw unreadablePartError('has a document type declaration', name)
  })
  const localName = (tag: SaxesTagPlain) => tag.name.slice(tag.name.indexOf(':') + 1)
  parser.on('opentag', (tag) => handler.open(localName(tag), tag.attributes))
  parser.on('text', (text) => handler.text(text))
  parser.on('cdata', (text) => handler.text(text))
  parser.on('closetag', (tag) => handler.close(localName(tag)))
  const decoder = new StringDecoder('utf8')
  for await (const chunk of archive.read(member)) {
    parser.write(decoder.write(chunk))
    yield
  }
  parser.write(decoder.end()).close()
}

/** Parts of a workbook that are needed to read a sheet. */
export interface WorkbookParts {
  /** Name of the archive member with the requested sheet. */
  readonly sheet: string
  /** Shared texts by number. A cell refers to such a text by its number. */
  readonly strings: readonly string[]
  /** True, by style number, if numbers of that style are dates. */
  readonly dateStyles: readonly boolean[]
  /** True if days are counted from 1904. */
  readonly countsFrom1904: boolean
  /** One note with the names of the sheets if there are several, else empty. */
  readonly notes: readonly string[]
}

/**
 * Reads the parts that a sheet refers to. Keeps the shared texts in memory: most of the text of a workbook. `requested`: name of the sheet;
 * undefined for the first sheet that is not hidden.
 *
 * @throws RunError WRONG_FORMAT if the archive is not a workbook, or if the sheet does not exist
 *
 * @throws RunError FILE_TOO_LARGE if the shared texts are too long
 *
 * @throws RunError FILE_MALFORMED if a part is not readable, or if the sheet has no part
 *
 * @throws RunError the errors of `ZipDirectory.read`
 */
export async function readWorkbookParts(
  archive: ZipDirectory,
  requested: string | undefined,
  { name, limits }: FormatContext,
): Promise<WorkbookParts> {
  const main = (await readRelations(archive, '', name)).byType('officeDocument') ?? 'xl/workbook.xml'
  // The main part of a binary workbook (.xlsb) is not XML.
  if (!archive.has(main) || main.endsWith('.bin')) throw notAWorkbookError(name)
  const workbook = await readSmallPart(archive, main, name)
  // Other documents, such as .docx, have the same kind of archive.
  if (!isRecord(workbook) || !('workbook' in workbook)) throw notAWorkbookError(name)
  const relations = await readRelations(archive, main, name)
  // A chart, dialog or macro sheet has no table.
  const sheets = attributesAt(workbook, 'workbook', 'sheets', 'sheet')
    .map((sheet) => ({ name: sheet['name'] ?? '', id: sheet['id'] ?? '', isHidden: /hidden/i.test(sheet['state'] ?? '') }))
    .filter(({ id }) => ['worksheet', undefined].includes(relations.typeOf(id)))
  const [settings] = attributesAt(workbook, 'workbook', 'workbookPr')
  const sheet =
    requested === undefined
      ? (sheets.find(({ isHidden }) => !isHidden) ?? sheets[0])
      : sheets.find((candidate) => candidate.name === requested)
  if (sheet === undefined) throw missingSheetError(sheets, name)
  const part = relations.byId(sheet.id)
  if (part === undefined || !archive.has(part))
    throw unreadablePartError(`is missing: the one of sheet ${JSON.stringify(sheet.name)}`, name)
  // Some programs write no relationship to these parts, but give them their usual names.
  const strings = relations.byType('sharedStrings') ?? 'xl/sharedStrings.xml'
  const styles = relations.byType('styles') ?? 'xl/styles.xml'
  return {
    sheet: part,
    strings: archive.has(strings) ? await readStrings(archive, strings, { name, limits }) : [],
    dateStyles: archive.has(styles) ? await readDateStyles(archive, styles, name) : [],
    countsFrom1904: settings?.['date1904'] === '1' || settings?.['date1904'] === 'true',
    notes:
      sheets.length < 2
        ? []
        : [`sheet ${JSON.stringify(sheet.name)} of ${sheets.map((candidate) => JSON.stringify(candidate.name)).join(', ')}`],
  }
}

function notAWorkbookError(name: string): RunError {
  return fileError('WRONG_FORMAT', 'the archive is not an Excel workbook', { name, hint: 'Save the file as .xlsx, or as CSV.' })
}

function missingSheetError(sheets: readonly { readonly name: string }[], name: string): RunError {
  if (sheets.length === 0)
    return fileError('WRONG_FORMAT', 'the workbook has no sheet', { name, hint: 'Save the workbook again, or save the sheet as CSV.' })
  return fileError('WRONG_FORMAT', 'the workbook has no sheet of that name', {
    name,
    hint: `Set \`sheet:\` to one of: ${sheets.map((candidate) => candidate.name).join(', ')}.`,
  })
}

/**
 * Decodes the escapes `_xHHHH_` of a text (ECMA-376 part 1, 22.9.2.19). A workbook escapes characters that XML cannot store: a carriage
 * return is `_x000D_`. The literal text `_x000D_` is stored as `_x005F_x000D_`.
 */
export function decodeEscapes(text: string): string {
  if (!text.includes('_x')) return text
  return text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

async function readStrings(archive: ZipDirectory, member: string, { name, limits }: FormatContext): Promise<readonly string[]> {
  const strings: string[] = []
  let length = 0
  let current = ''
  let inText = false
  let inPhonetic = false
  const handler: XmlPartHandler = {
    open: (tag) => {
      if (tag === 'si') current = ''
      else if (tag === 'rPh') inPhonetic = true
      else if (tag === 't') inText = !inPhonetic
    },
    text: (text) => {
      if (!inText) return
      current += text
      length += text.length
      if (length > limits.sharedTextLength)
        throw fileError('FILE_TOO_LARGE', `the texts of the workbook are longer than ${limits.sharedTextLength} characters`, {
          name,
          hint: 'Save the sheet as CSV.',
        })
    },
    close: (tag) => {
      if (tag === 'si') strings.push(decodeEscapes(current))
      else if (tag === 'rPh') inPhonetic = false
      else if (tag === 't') inText = false
    },
  }
  for await (const _ of parsePart(archive, member, handler, name));
  return strings
}

async function readDateStyles(archive: ZipDirectory, member: string, name: string): Promise<readonly boolean[]> {
  const styles = await readSmallPart(archive, member, name)
  const customFormats = new Map(
    attributesAt(styles, 'styleSheet', 'numFmts', 'numFmt').map((format) => [format['numFmtId'] ?? '', format['formatCode'] ?? '']),
  )
  return attributesAt(styles, 'styleSheet', 'cellXfs', 'xf').map((format) => isDateFormat(format['numFmtId'] ?? '0', customFormats))
}

/**
 * Returns true for a built-in date format: 14 to 22, 45 to 47, and for East Asian languages 27 to 36 and 50 to 58 (ECMA-376 part 1,
 * 18.8.30). Also returns true for a custom format with date letters. Letters in quotes and brackets do not count, nor a letter after `\`,
 * `_` or `*`: `_-* #,##0.00\ _D_M_-` is an amount. Some programs give a custom format one of the East Asian numbers. For these numbers the
 * custom format takes precedence.
 */
function isDateFormat(id: string, customFormats: ReadonlyMap<string, string>): boolean {
  const number = Number(id)
  if ((number >= 14 && number <= 22) || (number >= 45 && number <= 47)) return true
  const code = customFormats.get(id)
  if (code === undefined) return (number >= 27 && number <= 36) || (number >= 50 && number <= 58)
  return /[ymdhs]/i.test(code.replaceAll(/"[^"]*"|\[[^[\]]*\]|[\\_*]./g, ''))
}

import { StringDecoder } from 'node:string_decoder'
import { SaxesParser } from 'saxes'
import type { SaxesTagPlain } from 'saxes'
import { fileError } from '../fileError.ts'
import type { ZipDirectory } from './zipDirectory.ts'

export interface XmlPartHandler {
  readonly open?: (name: string, attributes: Readonly<Record<string, string>>) => void
  readonly text?: (text: string) => void
  readonly close?: (name: string) => void
}

/** Parses one XML part of a workbook strictly. A generator, so that rows can be yielded between chunks. */
export async function* parsePart(archive: ZipDirectory, member: string, handler: XmlPartHandler, name: string): AsyncGenerator<void> {
  const parser = new SaxesParser()
  const refuse = (message: string) =>
    fileError('FILE_MALFORMED', `a part of the workbook ${message}`, { name, hint: 'Save the workbook again, or save the sheet as CSV.' })
  parser.on('error', () => {
    throw refuse('is not well-formed XML')
  })
  parser.on('doctype', () => {
    throw refuse('has a document type declaration')
  })
  const { open, text, close } = handler
  const local = (tag: SaxesTagPlain) => tag.name.slice(tag.name.indexOf(':') + 1)
  if (open !== undefined) parser.on('opentag', (tag) => open(local(tag), tag.attributes))
  if (text !== undefined) {
    parser.on('text', text)
    parser.on('cdata', text)
  }
  if (close !== undefined) parser.on('closetag', (tag) => close(local(tag)))
  const decoder = new StringDecoder('utf8')
  for await (const chunk of archive.read(member)) {
    parser.write(decoder.write(chunk))
    yield
  }
  parser.write(decoder.end()).close()
}

export interface WorkbookParts {
  /** Archive member of the requested sheet. */
  readonly sheet: string
  readonly strings: readonly string[]
  /** By style number: true if numbers of that style are dates. */
  readonly dateStyles: readonly boolean[]
  /** True if days are counted from 1904. */
  readonly from1904: boolean
  /** Name of the read sheet, if there are several. */
  readonly notes: readonly string[]
}

/**
 * Reads the parts that a sheet refers to. Keeps the shared strings, which are most of the text of a workbook, in memory.
 *
 * @throws RunError WRONG_FORMAT if the sheet does not exist
 */
export async function readWorkbookParts(archive: ZipDirectory, wanted: string | undefined, name: string): Promise<WorkbookParts> {
  const sheets: { readonly name: string; readonly id: string }[] = []
  const targets = new Map<string, string>()
  let from1904 = false
  await drain(
    parsePart(
      archive,
      'xl/workbook.xml',
      {
        open: (tag, attributes) => {
          if (tag === 'sheet')
            sheets.push({
              name: attributes['name'] ?? '',
              id: attributes['r:id'] ?? Object.entries(attributes).find(([key]) => key.endsWith(':id'))?.[1] ?? '',
            })
          if (tag === 'workbookPr') from1904 = attributes['date1904'] === '1' || attributes['date1904'] === 'true'
        },
      },
      name,
    ),
  )
  await drain(
    parsePart(
      archive,
      'xl/_rels/workbook.xml.rels',
      {
        open: (tag, attributes) => {
          if (tag === 'Relationship') targets.set(attributes['Id'] ?? '', attributes['Target'] ?? '')
        },
      },
      name,
    ),
  )
  const sheet = wanted === undefined ? sheets[0] : sheets.find((candidate) => candidate.name === wanted)
  const target = sheet === undefined ? undefined : targets.get(sheet.id)
  if (target === undefined) {
    throw fileError('WRONG_FORMAT', wanted === undefined ? 'the workbook has no sheet' : 'the workbook has no sheet of that name', {
      name,
      hint: `Set \`sheet:\` to one of: ${sheets.map((candidate) => candidate.name).join(', ')}.`,
    })
  }
  return {
    sheet: target.startsWith('/') ? target.slice(1) : `xl/${target}`,
    strings: archive.has('xl/sharedStrings.xml') ? await readStrings(archive, name) : [],
    dateStyles: archive.has('xl/styles.xml') ? await readDateStyles(archive, name) : [],
    from1904,
    notes:
      sheets.length < 2
        ? []
        : [`sheet ${JSON.stringify(sheet?.name)} of ${sheets.map((candidate) => JSON.stringify(candidate.name)).join(', ')}`],
  }
}

async function readStrings(archive: ZipDirectory, name: string): Promise<readonly string[]> {
  const strings: string[] = []
  let current = ''
  let inText = false
  let inPhonetic = false
  await drain(
    parsePart(
      archive,
      'xl/sharedStrings.xml',
      {
        open: (tag) => {
          if (tag === 'si') current = ''
          else if (tag === 'rPh') inPhonetic = true
          else if (tag === 't') inText = !inPhonetic
        },
        text: (text) => {
          if (inText) current += text
        },
        close: (tag) => {
          if (tag === 'si') strings.push(current)
          else if (tag === 'rPh') inPhonetic = false
          else if (tag === 't') inText = false
        },
      },
      name,
    ),
  )
  return strings
}

async function readDateStyles(archive: ZipDirectory, name: string): Promise<readonly boolean[]> {
  const custom = new Map<string, string>()
  const styles: boolean[] = []
  let inCellFormats = false
  await drain(
    parsePart(
      archive,
      'xl/styles.xml',
      {
        open: (tag, attributes) => {
          if (tag === 'numFmt') custom.set(attributes['numFmtId'] ?? '', attributes['formatCode'] ?? '')
          else if (tag === 'cellXfs') inCellFormats = true
          else if (tag === 'xf' && inCellFormats) styles.push(isDateFormat(attributes['numFmtId'] ?? '0', custom))
        },
        close: (tag) => {
          if (tag === 'cellXfs') inCellFormats = false
        },
      },
      name,
    ),
  )
  return styles
}

/** Built-in date formats are 14 to 22 and 45 to 47 (ECMA-376 part 1, 18.8.30); others by their letters outside quotes and brackets. */
function isDateFormat(id: string, custom: ReadonlyMap<string, string>): boolean {
  const number = Number(id)
  if ((number >= 14 && number <= 22) || (number >= 45 && number <= 47)) return true
  const code = custom.get(id)
  return code !== undefined && /[ymdhs]/i.test(code.replaceAll(/"[^"]*"|\[[^\]]*\]|\\./g, ''))
}

async function drain(part: AsyncGenerator<void>): Promise<void> {
  while ((await part.next()).done !== true);
}

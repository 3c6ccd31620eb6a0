import { zipOf } from './zipOf.ts'

const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

/** A workbook with two sheets; `rows` is the XML inside the first one's sheetData. */
export function workbook(
  rows: string,
  more: {
    readonly strings?: string
    readonly second?: string
    readonly crc?: number
    /** True if no part is compressed. */
    readonly stored?: boolean
    readonly parts?: Readonly<Record<string, string>>
  } = {},
): Buffer {
  const parts = [
    { name: '[Content_Types].xml', content: '<Types/>' },
    {
      name: 'xl/workbook.xml',
      content: `<workbook xmlns:r="${relations}"><sheets><sheet name="Products" sheetId="1" r:id="r1"/><sheet name="Old" sheetId="2" r:id="r2"/></sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      content:
        '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Target="/xl/worksheets/sheet2.xml"/></Relationships>',
    },
    {
      name: 'xl/styles.xml',
      content:
        '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="22"/></cellXfs></styleSheet>',
    },
    {
      name: 'xl/sharedStrings.xml',
      content:
        more.strings ??
        '<sst><si><t>id</t></si><si><t>title</t></si><si><r><t>Blue </t></r><r><t>shirt</t></r><rPh><t>x</t></rPh></si></sst>',
    },
    {
      name: 'xl/worksheets/sheet1.xml',
      content: `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
      ...(more.crc === undefined ? {} : { crc: more.crc }),
    },
    { name: 'xl/worksheets/sheet2.xml', content: `<worksheet><sheetData>${more.second ?? ''}</sheetData></worksheet>` },
  ]
  return zipOf(parts.map((part) => ({ ...part, stored: more.stored === true, content: more.parts?.[part.name] ?? part.content })))
}

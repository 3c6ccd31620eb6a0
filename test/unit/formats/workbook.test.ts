import { describe, expect, test } from 'vitest'
import { cellsOf, read, refusal } from './support.ts'
import { workbook } from './workbookOf.ts'
import { zipOf } from './zipOf.ts'

const header = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="inlineStr"><is><t>since</t></is></c></row>'

describe('Excel workbooks', () => {
  test('texts, numbers, dates, booleans and errors are read as text', async () => {
    const rows = `${header}<row r="3"><c r="A3"><v>00123.50</v></c><c r="B3" t="s"><v>2</v></c><c r="C3" s="1"><v>46082</v></c></row><row r="4"><c r="A4"><v>0.29999999999999999</v></c><c r="B4" t="b"><v>1</v></c><c r="C4" s="3"><v>46082.5</v></c></row><row r="5"><c r="A5" t="str"><f>A1</f><v>00123</v></c><c r="C5" t="e"><v>#N/A</v></c></row>`
    const result = await read(workbook(rows))
    expect(result.detected).toMatchObject({ format: 'xlsx', headerLine: 1 })
    expect(result.rows.map((row) => [row.line, cellsOf(row)])).toEqual([
      [3, { id: '123.5', title: 'Blue shirt', since: '2026-03-01' }],
      [4, { id: '0.3', title: 'true', since: '2026-03-01T12:00:00' }],
      [5, { id: '00123', title: '', since: '#N/A' }],
    ])
    expect(result.end.proof).toBeDefined()
  })
  test('a sheet is read by its name; another name lists the sheets', async () => {
    const bytes = workbook(header, { second: '<row r="1"><c r="A1" t="str"><v>key</v></c></row><row r="2"><c r="A2"><v>7</v></c></row>' })
    const { rows, end } = await read(bytes, { sheet: 'Old' })
    expect([rows.map(cellsOf), end.notes]).toEqual([[{ key: '7' }], ['sheet "Old" of "Products", "Old"']])
    await expect(read(bytes, { sheet: 'New' })).rejects.toMatchObject({
      code: 'WRONG_FORMAT',
      hint: expect.stringContaining('Products, Old'),
    })
  })
  test('parts with prefixes, references and days from 1904 are read', async () => {
    const bytes = workbook(`${header}<row r="2"><c r="A2" s="1"><v>1</v></c></row>`, {
      parts: {
        'xl/workbook.xml':
          '\ufeff<?xml version="1.0"?><x:workbook xmlns:x="urn:x" xmlns:q="urn:q"><x:workbookPr date1904="1"/><x:sheets><x:sheet name="T&#252;r &amp; Tor" sheetId="1" q:id="r1"/></x:sheets></x:workbook>',
        'xl/styles.xml':
          '<x:styleSheet xmlns:x="urn:x"><x:numFmts><x:numFmt numFmtId="170" formatCode="&quot;am&quot; dd.mm."/></x:numFmts><x:cellStyleXfs><x:xf numFmtId="0"/></x:cellStyleXfs><x:cellXfs><x:xf numFmtId="0"/><x:xf numFmtId="170"/></x:cellXfs></x:styleSheet>',
      },
    })
    expect((await read(bytes, { sheet: 'Tür & Tor' })).rows.map(cellsOf)).toEqual([{ id: '1904-01-02', title: '', since: '' }])
    await expect(read(bytes, { sheet: 'Tor' })).rejects.toMatchObject({ hint: expect.stringContaining('Tür & Tor') })
  })
  test.for([
    ['is not well-formed', '<workbook><sheets></workbook>'],
    ['has a document type', '<!DOCTYPE workbook><workbook><sheets/></workbook>'],
    ['reaches into objects', '<workbook><__proto__ name="x"/></workbook>'],
    ['is empty', ''],
  ] as const)('a list of sheets that %s rejects the file', async ([, content]) => {
    expect(await refusal(workbook(header, { parts: { 'xl/workbook.xml': content } }))).toBe('FILE_MALFORMED')
  })
  test('a title row above the table is skipped', async () => {
    const rows =
      '<row r="1"><c r="A1" t="str"><v>My shop</v></c></row><row r="3"><c r="A3" t="str"><v>id</v></c><c r="B3" t="str"><v>title</v></c></row><row r="4"><c r="A4"><v>1</v></c></row>'
    expect((await read(workbook(rows))).rows.map((row) => [row.line, cellsOf(row)])).toEqual([[4, { id: '1', title: '' }]])
  })
  test('cells beside the table reject their row', async () => {
    const rows = `${header}<row r="2"><c r="A2"><v>1</v></c><c r="E2"><v>2</v></c></row>`
    expect((await read(workbook(rows))).rows[0]?.fault?.code).toBe('ROW_RAGGED')
  })
  test('a workbook truncated at any byte is rejected', async () => {
    const bytes = workbook(`${header}<row r="2"><c r="A2"><v>1</v></c></row>`)
    for (let length = 1; length < bytes.length; length += 7) expect(await refusal(bytes.subarray(0, length))).not.toBe('none')
  })
  test('damage, an empty sheet, other archives and old formats are rejected', async () => {
    expect(await refusal(workbook(header, { crc: 7 }))).toBe('FILE_CORRUPT')
    expect(await refusal(workbook(''))).toBe('FILE_EMPTY')
    expect(await refusal(zipOf([{ name: 'a.csv', content: 'id\n1\n' }]), { format: 'xlsx' })).toBe('WRONG_FORMAT')
    expect(await refusal(Buffer.from('d0cf11e0a1b11ae1', 'hex'))).toBe('WRONG_FORMAT')
    expect(await refusal('id\n1\n', { format: 'xlsx' })).toBe('WRONG_FORMAT')
  })
  test('document types, bombs and far columns are rejected', async () => {
    expect(await refusal(workbook(header, { strings: '<!DOCTYPE x [<!ENTITY a "b">]><sst><si><t>&a;</t></si></sst>' }))).toBe(
      'FILE_MALFORMED',
    )
    expect(await refusal(workbook(`${header}<!--${' '.repeat(30_000_000)}-->`))).toBe('FILE_BOMB')
    expect(await refusal(workbook('<row r="1"><c r="ZZZ1"><v>1</v></c></row>'))).toBe('FILE_TOO_MANY_COLUMNS')
  })
  test('a cell whose shared text is missing rejects the file', async () => {
    expect(await refusal(workbook(`${header}<row r="2"><c r="A2" t="s"><v>99</v></c></row>`))).toBe('FILE_MALFORMED')
  })
  test('a part with another name in the directory than in its own header rejects the file', async () => {
    const bytes = workbook(`${header}<row r="2"><c r="A2"><v>1</v></c></row>`)
    bytes[bytes.lastIndexOf('xl/styles.xml')] = 0x79
    expect(await refusal(bytes)).toBe('FILE_CORRUPT')
  })
})

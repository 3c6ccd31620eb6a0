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
  test.for([
    ['9007199254740991', '9007199254740991'],
    ['1166476031668015106', '1166476031668015106'],
    ['1.1664760316680151E+18', '1.1664760316680151E+18'],
    ['1.166476031668015e+18', '1.166476031668015e+18'],
    ['1E+15', '1000000000000000'],
  ] as const)('the number %s gets no other digits', async ([stored, text]) => {
    const { rows } = await read(workbook(`${header}<row r="2"><c r="A2"><v>${stored}</v></c></row>`))
    expect(rows[0]?.cells[0]).toBe(text)
  })
  test.for([
    ['1169.1000000000001', '1169.1'],
    ['23.788099999999996', '23.7881'],
    ['999.90000000000009', '999.9'],
    ['0.15000000000000002', '0.15'],
    ['-0.1', '-0.1'],
    ['19.99', '19.99'],
  ] as const)('the computed number %s has the digits that Excel shows', async ([stored, text]) => {
    const { rows } = await read(workbook(`${header}<row r="2"><c r="A2"><f>B2*0.9</f><v>${stored}</v></c></row>`))
    expect(rows[0]?.cells[0]).toBe(text)
  })
  test.each(['hidden', 'veryHidden'])('a sheet that is %s is read only by its name, or if all are', async (state) => {
    const parts = (...states: readonly string[]) => ({
      'xl/workbook.xml': `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Old" sheetId="2" state="${states[0]}" r:id="r2"/><sheet name="Products" sheetId="1" state="${states[1]}" r:id="r1"/></sheets></workbook>`,
    })
    const rowOf = (value: string) => `${header}<row r="2"><c r="A2"><v>${value}</v></c></row>`
    const ids = async (bytes: Buffer, sheet?: string) =>
      (await read(bytes, sheet === undefined ? {} : { sheet })).rows.map(({ cells }) => cells[0])
    const bytes = workbook(rowOf('7'), { second: rowOf('6'), parts: parts(state, 'visible') })
    expect([await ids(bytes), await ids(bytes, 'Old')]).toEqual([['7'], ['6']])
    expect(await ids(workbook(rowOf('7'), { second: rowOf('6'), parts: parts(state, state) }))).toEqual(['6'])
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
  test.each(['chartsheet', 'dialogsheet', 'xlMacrosheet'])('a %s before the table is not read, and not offered', async (type) => {
    const kind = (name: string) => `Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${name}"`
    const relations = [
      `<Relationship Id="r1" ${kind('worksheet')} Target="worksheets/sheet1.xml"/>`,
      `<Relationship Id="r2" ${kind(type)} Target="worksheets/sheet2.xml"/>`,
    ]
    const names = ['<sheet name="Sales" sheetId="2" r:id="r2"/>', '<sheet name="Products" sheetId="1" r:id="r1"/>']
    const namespace = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    const bytes = workbook(`${header}<row r="2"><c r="A2"><v>7</v></c></row>`, {
      parts: {
        'xl/workbook.xml': `<workbook ${namespace}><sheets>${names.join('')}</sheets></workbook>`,
        'xl/_rels/workbook.xml.rels': `<Relationships>${relations.join('')}</Relationships>`,
        'xl/worksheets/sheet2.xml': '<chartsheet><drawing/></chartsheet>',
      },
    })
    const { rows, end } = await read(bytes)
    expect([rows.map(cellsOf), end.notes]).toEqual([[{ id: '7', title: '', since: '' }], []])
    await expect(read(bytes, { sheet: 'Sales' })).rejects.toMatchObject({ code: 'WRONG_FORMAT', hint: 'Set `sheet:` to one of: Products.' })
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
  test.each(['_-* #,##0.00\\ _D_M_-', '_-* #,##0.00\\ _S_k_-', '#,##0*d'])('an amount with the format %s is not a date', async (code) => {
    const styles = `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="${code}"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs></styleSheet>`
    const bytes = workbook(`${header}<row r="2"><c r="A2" s="1"><v>12.5</v></c></row>`, { parts: { 'xl/styles.xml': styles } })
    expect((await read(bytes)).rows[0]?.cells[0]).toBe('12.5')
  })
  test('a large sheet that is stored without compression is read', async () => {
    const rows = `${header}${'<row><c><v>7</v></c></row>'.repeat(150_000)}`
    expect((await read(workbook(rows, { stored: true }))).rows).toHaveLength(150_000)
  })
  test.for([
    ['is not well-formed', '<workbook><sheets></workbook>'],
    ['has a document type', '<!DOCTYPE workbook><workbook><sheets/></workbook>'],
    ['reaches into objects', '<workbook><__proto__ name="x"/></workbook>'],
    ['is empty', ''],
  ] as const)('a list of sheets that %s rejects the file', async ([, content]) => {
    expect(await refusal(workbook(header, { parts: { 'xl/workbook.xml': content } }))).toBe('FILE_MALFORMED')
  })
  test('escaped characters of shared, inline and computed texts are decoded', async () => {
    // As Excel stores a cell with the line end CR LF, a control character, and a text that looks like an escape.
    const escaped = 'Blue_x000D_\nshirt_x0007_ _x005F_x000D_ _xD83D__xDE00_ a_x12_ _x00zz_'
    const decoded = 'Blue\r\nshirt\u0007 _x000D_ 😀 a_x12_ _x00zz_'
    const rows = `${header}<row r="2"><c r="A2" t="s"><v>2</v></c><c r="B2" t="inlineStr"><is><r><t>${escaped}</t></r></is></c><c r="C2" t="str"><f>A2</f><v>${escaped}</v></c></row>`
    const strings = `<sst><si><t>id</t></si><si><t>title_x005F_x0041_</t></si><si><r><t>${escaped.slice(0, 7)}</t></r><r><t>${escaped.slice(7)}</t></r></si></sst>`
    expect((await read(workbook(rows, { strings }))).rows.map(cellsOf)).toEqual([{ id: decoded, title_x0041_: decoded, since: decoded }])
  })
  test('shared texts and cells are limited while they grow', async () => {
    const limits = { recordBytes: 1_000, sharedTextLength: 1_000 }
    const shared = (texts: number) =>
      `<sst><si><t>id</t></si><si><t>title</t></si>${`<si><t>${'x'.repeat(90)}</t></si>`.repeat(texts)}</sst>`
    expect(await refusal(workbook(header, { strings: shared(11) }), { limits })).toBe('none')
    expect(await refusal(workbook(header, { strings: shared(12) }), { limits })).toBe('FILE_TOO_LARGE')
    const long = `<row r="2"><c r="A2" t="inlineStr"><is>${`<t>${'x'.repeat(600)}</t>`.repeat(2)}`
    // The cell does not end, so only its growth can be limited.
    expect(await refusal(workbook(`${header}${long}`), { limits })).toBe('FILE_RECORD_TOO_LARGE')
  })
  test('a row or cell with a number that is none rejects the file', async () => {
    for (const row of ['<row r="x"><c r="A2"><v>1</v></c></row>', '<row r="2"><c r="7"><v>1</v></c></row>'])
      expect(await refusal(workbook(`${header}${row}`))).toBe('FILE_MALFORMED')
  })
  test.for(['ti_x0000_tle', 'ti_xD83D_tle'])('a column name that Postgres cannot store rejects the file: %s', async (name) => {
    const rows = `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>${name}</t></is></c></row><row r="2"><c r="A2"><v>1</v></c></row>`
    expect(await refusal(workbook(rows))).toBe('FILE_MALFORMED')
  })
  test('readings of shared and inline texts are left out', async () => {
    const rows = `${header}<row r="2"><c r="A2" t="s"><v>2</v></c><c r="B2" t="inlineStr"><is><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh></is></c><c r="C2" t="inlineStr"><is><rPh><t>x</t></rPh><r><t>大阪</t></r></is></c></row>`
    expect((await read(workbook(rows))).rows.map(cellsOf)).toEqual([{ id: 'Blue shirt', title: '東京', since: '大阪' }])
  })
  test('built-in formats of East Asian dates are dates, unless the workbook defines their numbers otherwise', async () => {
    const formats = [27, 36, 50, 58, 26, 37, 49, 59, 51]
    const cells = formats.map((_, at) => `<c r="${'ABCDEFGHI'[at]}2" s="${at}"><v>46082</v></c>`)
    const names = formats.map((id, at) => `<c r="${'ABCDEFGHI'[at]}1" t="str"><v>f${id}</v></c>`)
    const bytes = workbook(`<row r="1">${names.join('')}</row><row r="2">${cells.join('')}</row>`, {
      parts: {
        'xl/styles.xml': `<styleSheet><numFmts><numFmt numFmtId="51" formatCode="0.00"/></numFmts><cellXfs>${formats.map((id) => `<xf numFmtId="${id}"/>`).join('')}</cellXfs></styleSheet>`,
      },
    })
    const date = '2026-03-01'
    const number = '46082'
    expect((await read(bytes)).rows.map(cellsOf)).toEqual([
      { f27: date, f36: date, f50: date, f58: date, f26: number, f37: number, f49: number, f59: number, f51: number },
    ])
  })
  test('a sheet without a part, and a workbook without sheets, are not reported as a wrong name', async () => {
    const parts = (name: string, content: string) => workbook(header, { parts: { [name]: content } })
    const relations = '<Relationships><Relationship Id="r2" Target="worksheets/sheet2.xml"/></Relationships>'
    for (const sheet of [undefined, 'Products'])
      await expect(read(parts('xl/_rels/workbook.xml.rels', relations), sheet === undefined ? {} : { sheet })).rejects.toMatchObject({
        code: 'FILE_MALFORMED',
        message: expect.stringContaining('sheet "Products"') as string,
      })
    for (const sheet of [undefined, 'Products'])
      await expect(
        read(parts('xl/workbook.xml', '<workbook><sheets/></workbook>'), sheet === undefined ? {} : { sheet }),
      ).rejects.toMatchObject({
        code: 'WRONG_FORMAT',
        message: expect.stringContaining('the workbook has no sheet') as string,
        hint: 'Save the workbook again, or save the sheet as CSV.',
      })
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
  test.for([
    [
      'other names',
      {
        main: 'excel/book.xml',
        target: 'excel/book.xml',
        sheet: ['data/first.xml', 'excel/data/first.xml'],
        strings: ['texts.xml', 'excel/texts.xml'],
        styles: ['formats.xml', 'excel/formats.xml'],
      },
    ],
    [
      'absolute targets',
      {
        main: 'xl/workbook2.xml',
        target: '/xl/workbook2.xml',
        sheet: ['/xl/worksheets/sheet.xml', 'xl/worksheets/sheet.xml'],
        strings: ['/xl/sharedStrings2.xml', 'xl/sharedStrings2.xml'],
        styles: ['/xl/styles2.xml', 'xl/styles2.xml'],
      },
    ],
    [
      'targets with steps, encoded or in other case',
      {
        main: 'xl/Workbook.xml',
        target: './xl/workbook.xml',
        sheet: ['../sheets/sheet%201.xml', 'sheets/sheet 1.xml'],
        strings: ['sharedStrings.xml', 'xl/SharedStrings.xml'],
        styles: ['styles\\styles.xml', 'xl\\styles\\styles.xml'],
      },
    ],
  ] as const)('parts with %s are found by their relationships', async ([, { main, target, sheet, strings, styles }]) => {
    for (const base of [
      'http://schemas.openxmlformats.org/officeDocument/2006/relationships',
      'http://purl.oclc.org/ooxml/officeDocument/relationships',
    ]) {
      const relations = (...all: readonly (readonly [id: string, type: string, target: string])[]) =>
        `<Relationships>${all.map(([id, type, to]) => `<Relationship Id="${id}" Type="${base}/${type}" Target="${to}"/>`).join('')}</Relationships>`
      const folderEnd = main.lastIndexOf('/') + 1
      const bytes = zipOf([
        { name: '_rels/.rels', content: relations(['r1', 'extended-properties', 'docProps/app.xml'], ['r2', 'officeDocument', target]) },
        {
          name: main,
          content: `<workbook xmlns:r="${base}" conformance="strict"><sheets><sheet name="Products" sheetId="1" r:id="r1"/></sheets></workbook>`,
        },
        {
          name: `${main.slice(0, folderEnd)}_rels/${main.slice(folderEnd)}.rels`,
          content: relations(['r1', 'worksheet', sheet[0]], ['r2', 'sharedStrings', strings[0]], ['r3', 'styles', styles[0]]),
        },
        {
          name: sheet[1],
          content: `<worksheet><sheetData>${header}<row r="2"><c r="A2" s="1"><v>46082</v></c><c r="B2" t="s"><v>2</v></c></row></sheetData></worksheet>`,
        },
        { name: strings[1], content: '<sst><si><t>id</t></si><si><t>title</t></si><si><t>Cup</t></si></sst>' },
        { name: styles[1], content: '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>' },
        // Parts with the usual names that no relationship has.
        ...(strings[1] === 'xl/SharedStrings.xml' ? [] : [{ name: 'xl/sharedStrings.xml', content: '<sst><si><t>old</t></si></sst>' }]),
      ])
      expect((await read(bytes)).rows.map(cellsOf)).toEqual([{ id: '2026-03-01', title: 'Cup', since: '' }])
    }
  })
  test('documents that are not workbooks are rejected by their main part', async () => {
    const type = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument'
    for (const [part, content] of [
      ['word/document.xml', '<document><body/></document>'],
      ['xl/workbook.bin', '\u0083\u0001'],
      ['xl/missing.xml', undefined],
    ] as const) {
      const relation = `<Relationships><Relationship Id="r1" Type="${type}" Target="${part}"/></Relationships>`
      const bytes = zipOf([{ name: '_rels/.rels', content: relation }, ...(content === undefined ? [] : [{ name: part, content }])])
      expect(await refusal(bytes)).toBe('WRONG_FORMAT')
    }
  })
  test('a sheet outside the archive, or without a member, is reported with its name', async () => {
    for (const attributes of ['Target="https://example.com/sheet.xml" TargetMode="External"', 'Target="worksheets/lost.xml"']) {
      const relations = `<Relationships><Relationship Id="r1" ${attributes}/></Relationships>`
      await expect(read(workbook(header, { parts: { 'xl/_rels/workbook.xml.rels': relations } }))).rejects.toMatchObject({
        code: 'FILE_MALFORMED',
        message: expect.stringContaining('sheet "Products"') as string,
      })
    }
  })
})

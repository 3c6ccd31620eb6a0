import { hash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMapper } from '../../../src/destinations/createMapper.ts'
import { memberKeysOf, packedForms } from '../../../src/mapping/lookupKeys.ts'
import { countKnownColumns, presets, recognizePreset } from '../../../src/mapping/presets/index.ts'
import { normalizeHeader } from '../../../src/mapping/fields.ts'
import type { MemberRecord } from '../../../src/model/record.ts'
import { resolvePipeline } from '../../../src/pipeline/resolve.ts'
import { describeMissingColumn, describeAllMissing } from '../../../src/mapping/boundColumns.ts'

const destination = { kind: 'audience', account_id: '18ce54d4x5t', audience_id: '1nmth' }
const map = {
  key: 'id',
  email: ['email', 'second'],
  phone_number: { column: 'phone', default_country: 'country' },
  partner_user_id: 'loyalty',
  expires_at: 'until',
  effective_at: 'from',
}

const today = new Date('2026-06-15T09:30:00Z')

function pipelineFrom(definition: object) {
  const { pipeline, problems } = resolvePipeline({ source: 'crm.csv', destination, ...definition }, 'crm', 'crm.yaml')
  if (pipeline === undefined) throw new Error(JSON.stringify(problems))
  return pipeline
}

const mapperOf = (definition: object, day = today) => createMapper(pipelineFrom(definition), day)

function mapped(fields: Readonly<Record<string, string>>, definition: object = { map }) {
  const columns = ['id', 'email', 'second', 'phone', 'country', 'loyalty', 'from', 'until', 'consent', 'status', 'name']
  const mapper = mapperOf(definition)
  const row = { line: 3, columns, cells: columns.map((column) => fields[column] ?? '') }
  mapper.bindHeader(columns)
  const { record, reject, warnings, optedOut } = mapper.map(row)
  return {
    record: record as MemberRecord | undefined,
    reject,
    optedOut,
    code: reject?.code,
    codes: warnings.map(({ code }) => code),
    mask: mapper.mask(row),
  }
}

const digest = (text: string) => hash('sha256', text)
const shown = (identifiers: MemberRecord['identifiers'] | undefined) =>
  identifiers?.map((packed) => `${packed[0]} ${packed[0] === 6 ? packed.subarray(1).toString() : packed.subarray(1).toString('hex')}`)
const identifiersOf = (record: MemberRecord | undefined) => shown(record?.identifiers)

test('a phone number in a column of times or consent is masked, and a time is shown', () => {
  const definition = { map: { ...map, expires_at: 'until' }, consent: { column: 'consent', values: ['yes'] } }
  const maskOf = (text: string) => mapped({ id: 'C1', email: 'a@example.com', until: text, consent: text }, definition).mask
  for (const phone of ['0049-17612345678', '0176-12345678', '2012-55501234'])
    for (const cell of maskOf(phone)) expect(cell).not.toContain(phone)
  for (const time of ['2026-03-01', '2026-03-01T12:30:00Z', '2026-03-01 12:30:00.5+02:00', '2026-03-01 10:00:00+00'])
    expect(maskOf(time).filter((cell) => cell === time)).toHaveLength(2)
})

describe('the masked cells of a row', () => {
  const columns = ['id', 'handle', 'phone', 'country', 'until', 'consent']
  const mapper = mapperOf({
    map: { key: 'id', handle: 'handle', phone_number: { column: 'phone', default_country: 'country' }, expires_at: 'until' },
    consent: { column: 'consent', not_values: ['Widerruf', ''] },
  })
  const maskOf = (text: string, code?: string) => {
    const fault = code === undefined ? {} : { fault: { code, message: 'the row has 7 cells, the header 6' } }
    return mapper.mask({ line: 2, columns, cells: columns.map(() => text), ...fault })
  }

  test.for(['55501234', 'jack', 'jane＠example.com', 'Jane Doe', 'uncle_bob', '２０７９４６０１', '00112233445566aa', 'soon'])(
    'never show %j if they may be shifted',
    (text) => {
      for (const cell of maskOf(text, 'ROW_RAGGED')) expect(cell).not.toContain(text)
    },
  )
  test.for([
    ['2026-03-01T12:30:00Z', 3],
    ['yes', 3],
    ['Unsubscribed', 3],
    ['widerruf', 3],
    ['DE', 3],
    ['Germany', 3],
    ['', 6],
  ] as const)('show %j, also if they may be shifted', ([text, count]) => {
    for (const code of ['ROW_RAGGED', undefined]) expect(maskOf(text, code).filter((cell) => cell === text)).toHaveLength(count)
  })
  test('show the cells of a test for phone numbers', () => {
    const { mask } = mapped(
      { id: 'C1', email: 'a@example.com', phone: '+1 202 555 0143', status: 'never' },
      { map, consent: { column: 'status', not_values: ['never'], for: 'phone_number' } },
    )
    expect(mask).toContain('never')
  })
  test('show a text that is no contact if they are not shifted', () => {
    for (const code of [undefined, 'JOIN_ROW_MISSING']) expect(maskOf('soon', code).slice(3)).toEqual(['soon', 'soon', 'soon'])
  })
  test.for(['jane＠example.com', 'jane%40example.com', '＋４９１７０５５５０１００', '٠١٧٠٥٥٥٠١٠٠'])('never show %j', (text) => {
    for (const cell of maskOf(text)) expect(cell).not.toContain(text)
  })
})

test.for([
  ['column', 'uk', '020 7946 0958', '+442079460958'],
  ['column', 'EL', '21 2345 6789', '+302123456789'],
  ['constant', 'UK', '020 7946 0958', '+442079460958'],
  ['constant', 'Germany', '030 901820', '+4930901820'],
] as const)('the country of a phone number may have another code or a name (%s %s)', ([from, country, phone, sent]) => {
  const definition = { map: { key: 'id', phone_number: { column: 'phone', default_country: from === 'column' ? 'country' : country } } }
  expect(identifiersOf(mapped({ id: 'C1', phone, country }, definition).record)).toEqual([`5 ${digest(sent)}`])
})

test('a constant that is not a country is noted as a missing column', () => {
  const mapper = mapperOf({ map: { key: 'id', phone_number: { column: 'phone', default_country: 'XX' } } })
  expect(mapper.bindHeader(['id', 'phone']).map(({ field }) => field)).toContain('phone_number.default_country')
})

test('a row becomes its packed identifiers, sorted and without duplicates, under the hash of its key', () => {
  const { record, codes } = mapped({
    id: 'C1',
    email: ' Foo@Example.COM ',
    second: 'foo@example.com',
    phone: '(202) 555-0143',
    country: 'us',
    loyalty: 'L-1',
  })
  expect(record?.key).toEqual(Buffer.from(digest('C1'), 'hex').subarray(0, 16))
  expect(identifiersOf(record)).toEqual([`1 ${digest('foo@example.com')}`, `5 ${digest('+12025550143')}`, '6 L-1'])
  expect(codes).toEqual([])
})

test('spellings of one email are one key if the email is the key', () => {
  const later = { map: { key: 'second', email: ['email', 'second'] } }
  expect(mapped({ email: 'home@example.com', second: 'Jane@Example.com' }, later).record?.key).toEqual(
    mapped({ email: 'other@example.com', second: 'jane@example.com ' }, later).record?.key,
  )
  expect(mapped({ email: 'home@example.com', second: 'not an address' }, later).record?.key).toEqual(
    Buffer.from(digest('home@example.com'), 'hex').subarray(0, 16),
  )
  const keyed = { map: { key: 'email', email: 'email' } }
  const keys = [' Foo@Example.COM ', 'foo@example.com', '\u200bfoo@EXAMPLE.com'].map((email) => mapped({ email }, keyed).record?.key)
  expect(new Set(keys.map((key) => Buffer.from(key ?? []).toString('hex'))).size).toBe(1)
  expect(memberKeysOf('FOO@example.com', pipelineFrom(keyed)).some((key) => key.equals(keys[0] ?? Buffer.of()))).toBe(true)
})

describe('without a key column, the key of a customer match list', () => {
  const columns = ['Email', 'Phone', 'First Name', 'Last Name', 'Country', 'Zip', 'Mobile Device ID']
  const keyOf = (Email: string, Phone: string, device = '') => {
    const { record, reject } = mapperOf({ preset: 'google-customer-match' }).map({
      line: 2,
      columns,
      cells: [Email, Phone, 'Jane', 'Doe', 'US', '10001', device],
    })
    return reject?.code ?? Buffer.from(record?.key ?? []).toString('hex')
  }
  const keyFrom = (text: string) => digest(text).slice(0, 32)

  test('is the normalized email, if it is valid', () => {
    expect(keyOf('Jane@Example.com', '+12025550143')).toBe(keyFrom('jane@example.com'))
  })

  test.for(['', 'n/a', 'Not given', 'jane@@example.com'])('is the normalized phone number, if the email is %j', (email) => {
    for (const phone of ['+1 202-555-0143', '+12025550143', '(202) 555-0143']) expect(keyOf(email, phone)).toBe(keyFrom('+12025550143'))
    expect(keyOf(email, '+12025550144')).toBe(keyFrom('+12025550144'))
  })

  test('is the device id, if neither email nor phone number is valid', () => {
    const device = '6D92078A-8246-4BA4-AE5B-76104861E7DC'
    expect(keyOf('n/a', '12', device)).toBe(keyFrom(device.toLowerCase()))
  })

  test('is missing without a usable identifier', () => {
    expect(keyOf('n/a', '')).toBe('KEY_MISSING')
  })
})

test.for([
  ['handle', '@Jack', 'jack'],
  ['device_id', '6D92078A-8246-4BA4-AE5B-76104861E7DC', '6d92078a-8246-4ba4-ae5b-76104861e7dc'],
  ['service_id', "'00123", '00123'],
  ['email', digest('foo@example.com').toUpperCase(), digest('foo@example.com')],
] as const)('a row whose key is its %s is found by each spelling', ([kind, asked, stored]) => {
  const pipeline = { map: { key: 'Name', [kind]: 'name' } }
  const key = mapped({ name: stored }, pipeline).record?.key
  expect(mapped({ name: asked }, pipeline).record?.key).toEqual(key)
  expect(memberKeysOf(asked, pipelineFrom(pipeline)).some((one) => one.equals(key ?? Buffer.of()))).toBe(true)
})

describe('a row whose key is an identifier of the second key column', () => {
  test.for([
    ['2025550143', '+12025550143', { phone_number: { column: 'name', default_country: 'US' } }],
    ['+1 202 555 0143', '+12025550143', { phone_number: { column: 'name', default_country: 'country' } }],
    ['@JaneDoe', 'janedoe', { handle: 'name' }],
  ] as const)('is found by %s', ([asked, normalized, identifier]) => {
    const pipeline = { map: { key: ['email', 'name'], email: 'email', ...identifier } }
    const { record } = mapped({ name: asked }, pipeline)
    expect(record?.key).toEqual(Buffer.from(digest(normalized), 'hex').subarray(0, 16))
    expect(memberKeysOf(asked, pipelineFrom(pipeline)).some((one) => one.equals(record?.key ?? Buffer.of()))).toBe(true)
    expect(memberKeysOf(asked, pipelineFrom(pipeline)).some((one) => one.equals(Buffer.from(digest(asked), 'hex').subarray(0, 16)))).toBe(
      true,
    )
  })

  test.for([{ preset: 'google-customer-match' }, {}])('is found if the key is that of the preset: %j', (pipeline) => {
    const device = "'6D92078A-8246-4BA4-AE5B-76104861E7DC"
    const columns = ['Email', 'Phone', 'First Name', 'Last Name', 'Country', 'Zip', 'Mobile Device ID']
    const { record } = mapperOf(pipeline).map({ line: 2, columns, cells: ['', '', 'Jane', 'Doe', 'US', '10001', device] })
    const key = Buffer.from((record as MemberRecord | undefined)?.key ?? [])
    expect(key).toHaveLength(16)
    expect(memberKeysOf(device, pipelineFrom(pipeline)).some((one) => one.equals(key))).toBe(true)
  })
})

test('a row whose key is an unusable email is found by the text as it is written', () => {
  const pipeline = { map: { key: 'email', email: 'email', phone_number: 'phone' } }
  const { record } = mapped({ email: 'Jane AT example.com', phone: '+12025550143' }, pipeline)
  const keys = memberKeysOf('Jane AT example.com', pipelineFrom(pipeline))
  expect(keys.some((one) => one.equals(record?.key ?? Buffer.of()))).toBe(true)
})

test('a row of JSON without its key is rejected, before the first row with a key as after it', () => {
  const mapper = mapperOf({ map: { key: 'id', email: 'email' } })
  const codeOf = (columns: readonly string[], cells: readonly string[]) => mapper.map({ line: 1, columns, cells }).reject?.code
  expect(codeOf(['email'], ['jane@example.com'])).toBe('KEY_MISSING')
  expect(codeOf(['email', 'id'], ['jane@example.com', ''])).toBe('KEY_MISSING')
  const list = mapperOf({ destination: { kind: 'do-not-reach', account_id: '18ce54d4x5t', list_id: '2dnr' }, map: { email: 'email' } })
  expect(list.map({ line: 1, columns: ['email'], cells: ['jane@example.com'] }).record).toBeDefined()
})

test('a key in another column than the handle is found only as it is written', () => {
  const pipeline = { map: { key: 'id', handle: 'name' } }
  const other = mapped({ id: 'jack', name: 'jack' }, pipeline).record?.key
  expect(memberKeysOf('Jack', pipelineFrom(pipeline)).some((one) => one.equals(other ?? Buffer.of()))).toBe(false)
})

test.for([
  ['a function', { column: 'email', compute: ({ email }: Readonly<Record<string, string>>) => `shop1-${email}` }, 'shop1-jane@example.com'],
  ['a constant', { column: 'email', const: 'shop1' }, 'shop1'],
  ['a transform', { column: 'email', transform: { prefix: 'shop1-' } }, 'shop1-jane@example.com'],
] as const)('the result of %s is the key, also if its column is an identifier', ([, key, text]) => {
  const { record } = mapped({ email: 'jane@example.com' }, { map: { key, email: 'email' } })
  expect(record?.key).toEqual(Buffer.from(digest(text), 'hex').subarray(0, 16))
})

test.for([
  ['an address of two forms', { email: 'Jane@BÜCHER.example' }, 'jane@xn--bcher-kva.example', []],
  ['a number of two forms', { phone: '+1 (202) 555-0143' }, '+12025550143', ['both_phone_forms']],
  ['a number of one form', { phone: '+12025550143' }, '+1 202 555 0143', []],
] as const)('a row of a list without keys is found by %s, and by its sent identifiers', ([, fields, asked, allow]) => {
  const list = {
    destination: { kind: 'do-not-reach', account_id: '18ce54d4x5t', list_id: '2dnr' },
    map: { email: 'email', phone_number: 'phone' },
    options: { allow },
  }
  const record = mapped(fields, list).record
  expect(memberKeysOf(asked, pipelineFrom(list)).some((key) => key.equals(record?.key ?? Buffer.of()))).toBe(true)
  const forms = (['email', 'phone_number'] as const).flatMap((kind) => packedForms(kind, asked).map((one) => one.toString('hex')))
  expect(record?.identifiers.length).toBeGreaterThan(0)
  for (const identifier of record?.identifiers ?? []) expect(forms).toContain(identifier.toString('hex'))
})

describe('rejected rows', () => {
  test.for<[row: number, fields: Readonly<Record<string, string>>, code: string]>([
    [100, { id: '1' }, 'NO_IDENTIFIER'],
    [102, { id: '1', email: 'N/A', phone: '-' }, 'NO_IDENTIFIER'],
    [197, { id: '1', phone: '+' }, 'NO_IDENTIFIER'],
    [197, { id: '1', phone: '+49' }, 'NO_IDENTIFIER'],
    [104, { id: '1', email: 'jane.example.com' }, 'EMAIL_INVALID'],
    [112, { id: '1', phone: 'jane@example.com' }, 'PHONE_INVALID'],
    [120, { id: '1', phone: '202-555-0143' }, 'PHONE_COUNTRY_MISSING'],
    [126, { id: '1', loyalty: 'jane@example.com' }, 'PARTNER_ID_PERSONAL'],
    [118, { id: '1', email: digest('') }, 'HASH_OF_PLACEHOLDER'],
    [118, { id: '1', email: digest('test@test.com') }, 'HASH_OF_PLACEHOLDER'],
    [118, { id: '1', email: digest('null').toUpperCase() }, 'HASH_OF_PLACEHOLDER'],
    [115, { id: '1', email: 'd'.repeat(32) }, 'EMAIL_INVALID'],
    [128, { id: '1', email: 'a@b.example', from: '2026-02-01', until: '2026-01-01' }, 'TIMES_CONTRADICT'],
    [128, { id: '1', email: 'a@b.example', until: '2026-02-01T10:00' }, 'EXPIRES_AT_INVALID'],
    [56, { email: 'a@b.example' }, 'KEY_MISSING'],
  ])('row %i: %j is %s', ([, fields, code]) => expect(mapped(fields).code).toBe(code))

  test('more than fifty identifiers', () => {
    const list = Array.from({ length: 51 }, (_, i) => `p${i}@example.com`).join(',')
    expect(mapped({ id: '1', email: list }, { map: { key: 'id', email: { column: 'email', transform: { split: ',' } } } }).code).toBe(
      'TOO_MANY_IDENTIFIERS',
    )
  })
})

test('a row without a key whose identifiers lack consent opts them out; without identifiers it is rejected', () => {
  const definition = { map, consent: { column: 'consent', values: ['yes'], for: 'phone_number' } }
  const row = { phone: '(202) 555-0143', country: 'us', consent: 'no' }
  expect(mapped(row, definition)).toMatchObject({ record: { desired: false, identifiers: [expect.anything()] } })
  expect(mapped({ consent: 'no' }, definition).reject?.more).toMatchObject([
    { code: 'NO_IDENTIFIER', message: 'email is empty, and so is every other identifier' },
  ])
})

describe('a rejected row opts out the identifiers that lack consent', () => {
  const bySms = { column: 'consent', values: ['yes'], for: 'phone_number' }
  const byRow = { column: 'consent', values: ['yes'] }
  const failing = { date: { form: 'DD.MM.YYYY' } }
  const keyed = { ...map, key: { column: 'id', transform: failing } }
  const ending = { ...map, expires_at: { column: 'until', transform: failing } }
  const listed = { ...map, email: { column: 'email', transform: { split: ',' } } }
  const many = Array.from({ length: 51 }, (_, i) => `p${i}@example.com`)
  const email = `1 ${digest('a@b.example')}`
  const phone = `5 ${digest('+12025550143')}`
  const person = { id: '1', email: 'a@b.example', phone: '+12025550143', consent: 'no' }

  test.for<[code: string, fields: Readonly<Record<string, string>>, definition: object, optedOut: readonly string[]]>([
    ['KEY_MISSING', { ...person, id: '' }, { map, consent: bySms }, [phone]],
    ['EXPIRES_AT_INVALID', { ...person, until: 'soon' }, { map, consent: bySms }, [phone]],
    ['TIMES_CONTRADICT', { ...person, from: '2026-02-01', until: '2026-01-01' }, { map, consent: bySms }, [phone]],
    ['TOO_MANY_IDENTIFIERS', { ...person, email: many.join(',') }, { map: listed, consent: bySms }, [phone]],
    ['TRANSFORM_FAILED', person, { map: keyed, consent: bySms }, [phone]],
    ['TRANSFORM_FAILED', person, { map: keyed, consent: byRow }, [email, phone]],
    ['TRANSFORM_FAILED', { ...person, until: 'soon' }, { map: ending, consent: bySms }, [phone]],
  ])('%s of %j by %j', ([code, fields, definition, optedOut]) => {
    const row = mapped(fields, definition)
    expect(row).toMatchObject({ code, record: undefined })
    expect(shown(row.optedOut)).toEqual(optedOut)
    expect(mapped({ ...fields, consent: 'yes' }, definition)).toMatchObject({ code, optedOut: undefined })
  })

  test('also if the joined file has no row of its id, by the cells that it has', () => {
    const rowOf = (consent: string | undefined, unjoined: readonly number[] = []) => ({
      line: 2,
      columns: ['id', 'email', 'consent'],
      cells: ['1', 'a@b.example', consent],
      fault: { code: 'JOIN_ROW_MISSING', message: 'the joined file has no row of this id', field: 'id', unjoined },
    })
    for (const [filters, kind] of [
      [{}, 'reject'],
      [{ only: { id: '2' } }, 'filtered'],
    ] as const) {
      const mapper = mapperOf({ map: { key: 'id', email: 'email' }, consent: byRow, ...filters })
      expect(mapper.map(rowOf('no'))).toHaveProperty(kind)
      expect(shown(mapper.map(rowOf('no')).optedOut)).toEqual([email])
      // Without a key, the record is not kept as it was.
      expect(mapper.map(rowOf('no')).reject?.key).toBeUndefined()
      expect(mapper.map(rowOf('yes')).optedOut).toBeUndefined()
      expect(mapper.map(rowOf('yes')).reject?.key === undefined).toBe(kind === 'filtered')
      // The column is in the joined file.
      expect(mapper.map(rowOf(undefined, [2])).optedOut).toBeUndefined()
      expect(mapper.map(rowOf(undefined, [2])).reject?.key === undefined).toBe(kind === 'filtered')
      // The column is in the main file, but the JSON object of the row lacks the key.
      expect(shown(mapper.map(rowOf(undefined)).optedOut)).toEqual([email])
    }
  })
})

test.for([
  ['A@b.example; second@b.example', ['a@b.example', 'second@b.example']],
  ['Doe, Jane <a@b.example>', ['a@b.example']],
  ['mailto:a@b.example', ['a@b.example']],
  ['jane@bücher.example', ['jane@bücher.example', 'jane@xn--bcher-kva.example']],
  ['jane@xn--bcher-kva.example', ['jane@bücher.example', 'jane@xn--bcher-kva.example']],
] as const)('a no holds for every address in %s, although the cell or its other form would not be sent', ([email, addresses]) => {
  const digests = addresses.map((address) => `1 ${digest(address)}`).toSorted()
  const row = { id: '1', email, consent: 'no' }
  for (const hashed of [false, true]) {
    const emailOnly = { ...map, email: { column: 'email', hashed } }
    const { record } = mapped(row, { map: emailOnly, consent: { column: 'consent', values: ['yes'] } })
    expect(record).toMatchObject({ desired: false })
    expect(identifiersOf(record)).toEqual(digests)
    const filtered = { map: emailOnly, consent: { column: 'consent', values: ['yes'], for: 'email' }, only: { status: 'none' } }
    expect(shown(mapped(row, filtered).optedOut)).toEqual(digests)
  }
})

describe('a row without consent opts out what can be read in an invalid cell', () => {
  const settings = { map, consent: { column: 'consent', values: ['yes'] } }
  const optedOutBy = (fields: Readonly<Record<string, string>>) =>
    identifiersOf(mapped({ id: '1', country: 'DE', ...fields, consent: 'no' }, settings).record)
  const two = [`1 ${digest('a@x.example')}`, `1 ${digest('b@x.example')}`]

  test.for([
    'a@x.example\nb@x.example',
    'a@x.example b@x.example',
    'a@x.example / b@x.example',
    'a@x.example/b@x.example',
    'a@x.example (old) b@x.example.',
    'a@x.example <b@x.example>',
    '"a@x.example", \'b@x.example\'',
    'work:a@x.example home=b@x.example',
    'a＠x.example\u3000b\u200b@x.example',
    'a%40x.example and mailto:b@x.example?subject=hi',
    "o'brien@x.example a@x.example/b@x.example",
    'a@b@x.example a@x.example',
  ])('two emails in %j', (email) => {
    expect(optedOutBy({ email })).toEqual(expect.arrayContaining(two))
  })

  test.for(['\u200ea@x.example', '\u202aa@x.example\u202c', 'a\u00ad@x.example', 'a@x\u00ad.example', '\u{e0061}a@x.example'])(
    'the address that a reader sees in %j',
    (email) => expect(optedOutBy({ email })).toEqual([`1 ${digest('a@x.example')}`]),
  )

  test.for([
    'a @ x.example',
    'a@ x.example',
    'a@x .example',
    'a(at)x.example',
    'A [AT] X [DOT] EXAMPLE',
    'a at x dot example',
    'a (a) x.example',
    'a&#64;x.example',
    'a@@x.example',
    'a@x..example',
    'a@x,example',
    'a@x。example',
    '"Jane" <a @ x.example>',
    'Jane: a(at)x.example (old)',
    "'a@x.example",
    '=a@x.example',
  ])('the address that %j spells', (email) => expect(optedOutBy({ email })).toContain(`1 ${digest('a@x.example')}`))

  test('only the email, if the cell is a valid one', () => {
    expect(optedOutBy({ email: "jane-o'brien@x.example" })).toEqual([`1 ${digest("jane-o'brien@x.example")}`])
  })

  test.for([
    '0170 5550100 / 0171 5550101',
    '0170 5550100/0171 5550101',
    '0170 5550100\n0171 5550101',
    '0170 5550100 0171 5550101',
    '0170/5550100 - 0171/5550101',
    'privat (0170) 5550100 oder 0171-5550101 (alt)',
    '+49 (0)170 5550100 (privat), Tel. 00491715550101',
    '(+49) 170 55 50 100+491715550101',
    '٠١٧٠ ٥٥٥٠١٠٠ / ０１７１‐５５５０１０１',
  ])('two phone numbers in %j', (phone) => {
    const numbers = [`5 ${digest('+491705550100')}`, `5 ${digest('+491715550101')}`]
    expect(optedOutBy({ phone })).toEqual(expect.arrayContaining(numbers))
  })

  test.for([
    { phone: '0012025550143', country: 'US' },
    { phone: '001 202-555-0143', country: 'US' },
    { phone: '011 1 202-555-0143', country: 'DE' },
    { phone: '0012025550143', country: '' },
    { phone: '12025550143', country: '' },
    { phone: '1 (202) 555-0143 (old)', country: '' },
  ])('the number that a prefix of another country, or none, hides: %j', (fields) => {
    expect(optedOutBy(fields)).toContain(`5 ${digest('+12025550143')}`)
  })

  test.for([{ email: 'Jane a@x.example (0170 5550100)' }, { phone: '0170 5550100, a@x.example' }])(
    'an email and a phone number in one cell: %j',
    (fields) => {
      expect(optedOutBy(fields)).toEqual([two[0], `5 ${digest('+491705550100')}`])
    },
  )

  const addresses = fc.constantFrom('a@x.example', "O'Brien@x.example", 'jané.d@bücher.example', 'j+1@xn--bcher-kva.example')
  const numbers = fc.constantFrom('0170 5550100', '+1 (202) 555-0143', '0049 171/5550101', '+44 (0)20 7946 0958', '06 12 34 56 78')
  const values = fc.oneof(addresses, numbers)
  const separators = fc.constantFrom(' ', '\n', ', ', ';', ' / ', '/', ' und ', ' <', '> ', ' (alt) ', '\u3000', ' | ')

  test('and everything that the same cells would send with consent, for any texts', () => {
    const cells = fc.oneof(
      values,
      addresses.map(digest),
      fc.string({ unit: 'grapheme' }),
      fc.emailAddress(),
      fc.stringMatching(/^[+0]?[\d ()/.-]{5,20}$/),
    )
    fc.assert(
      fc.property(cells, cells, fc.boolean(), fc.boolean(), (email, phone, hashed, splits) => {
        const definition = {
          map: { key: 'id', email: { column: 'email', hashed }, phone_number: { column: 'phone', default_country: 'DE' } },
          consent: settings.consent,
          options: { allow: splits ? ['split_lists'] : [] },
        }
        const row = { id: '1', email, phone }
        const sent = identifiersOf(mapped({ ...row, consent: 'yes' }, definition).record) ?? []
        expect(identifiersOf(mapped({ ...row, consent: 'no' }, definition).record)).toEqual(expect.arrayContaining(sent))
      }),
    )
  })

  test('and each value of a list that would be sent alone, for any separators', () => {
    const sentAlone = (fields: Readonly<Record<string, string>>) =>
      identifiersOf(mapped({ id: '1', country: 'DE', ...fields, consent: 'yes' }, settings).record) ?? []
    fc.assert(
      fc.property(values, values, separators, fc.constantFrom('', '(', '"', ' - '), (first, second, separator, before) => {
        const text = `${before}${first}${separator}${second}`
        const alone = [first, second].flatMap((one) => [...sentAlone({ email: one }), ...sentAlone({ phone: one })])
        expect(optedOutBy({ email: text })).toEqual(expect.arrayContaining(alone))
        expect(optedOutBy({ phone: text })).toEqual(expect.arrayContaining(alone))
      }),
    )
  })
})

test('a no holds for every phone number in a cell, although a cell with several is not valid', () => {
  const definition = { map, consent: { column: 'consent', values: ['yes'] } }
  const { record } = mapped({ id: '1', phone: '(202) 555-0143; +1 202 555 0144', country: 'US', consent: 'no' }, definition)
  const digests = ['+12025550143', '+12025550144'].map((phone) => `5 ${digest(phone)}`)
  expect(identifiersOf(record)).toEqual(digests.toSorted())
})

describe('a row that opts out a hashed column', () => {
  const consent = { column: 'consent', values: ['yes'] }
  const optedOutBy = (map: object, fields: Readonly<Record<string, string>>) =>
    identifiersOf(mapped({ id: '1', ...fields, consent: 'no' }, { map: { key: 'id', ...map }, consent }).record)
  const email = { email: { column: 'email', hashed: true } }
  const phone = { phone_number: { column: 'phone', hashed: true, default_country: 'US' } }
  const hex = digest('jane@example.com')

  test.for<[map: object, fields: Readonly<Record<string, string>>, identifiers: readonly string[]]>([
    [email, { email: 'jane@example.com' }, [`1 ${hex}`]],
    [email, { email: 'Jane@Example.com; ann@example.com' }, [`1 ${hex}`, `1 ${digest('ann@example.com')}`]],
    [phone, { phone: '(202) 555-0143' }, [`5 ${digest('+12025550143')}`]],
    [phone, { phone: '+1 202 555 0143' }, [`5 ${digest('+12025550143')}`]],
    [{ handle: { column: 'loyalty', hashed: true } }, { loyalty: '@Jack' }, [`3 ${digest('jack')}`]],
    [{ ...email, ...phone }, { phone: 'jane@example.com' }, [`1 ${hex}`]],
  ])('opts out the raw value too: %j, %j', ([settings, fields, identifiers]) => {
    expect(optedOutBy(settings, fields)).toEqual(identifiers.toSorted())
  })

  test.for([`0x${hex}/0x${digest('ann@example.com')}`, `sha256:${hex}`, Buffer.from(hex, 'hex').toString('base64'), `${hex} (old)`])(
    'opts out the digests in %s, whatever the settings are',
    (text) => {
      for (const hashed of [true, false]) expect(optedOutBy({ email: { column: 'email', hashed } }, { email: text })).toContain(`1 ${hex}`)
    },
  )

  test('opts out no digest of a placeholder', () => {
    expect(optedOutBy(email, { email: digest('n/a') })).toEqual([])
    expect(optedOutBy(email, { email: 'test@test.com' })).toEqual([])
  })
})

describe('a row without consent opts out the id that a reader sees', () => {
  const uuid = 'aebe52e7-03ee-455a-b3c4-e57283966239'
  const optedOutBy = (type: 'device_id' | 'handle' | 'service_id', id: string) =>
    identifiersOf(
      mapped(
        { id: '1', loyalty: id, consent: 'no' },
        { map: { key: 'id', [type]: 'loyalty' }, consent: { column: 'consent', values: ['yes'] } },
      ).record,
    )

  test.for([
    `{${uuid.toUpperCase()}}`,
    uuid.replaceAll('-', ''),
    `idfa:${uuid}`,
    `${uuid} (old)`,
    `38400000-8cf0-11bd-b23e-10b96e40000d / ${uuid}`,
    `${uuid}\n0123456789abcdef`,
    uuid.replaceAll('-', '\u2013'),
  ])('of a device: %j', (id) => expect(optedOutBy('device_id', id)).toContain(`2 ${digest(uuid)}`))

  test.for([
    'https://social.example/Jack',
    'social.example/jack/?lang=en#top',
    '\uff20Jack',
    '@@jack',
    '@jack (private)',
    '@jill @jack',
    '@jill\n@jack',
    'jill; jack',
    '"jack"',
    '\u2019jack',
    '(jack), jill.',
    'jack (Jack D.)',
    'Jack D. (jack)',
    'jill (old), jack (new)',
  ])('as a handle: %j', (id) => expect(optedOutBy('handle', id)).toContain(`3 ${digest('jack')}`))

  test.for(['1001.0', '#1001', '1002; 1001', '1001\n1002', '1002 1001', '1001 / 1002', '1001 (before: 1002)', '1002\t1001.0'])(
    'as a service id: %j',
    (id) => expect(optedOutBy('service_id', id)).toContain(`4 ${digest('1001')}`),
  )

  test('and no other', () => {
    expect(optedOutBy('handle', 'jack@social.example')).toEqual([])
    expect(optedOutBy('handle', 'jack\u00e9')).toEqual([])
    expect(optedOutBy('device_id', `${uuid}0`)).toEqual([])
    expect(optedOutBy('device_id', '00000000-0000-0000-0000-000000000000')).toEqual([])
    expect(optedOutBy('service_id', 'none at all')).toEqual([])
    expect(optedOutBy('service_id', '1 001 002')).toEqual([])
    expect(optedOutBy('handle', 'not at all')).toEqual([])
  })

  test.for([
    ['service_id', `1${'x'.repeat(130_000)}1`],
    ['service_id', `1${'.0'.repeat(65_000)}x1`],
    ['handle', `${'x'.repeat(130_000)}//`],
    ['handle', `@${'@x '.repeat(43_000)}?`],
    ['device_id', 'aebe52e7-03ee-455a-'.repeat(6_000)],
  ] as const)('in linear time: %s', { timeout: 10_000 }, ([type, text]) => {
    optedOutBy(type, text)
  })
})

test.for(['+1_202_555_0143', '+1*202*555*0143', '+1%20202%20555%200143', '+1&nbsp;202&nbsp;555&nbsp;0143'])(
  'a row without consent opts out the phone number that %j spells',
  (phone) => {
    const { record } = mapped({ id: '1', phone, country: '', consent: 'no' }, { map, consent: { column: 'consent', values: ['yes'] } })
    expect(identifiersOf(record)).toContain(`5 ${digest('+12025550143')}`)
  },
)

test('a number before _ is opted out, although the digits after it could be a part of it', () => {
  const { record } = mapped(
    { id: '1', phone: '+4930555010_0', country: '', consent: 'no' },
    { map, consent: { column: 'consent', values: ['yes'] } },
  )
  expect(identifiersOf(record)).toEqual(expect.arrayContaining([`5 ${digest('+4930555010')}`, `5 ${digest('+49305550100')}`]))
})

test.for([
  ['491712345678', 'DE', ['+491712345678', '+49491712345678']],
  ['49 171 2345678', '', ['+491712345678']],
  ['0049 171 2345678', '', ['+491712345678']],
  ['011 49 171 2345678', '', ['+491712345678']],
] as const)('a row without consent opts out %s (%s) as every number that it may be', ([phone, country, numbers]) => {
  const { record } = mapped({ id: '1', phone, country, consent: 'no' }, { map, consent: { column: 'consent', values: ['yes'] } })
  expect(identifiersOf(record)).toEqual(numbers.map((number) => `5 ${digest(number)}`).toSorted())
})

test('a do-not-reach list has both numbers of a phone number that may be national or international', () => {
  const list = {
    map: { phone_number: { column: 'phone', default_country: 'DE' } },
    destination: { kind: 'do-not-reach', account_id: 'a', list_id: 'b' },
  }
  const numbers = ['+491712345678', '+49491712345678']
  expect(identifiersOf(mapped({ phone: '491712345678' }, list).record)).toEqual(numbers.map((number) => `5 ${digest(number)}`).toSorted())
})

test('a row without consent opts out every identifier, even if it has too many for a person', () => {
  const definition = {
    map: { key: 'id', email: { column: 'email', transform: { split: ',' } } },
    consent: { column: 'consent', values: ['yes'] },
  }
  const list = Array.from({ length: 120 }, (_, i) => `p${i}@example.com`).join(',')
  expect(mapped({ id: '1', email: list, consent: 'no' }, definition).record).toMatchObject({ desired: false, identifiers: { length: 120 } })
})

test('one bad identifier of several is dropped with a warning that does not repeat it', () => {
  const { record, codes, reject } = mapped({ id: '1', email: 'canary-person@', second: 'ok@example.com' })
  expect(identifiersOf(record)).toEqual([`1 ${digest('ok@example.com')}`])
  expect(codes).toEqual(['IDENTIFIER_DROPPED'])
  expect(reject).toBeUndefined()
})

describe('hashed input', () => {
  const hashed = { map: { key: 'id', email: { column: 'email', hashed: true } } }
  const hex = digest('foo@example.com')

  test('a digest is never hashed again, with or without a declaration', () => {
    expect(identifiersOf(mapped({ id: '1', email: hex }, hashed).record)).toEqual([`1 ${hex}`])
    const raw = mapped({ id: '1', email: hex.toUpperCase() })
    expect(identifiersOf(raw.record)).toEqual([`1 ${hex}`])
    expect(raw.codes).toEqual(['ALREADY_HASHED'])
  })
  test.for([hex.toUpperCase(), `0x${hex}`, ` ${hex} `, `"${hex}"`, `${hex.slice(0, 32)} ${hex.slice(32)}`])(
    'the spelling %s is accepted',
    (email) => {
      expect(identifiersOf(mapped({ id: '1', email }, hashed).record)).toEqual([`1 ${hex}`])
    },
  )
  test('base64 is accepted only if allowed', () => {
    const email = Buffer.from(hex, 'hex').toString('base64')
    expect(mapped({ id: '1', email }, hashed).code).toBe('HASH_INVALID')
    expect(identifiersOf(mapped({ id: '1', email }, { ...hashed, options: { allow: ['base64_hash'] } }).record)).toEqual([`1 ${hex}`])
  })
  test('a raw value in a hashed column is rejected and masked', () => {
    const { reject } = mapped({ id: '1', email: 'canary@example.com' }, hashed)
    expect(reject).toMatchObject({ code: 'HASH_EXPECTED', message: expect.stringContaining('c***@e***.com') })
    expect(JSON.stringify(reject)).not.toContain('canary')
  })
  test.for([hex.slice(1), `${hex}0`, 'z'.repeat(64), digest('x').slice(0, 40)])('%s is not a digest', (email) =>
    expect(mapped({ id: '1', email }, hashed).code).toBe('HASH_INVALID'),
  )
})

describe('consent', () => {
  const consent = { map, consent: { column: 'consent', values: ['yes', true, 1] } }
  test.for([
    ['yes', true],
    [' YES ', true],
    ['1', true],
    ['true', true],
    ['no', false],
    ['', false],
    ['0', false],
    ['"false "', false],
    ['y', false],
  ] as const)('%s means %s', ([value, desired]) => {
    expect(mapped({ id: '1', email: 'a@b.example', consent: value }, consent).record?.desired).toBe(desired)
  })
  test('an opted-out row is removed even if the export emptied its identifiers', () => {
    expect(mapped({ id: '1', consent: 'no' }, consent).record).toMatchObject({ desired: false, identifiers: [] })
  })
  test('a source without the column is rejected', () => {
    expect(() => mapperOf(consent).bindHeader(['id', 'email'])).toThrow(expect.objectContaining({ code: 'FILE_COLUMN_MISSING' }))
    // Records of JSON omit empty values, so the first one may lack the column.
    expect(() => mapperOf(consent).bindHeader(['id', 'email'], 'https://shop.example.com/people', false)).not.toThrow()
  })
})

test('a do-not-reach list is keyed by its identifiers, and rows are removed only by the remove column', () => {
  const list = {
    map: { email: 'email', phone_number: 'phone', remove: { column: 'status', values: ['resubscribed'] } },
    destination: { kind: 'do-not-reach', account_id: 'a', list_id: 'l' },
  }
  const added = mapped({ email: 'A@b.example', status: 'unsubscribed' }, list).record
  const left = mapped({ email: 'a@b.example', status: 'Resubscribed' }, list).record
  expect(added?.desired).toBe(true)
  expect(left?.desired).toBe(false)
  expect(left?.key).toEqual(added?.key)
  expect(mapped({ email: 'a@b.example', phone: '+12025550143' }, list).record?.key).not.toEqual(
    mapped({ email: 'a@b.example', phone: '+12025550144' }, list).record?.key,
  )
})

describe('a row without a usable key or end adds its person to a do-not-reach list', () => {
  const byDate = { date: { form: 'DD.MM.YYYY' } }
  const list = (more: object = {}) => ({
    map: { key: 'id', email: 'email', expires_at: 'until', remove: { column: 'status', values: ['back'] }, ...more },
    destination: { kind: 'do-not-reach', account_id: 'a', list_id: 'l' },
  })
  test.for<[what: string, fields: Readonly<Record<string, string>>, more: object, codes: readonly string[]]>([
    ['an empty key', { id: '' }, {}, []],
    ['a key whose transform fails', { id: 'x' }, { key: { column: 'id', transform: byDate } }, ['TRANSFORM_DROPPED']],
    ['an end in another form', { id: '1', until: '31.12.2026' }, {}, ['EXPIRES_AT_DROPPED']],
    [
      'an end whose transform fails',
      { id: '1', until: 'soon' },
      { expires_at: { column: 'until', transform: byDate } },
      ['TRANSFORM_DROPPED'],
    ],
  ])('%s', ([, fields, more, codes]) => {
    const added = mapped({ email: 'a@b.example', ...fields }, list(more))
    expect(added).toMatchObject({ record: { desired: true }, codes })
    expect(identifiersOf(added.record)).toEqual([`1 ${digest('a@b.example')}`])
    expect(added.record?.expiresAtMs).toBeUndefined()
  })
  test('a row without an address is rejected, and so is a removal without a key', () => {
    expect(mapped({ id: '' }, list()).code).toBe('KEY_MISSING')
    expect(mapped({ id: '', email: 'a@b.example', status: 'back' }, list()).code).toBe('KEY_MISSING')
  })
})

test('times are read as instants, a bare date as the start of its day in UTC', () => {
  const { record } = mapped({ id: '1', email: 'a@b.example', from: '2026-01-01', until: '2026-12-31T23:59:59+01:00' })
  expect(record).toMatchObject({ effectiveAtMs: Date.UTC(2026, 0, 1), expiresAtMs: Date.UTC(2026, 11, 31, 22, 59, 59) })
})

test('the default of a time also applies without its column; a default of the key or an identifier does not', () => {
  const time = '2026-12-31T00:00:00Z'
  for (const column of ['absent', undefined]) {
    const field = { column, default: time }
    const ends = mapped({ id: '1', email: 'a@b.example' }, { map: { ...map, expires_at: field } })
    expect(ends.record?.expiresAtMs).toBe(Date.parse(time))
    const starts = mapped({ id: '1', email: 'a@b.example' }, { map: { ...map, effective_at: field } })
    expect(starts.record?.effectiveAtMs).toBe(Date.parse(time))
  }
  const withDefault = { column: 'absent', default: 'x@example.com' }
  expect(() => mapped({}, { map: { key: withDefault, email: 'email' } })).toThrow('no column for key')
  expect(() => mapped({}, { map: { key: 'id', email: withDefault } })).toThrow('no column for email')
})

test('the given day determines the age of a person and the default end of a membership', () => {
  const wantedOn = (day: string) => {
    const mapper = mapperOf({ map: { key: 'id', email: 'email' } }, new Date(day))
    const { record } = mapper.map({ line: 2, columns: ['id', 'email', 'birthday'], cells: ['1', 'a@b.example', '2013-06-16'] })
    return record?.kind === 'member' && record.desired
  }
  expect(wantedOn('2026-06-15T23:59:59Z')).toBe(false)
  expect(wantedOn('2026-06-16T00:00:00Z')).toBe(true)
  const codeOn = (day: string) => {
    const mapper = mapperOf({ map: { key: 'id', email: 'email', effective_at: 'from' } }, new Date(day))
    return mapper.map({ line: 2, columns: ['id', 'email', 'from'], cells: ['1', 'a@b.example', '2030-01-01'] }).reject?.code
  }
  expect(codeOn('2026-06-15')).toBe('TIMES_CONTRADICT')
  expect(codeOn('2029-12-31')).toBeUndefined()
})

test.for([
  [{ column: 'tags', not_values: ['unsubscribed'] }, ['vip', 'unsubscribed'], false],
  [{ column: 'tags', not_values: ['unsubscribed'] }, ['', 'unsubscribed'], false],
  [{ column: 'tags', not_values: ['unsubscribed'] }, ['vip', 'new'], true],
  [{ column: 'tags', values: ['yes'] }, ['yes', 'no'], false],
  [{ column: 'tags', values: ['yes'] }, ['yes', 'Yes'], true],
  [{ column: 'tags', before: '2026-01-01' }, ['2025-01-01', '2026-02-01'], false],
  [{ column: 'tags', values: [''] }, [], true],
] as const)('all texts of a cell must pass a test of consent: %j of %j', ([test, cell, passes]) => {
  const mapper = mapperOf({ map: { key: 'id', email: 'email' }, consent: [{ ...test }] })
  const { record } = mapper.map({ line: 2, columns: ['id', 'email', 'tags'], cells: ['1', 'a@b.example', [...cell]] })
  expect(record?.kind === 'member' && record.desired).toBe(passes)
})

test.for([
  [['unsubscribed'], 'vip, Unsubscribed', false],
  [['unsubscribed'], 'unsubscribed;vip', false],
  [['unsubscribed'], 'vip|new', true],
  [['unsubscribed'], 'vip，unsubscribed', false],
  [['配信停止'], '会員、配信停止', false],
  [['unsubscribed'], 'vip\nunsubscribed', false],
  [['unsubscribed'], '["vip","unsubscribed"]', false],
  [['unsubscribed'], '{vip,unsubscribed}', false],
  [['no (thanks)'], 'vip, no (thanks)', false],
  [['no, thanks'], 'no, thanks', false],
  [['no'], 'no thanks, later', true],
  [[''], 'vip,', true],
  [['0'], '1,0', true],
] as const)('a word of not_values also matches a part of a list in a cell: %j of %j', ([words, cell, passes]) => {
  const mapper = mapperOf({ map: { key: 'id', email: 'email' }, consent: [{ column: 'tags', not_values: [...words] }] })
  const { record } = mapper.map({ line: 2, columns: ['id', 'email', 'tags'], cells: ['1', 'a@b.example', cell] })
  expect(record?.kind === 'member' && record.desired).toBe(passes)
})

test('no personal value of a row survives its mask', () => {
  const { mask } = mapped(
    {
      id: 'C17',
      email: 'canary.person@example.com',
      phone: '+1 202 555 0143',
      country: 'US',
      loyalty: 'canary-7',
      name: 'Canary Person',
      from: '2026-01-01',
      consent: 'canary@example.com',
    },
    { map, consent: { column: 'consent', values: ['yes'] } },
  )
  expect(mask).toEqual(['C***', 'c***@e***.com', '', '***43', 'US', 'c***', '2026-01-01', '', 'c***@e***.com', '', 'C***'])
})

test('an unmapped consent column is reported', () => {
  const mapper = mapperOf({ map: { key: 'id', email: 'email' } })
  expect(mapper.bindHeader(['id', 'email', 'Unsubscribed', 'name']).map(({ code, field }) => [code, field])).toEqual([
    ['CONSENT_UNMAPPED', 'Unsubscribed'],
    ['COLUMN_UNKNOWN', 'Unsubscribed'],
    ['COLUMN_UNKNOWN', 'name'],
  ])
})

test.for([
  ['klaviyo', 'Email Marketing Consent', ['Email Suppressions', 'SMS Marketing Consent']],
  ['hubspot', 'Unsubscribed from all email', ['Email hard bounce reason', 'Invalid email address']],
  ['salesforce', 'HasOptedOutOfEmail', ['EmailBouncedDate', 'DoNotCall']],
  ['shopify', 'Accepts Email Marketing', ['Accepts SMS Marketing']],
  ['mailchimp', 'UNSUB_TIME', ['CLEAN_TIME']],
] as const)('a consent column of %s that consent: does not repeat is reported', ([name, column, others]) => {
  const preset = presets.find((one) => one.name === name)
  const tested: readonly string[] = [column, ...others]
  const columns = [...new Set([...(preset?.typicalColumns ?? []), ...tested])]
  const reported = (definition: object) =>
    mapperOf({ preset: name, ...definition })
      .bindHeader(columns)
      .filter(({ code, field }) => code === 'CONSENT_UNMAPPED' || (code === 'COLUMN_UNKNOWN' && tested.includes(field)))
      .map(({ code, field }) => `${code} ${field}`)
      .toSorted()
  const rest = others.flatMap((other) => [`CONSENT_UNMAPPED ${other}`, `COLUMN_UNKNOWN ${other}`]).toSorted()
  expect(reported({ consent: { column, values: ['x'] } })).toEqual(rest)
  expect([reported({}), reported({ consent: 'none' })]).toEqual([[], []])
})

test('a header in the middle of the file is not a person', () => {
  const columns = ['id', 'email']
  expect(mapperOf({ map: { key: 'id', email: 'email' } }).map({ line: 9, columns, cells: [' ID', 'Email '] }).reject).toMatchObject({
    code: 'HEADER_REPEATED',
  })
})

test.for(['Agent email', 'Employee email', 'Staff email', 'Email (manager)', 'Responsible email', 'Representative email'])(
  'mapping the addresses of employees gives no warning: %s',
  (column) => {
    expect(mapperOf({ map: { key: 'id', email: column } }).bindHeader(['id', column])).toEqual([])
  },
)

test.for(['Contact owner email', 'OwnerEmail', 'Manager email', 'created_by'])(
  "mapping a colleague's address gives a warning: %s",
  (column) => {
    const mapper = mapperOf({ map: { key: 'id', email: column } })
    expect(mapper.bindHeader(['id', column]).map(({ code }) => code)).toEqual(['OWNER_COLUMN'])
  },
)

describe('presets', () => {
  test.for(presets.map((preset) => [preset.name, preset] as const))(
    '%s is recognized by its header and maps without map:',
    ([, preset]) => {
      const to = preset.records === 'products' ? { kind: 'catalog', catalog_id: '1' } : destination
      const mapper = mapperOf({ destination: to, options: { default_currency: 'EUR' } })
      const sample: Readonly<Record<string, string>> = {
        email: 'Jane@example.com',
        email_address: 'Jane@example.com',
        user_email: 'jane@example.com',
        billing_email: 'jane@example.com',
        phone: '+12025550143',
        phone_number: '+12025550143',
        billing_phone: '+1 202 555 0143',
        country: 'US',
        zip: '10001',
        accepts_email_marketing: 'yes',
        email_marketing_consent: 'SUBSCRIBED',
        hasoptedoutofemail: 'false',
        unsubscribed_from_all_email: 'false',
        id: '17',
        handle: 'shoe',
        title: 'Shoe',
        name: 'Shoe',
        description: 'A shoe',
        body_html: '<p>A shoe</p>',
        link: 'https://shop.example/p',
        image_link: 'https://shop.example/1.jpg',
        image_src: 'https://shop.example/1.jpg',
        images: 'https://shop.example/1.jpg, https://shop.example/2.jpg',
        availability: 'in stock',
        in_stock: '1',
        condition: 'new',
        google_shopping_condition: 'new',
        price: '9.99 EUR',
        variant_price: '9.99',
        regular_price: '9.99',
        brand: 'Acme',
        vendor: 'Acme',
        brands: 'Acme',
        sku: 'S1',
        variant_sku: 'S1',
        quantity_to_sell_on_facebook: '4',
      }
      const columns = [...new Set(preset.typicalColumns)]
      const extra = preset.name.startsWith('shopify-p') ? ['availability', 'link'] : preset.name.startsWith('woocommerce-p') ? ['link'] : []
      const all = [...columns, ...extra]
      mapper.bindHeader(all)
      const { record, reject } = mapper.map({
        line: 2,
        columns: all,
        cells: all.map((column) => sample[normalizeHeader(column)] ?? (/id|uid$/i.test(normalizeHeader(column)) ? '42' : '')),
      })
      expect(reject).toBeUndefined()
      expect(record?.kind).toBe(preset.records === 'products' ? 'product' : 'member')
      expect(record?.kind === 'member' ? record.desired : true).toBe(true)
      const json = record?.kind === 'product' ? record.json : ''
      expect(json.includes('"inventory":4')).toBe(preset.name === 'meta-catalog')
    },
  )
})

test('the hint for a filter whose column is missing keeps the filter, which would otherwise send the rows that it leaves out', () => {
  for (const field of ['only', 'except'])
    expect(() =>
      mapperOf({ map, [field]: { segment: 'employees' } }).bindHeader([
        'id',
        'email',
        'second',
        'phone',
        'country',
        'loyalty',
        'from',
        'until',
      ]),
    ).toThrow(
      expect.objectContaining({
        code: 'FILE_COLUMN_MISSING',
        hint: `export "segment" again, or write its new name under ${field}:`,
      }),
    )
})

test('row filters see the cells of a corrected rejects file as they are in the source', () => {
  const mapper = mapperOf({ map, only: { region: '+49' }, except: { status: '-' } })
  const columns = ['id', 'email', 'second', 'phone', 'country', 'loyalty', 'from', 'until', 'region', 'status']
  const rejects = [...columns, 'line', 'code', 'field', 'message', 'hint']
  mapper.bindHeader(rejects)
  const rowOf = (region: string, status: string) => ({
    line: 3,
    columns: rejects,
    cells: ['C1', 'jane@example.com', '', '', '', '', '', '', region, status, '7', 'BAD_EMAIL', 'email', 'text', 'text'],
  })
  expect(mapper.map(rowOf("'+49", 'in')).record).toBeDefined()
  expect(mapper.map(rowOf("'+43", 'in')).filtered).toBe(true)
  expect(mapper.map(rowOf("'+49", "'-")).filtered).toBe(true)
  const fault = { code: 'JOIN_AMBIGUOUS', message: 'two rows have this key' } as const
  expect(mapper.map({ ...rowOf("'+49", 'in'), fault }).reject?.code).toBe('JOIN_AMBIGUOUS')
  expect(mapper.map({ ...rowOf("'+49", "'-"), fault }).filtered).toBe(true)
})

test('a row filter on a column of the joined file does not decide a row without a row there; the other filters do', () => {
  const mapper = mapperOf({ map: { key: 'id', email: 'email' }, only: { country: 'DE', tier: 'gold' } })
  const columns = ['id', 'email', 'country', 'tier']
  const rowOf = (country: string, variants?: readonly (readonly string[])[]) => ({
    line: 2,
    columns,
    cells: ['1', 'a@b.example', country, undefined],
    fault: { code: 'JOIN_ROW_MISSING', message: 'missing', field: 'id', unjoined: [3], ...(variants && { variants }) },
  })
  expect(mapper.map(rowOf('DE')).reject).toMatchObject({ code: 'JOIN_ROW_MISSING', key: expect.any(Uint8Array) as Uint8Array })
  expect(mapper.map(rowOf('FR')).filtered).toBe(true)
  expect(mapper.map(rowOf('FR', [['gold']])).filtered).toBe(true)
  expect(mapper.map(rowOf('DE', [['gold'], ['silver']])).reject).toBeDefined()
  expect(mapper.map(rowOf('DE', [['bronze'], ['silver']])).filtered).toBe(true)
})

test.for(['un\u00adsubscribed', 'un\u200bsubscribed', 'ｕｎｓｕｂｓｃｒｉｂｅｄ'])(
  'except: also matches the look-alike cell %j',
  (status) => {
    const mapper = mapperOf({ map: { key: 'id', email: 'email' }, except: { status: ['unsubscribed'] } })
    expect(mapper.map({ line: 2, columns: ['id', 'email', 'status'], cells: ['1', 'a@b.example', status] }).filtered).toBe(true)
  },
)

test('a row without consent opts out an email in the phone column, and a phone number in the email column', () => {
  const row = { id: '1', email: '+12025550143', phone: 'Jane@b.example', consent: 'no' }
  const consent = { column: 'consent', values: ['yes'] }
  const { record } = mapped(row, { map, consent })
  const sent = mapped({ id: '2', email: 'jane@b.example', phone: '+12025550143', consent: 'yes' }, { map, consent })
  expect(record?.desired).toBe(false)
  expect(identifiersOf(record)?.toSorted()).toEqual(identifiersOf(sent.record)?.toSorted())
  const texts = mapped(row, { map, consent: { ...consent, for: 'phone_number' } })
  expect(identifiersOf(texts.record)).toBeUndefined()
})

test.for([
  { email: '+12025550143', phone: 'Jane@b.example' },
  { email: 'jane@b.example', second: '+12025550143', phone: 'Jane@b.example, ann@b.example' },
  { email: 'ann@b.example', phone: 'jane@b.example, ann@b.example, +12025550143' },
])('identifiers in the wrong column of a row that opts out are sorted, without repeats: %j', (fields) => {
  const consent = [
    { column: 'consent', values: ['yes'] },
    { column: 'status', values: ['yes'], for: 'phone_number' },
  ]
  for (const status of ['yes', 'no']) {
    const { record } = mapped({ id: '1', ...fields, consent: 'no', status }, { map, consent })
    const shownAll = record?.identifiers.map((one) => one.toString('hex')) ?? []
    expect(shownAll.length).toBeGreaterThan(1)
    expect(shownAll).toEqual([...new Set(shownAll)].toSorted())
  }
})

test('a row without a key that opts out has one key, also if its identifiers are in the wrong columns', () => {
  const keyOf = (fields: Readonly<Record<string, string>>) =>
    mapped({ ...fields, consent: 'no' }, { map, consent: { column: 'consent', values: ['yes'] } }).record?.key
  const key = keyOf({ email: 'jane@b.example', phone: '+12025550143' })
  expect(key).toHaveLength(16)
  expect(keyOf({ email: '+12025550143', phone: 'jane@b.example' })).toEqual(key)
  expect(keyOf({ email: 'jane@b.example', second: '+12025550143', phone: 'jane@b.example' })).toEqual(key)
})

test('0 in an opt-out column of HubSpot is no opt-out', () => {
  const mapper = mapperOf({})
  const columns = ['Record ID', 'Email', 'Unsubscribed from all email', 'Invalid email address']
  const desiredFor = (cells: string[]) => (mapper.map({ line: 2, columns, cells }).record as MemberRecord).desired
  expect(desiredFor(['1', 'a@b.example', '0', '0'])).toBe(true)
  expect(desiredFor(['2', 'b@b.example', '1', '0'])).toBe(false)
  expect(desiredFor(['3', 'c@b.example', '0', '1'])).toBe(false)
})

test('the hint for missing columns maps each field once', () => {
  const mapper = mapperOf({ map: { key: 'id', email: 'email' }, consent: { column: 'agreed', values: ['yes'] } })
  expect(() => mapper.bindHeader(['id', 'E-Mail Adresse', 'Telefon', 'city'])).toThrow(
    expect.objectContaining({ hint: expect.not.stringMatching(/email: .*email: /) as string }) as Error,
  )
})

test('a list of missing columns names each field once', () => {
  const missing = ['optin', 'agreed'].map((column) => describeMissingColumn('consent', [column], ['id', 'mail', 'city']))
  expect(describeAllMissing({ missing, suggestions: [] }, ['id', 'mail', 'city']).message).toBe(
    'no columns for consent; the source has "id", "mail", "city"',
  )
})

describe('the hint for an unmapped column of identifiers', () => {
  /** Returns the hint after these sources, each with its header and two rows. */
  const hintFor = (
    definition: object,
    ...sources: readonly (readonly [columns: readonly string[], ...rows: readonly (readonly string[])[]])[]
  ) => {
    const mapper = mapperOf(definition)
    for (const [columns, ...rows] of sources) {
      mapper.bindHeader(columns)
      for (const [i, cells] of rows.entries()) mapper.map({ line: i + 2, columns, cells })
    }
    return mapper.reportUnmapped().identifierHint
  }
  const people = [
    ['C1', 'a@example.com', 'b@example.com'],
    ['C2', 'c@example.com', 'd@example.com'],
  ] as const

  test.for([{ hashed: true }, { transform: 'lower' }, { default: 'x@example.com' }])(
    'names the column without a map: that would drop %j of its field',
    (setting) => {
      expect(hintFor({ map: { key: 'id', email: { column: 'email', ...setting } } }, [['id', 'email', 'Other'], ...people])).toBe(
        'add "Other" to map.email by hand; or, for columns that are not the customer\'s: ignore: ["Other"]',
      )
    },
  )

  test('keeps the configured country, also if the last source lacks its column', () => {
    const phones = { map: { key: 'id', email: 'email', phone_number: { column: 'phone', default_country: 'Land' } } }
    const source = [
      ['id', 'phone', 'Mobile', 'Land', 'Country'],
      ['C1', '+12025550143', '+12025550144', 'US', 'DE'],
    ] as const
    const expected = 'phone_number: { columns: ["phone", "Mobile"], default_country: "Land" }'
    expect(hintFor(phones, source)).toContain(expected)
    expect(
      hintFor(phones, [
        ['id', 'email', 'Mobile', 'Country'],
        ['C1', 'a@example.com', '+12025550144', 'DE'],
      ]),
    ).toContain(expected)
  })

  test('is built from the source that has the column', () => {
    const klaviyo = presets.find(({ name }) => name === 'klaviyo')?.typicalColumns ?? []
    const hubspot = presets.find(({ name }) => name === 'hubspot')?.typicalColumns ?? []
    const cells = (columns: readonly string[], i: number) => [
      ...columns.map((column) => (column === 'Email' ? `jane${i}@example.com` : '')),
      ...(columns === klaviyo ? [`other${i}@example.com`] : []),
    ]
    const hint = hintFor({}, [[...klaviyo, 'Second'], cells(klaviyo, 1), cells(klaviyo, 2)], [hubspot, cells(hubspot, 3)])
    expect(hint).toContain('preset: klaviyo and map: { email: ["Email", "Second"] }')
  })
})

test('a preset knows the columns by which it is recognized, and those of countries', () => {
  for (const preset of presets)
    for (const columns of [preset.identifyingColumns, ...(preset.otherIdentifyingSets ?? [])])
      expect([preset.name, countKnownColumns(preset, columns)]).toEqual([preset.name, columns.length])
  const shopify = presets.find(({ name }) => name === 'shopify')
  expect(shopify === undefined ? 0 : countKnownColumns(shopify, ['Country Code'])).toBe(1)
})

test('a repeated column counts once for the share of a header that a template knows', () => {
  const columns = ['Email', 'EMAIL', 'email', 'Phone', 'First Name', 'Last Name', 'Country', 'Zip', ...'abcdefg']
  expect(recognizePreset(columns, 'members')).toBeUndefined()
  expect(recognizePreset(columns.slice(0, -1), 'members')?.name).toBe('google-customer-match')
})

/** Row filters, the cell of the column `status`, and whether the run stops for it. */
test.for([
  [{ except: { status: 'test' } }, 'unsubscribed', true],
  [{ except: { status: 'test' } }, ['active', 'Unsubscribed'], true],
  [{ except: { status: 'test' } }, 'active', false],
  [{ except: { status: 'test' } }, 'subscribed', false],
  [{ except: { status: 'test' }, ignore: ['status'] }, 'unsubscribed', false],
  [{ except: { status: 'test' }, consent: { column: 'status', not_values: ['cleaned'] } }, 'unsubscribed', false],
  [{ except: { status: 'test' }, consent: 'none' }, 'unsubscribed', false],
  [{ only: { status: 'vip' } }, ['vip', 'unsubscribed'], true],
  [{ only: { status: 'subscribed' } }, ['subscribed', 'unsubscribed'], true],
  [{ only: { status: 'subscribed' } }, 'subscribed', false],
  [{ only: { status: ['subscribed', 'unsubscribed'] } }, 'unsubscribed', false],
] as const)('with %j, the cell %j of a row that is sent stops the run: %s', ([definition, cell, stops]) => {
  const mapper = mapperOf({ map: { key: 'id', email: 'email' }, ...definition })
  const columns = ['id', 'email', 'status']
  expect(mapper.bindHeader(columns)).toEqual([])
  const { record, warnings } = mapper.map({ line: 2, columns, cells: ['1', 'a@b.example', cell] })
  expect(record).toBeDefined()
  expect(warnings.map(({ code, field }) => [code, field])).toEqual(stops ? [['LEFT_UNMAPPED', 'status']] : [])
  if (stops) expect(mapper.reportUnmapped().consentHint).toContain('consent: { column: "status"')
})

test.for([
  [{ consent: { column: 'ok', values: ['yes'] } }, 'Name each of these columns in its setting: "ok", "ok (column 4)"'],
  [{ map: { key: 'id', email: 'ok' } }, 'Name the columns to read, in order: map: { email: ["ok", "ok (column 4)"] }'],
] as const)('the hint for repeated columns that %j reads is %s', ([definition, hint]) => {
  const mapper = mapperOf({ map: { key: 'id', email: 'email' }, ...definition })
  expect(() => mapper.bindHeader(['id', 'email', 'ok', 'ok (column 4)'])).toThrow(
    expect.objectContaining({ code: 'FILE_DUPLICATE_COLUMN', hint }) as Error,
  )
})

test('a message about missing columns shows at most 60 characters of a name: the file may be one line that was decoded wrongly', () => {
  const people = 'id,email\n1,jane.doe@example.com\n2,john.roe@example.com\n'.repeat(3)
  const misread = Buffer.from(people, 'utf16le').swap16().toString('utf16le')
  expect(() => mapperOf({ map: { key: 'id', email: 'email' } }).bindHeader([misread])).toThrow(
    `the source has a single column, "${misread.slice(0, 60)}…"`,
  )
})

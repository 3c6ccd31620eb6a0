/** Consent in runs against the sandbox. A person whose row says no is never sent, and the error names the line to write. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { csvOf, type Fields } from '../../support/through.ts'

const address = (i: number) => `p${i}@example.com`
const digest = (text: string) => createHash('sha256').update(text).digest('hex')
const audience = 'destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n'

/** Consent columns of exports, and the people of six with a yes. */
test.for<[name: string, cells: (i: number) => Fields, yes: readonly number[]]>([
  ['a flag', (i) => ({ 'Marketing OK': i < 2 ? 'yes' : 'no' }), [0, 1]],
  ['a flag that forbids', (i) => ({ email_disabled: i < 2 ? 'true' : 'false' }), [2, 3, 4, 5]],
  ['a state under a name that says nothing', (i) => ({ Kind: ['subscribed', 'unsubscribed', 'cleaned'][i % 3] }), [0, 3]],
  ['a date of opt-out', (i) => ({ UNSUB_TIME: i === 4 ? '2026-01-02 10:00:00' : '' }), [0, 1, 2, 3, 5]],
  ['a date of opt-in', (i) => ({ consent_date: i === 4 ? '' : '02.01.2026' }), [0, 1, 2, 3, 5]],
  ['two columns that both have to agree', (i) => ({ Newsletter: i < 3 ? 'ja' : 'nein', Gesperrt: i === 0 ? 'ja' : 'nein' }), [1, 2]],
])('%s that no setting reads stops the run, and its hint is the setting', async ([, cells, yes]) => {
  await using engine = await engineUnderTest()
  const people = Array.from({ length: 6 }, (_, i): Fields => ({ id: `C${i}`, email: address(i), ...cells(i) }))
  const held = await crm(engine, people)
  expect(held).toMatchObject({ status: 'withheld', counts: { confirmed: 0 } })
  expect((await engine.sandbox.control.audience()).members).toBe(0)
  const hint = held.guards[0]?.hint ?? ''
  expect(hint).not.toMatch(/accept|none/)
  expect(await crm(engine, people, `${lineOf(hint)}\n`)).toMatchObject({ status: 'succeeded' })
  expect(await members(engine)).toEqual(yes.map((i) => digest(address(i))).toSorted())
})

test('the hint for codes names no values, and a pipeline with the hint as it is sends nothing', async () => {
  await using engine = await engineUnderTest()
  const people = [0, 1].map((i): Fields => ({ id: `C${i}`, email: address(i), Newsletter: String(i + 1) }))
  const held = await crm(engine, people)
  expect(held).toMatchObject({ status: 'withheld', counts: { confirmed: 0 } })
  expect(held.guards[0]?.message).toContain('"1" 1, "2" 1')
  const [line = ''] = /consent: \{.*\}/.exec(held.guards[0]?.hint ?? '') ?? []
  await expect(crm(engine, people, `${line}\n`)).rejects.toThrow('must name the values that mean yes')
  expect((await engine.sandbox.control.audience()).members).toBe(0)
  expect(await crm(engine, people, 'consent: { column: Newsletter, values: ["2"] }\n')).toMatchObject({ status: 'succeeded' })
  expect(await members(engine)).toEqual([digest(address(1))])
})

test.for(['contact_ok', 'mailing', 'may_contact', 'contact', 'share_data'])(
  'a column %s of yes and no that no setting reads stops the run',
  async (column) => {
    await using engine = await engineUnderTest()
    const people = [0, 1].map((i): Fields => ({ id: `C${i}`, email: address(i), [column]: i === 0 ? 'yes' : 'no' }))
    expect(await crm(engine, people)).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_CONSENT_UNMAPPED' }] })
    expect((await engine.sandbox.control.audience()).members).toBe(0)
  },
)

test.for([
  ['', { 'Record ID': 'C', 'Lifecycle Stage': '' }, 'Unsubscribed from all email', true, false],
  ['preset: hubspot\n', { 'Record ID': 'C' }, 'Unsubscribed from all email', true, false],
  ['preset: klaviyo\n', { 'Klaviyo ID': 'C' }, 'Email Marketing Consent', 'NEVER_SUBSCRIBED', 'SUBSCRIBED'],
] as const)(
  'JSON lines of a preset %s%j that lose the column %s withhold the run, and send no row',
  async ([preset, ids, column, no, yes]) => {
    await using engine = await engineUnderTest()
    engine.pipeline('crm', `source: { url: "{folder}/crm.jsonl" }\n${preset}${audience}`)
    const write = (fields: (i: number) => object) =>
      engine.write(
        'crm.jsonl',
        Array.from({ length: 30 }, (_, i) => {
          const keys = Object.entries(ids).map(([name, prefix]) => [name, `${prefix}${i}`])
          return `${JSON.stringify({ ...Object.fromEntries(keys), Email: address(i), ...fields(i) })}\n`
        }).join(''),
      )
    write((i) => ({ [column]: i < 15 ? no : yes }))
    expect(await engine.run('crm')).toMatchObject({ status: 'succeeded', counts: { valid: 15, suppressed: 15 } })
    const before = await members(engine)
    write(() => ({}))
    expect(await engine.run('crm')).toMatchObject({
      status: 'withheld',
      guards: expect.arrayContaining([expect.objectContaining({ code: 'GUARD_CONSENT_UNKNOWN' })]),
    })
    expect(await members(engine)).toEqual(before)
  },
)

test.for([
  ['shopify', 'Accepts Email Marketing', { 'Customer ID': 'C1', Email: address(1), Phone: '' }],
  ['salesforce', 'HasOptedOutOfEmail', { Id: 'C1', LastName: 'Doe', Email: address(1), OwnerId: 'U1' }],
  ['klaviyo', 'Email Marketing Consent', { 'Klaviyo ID': 'C1', Email: address(1) }],
] as const)(
  'an export of %s that is not recognized without "%s" stops the run, and the hint names the column',
  async ([name, column, row]) => {
    await using engine = await engineUnderTest()
    engine.pipeline('crm', `source: { url: "{folder}/crm.csv" }\n${audience}`)
    engine.write('crm.csv', csvOf([row]))
    const { status, error } = await engine.run('crm')
    expect([status, error?.code]).toEqual(['failed', 'FILE_COLUMN_MISSING'])
    expect(error?.hint).toContain(`if this is an export of ${name}, export it with "${column}", which says who may be reached`)
    engine.write('crm.csv', csvOf([{ Number: 'C1', Mail: address(1) }]))
    expect((await engine.run('crm')).error?.hint).not.toContain('who may be reached')
  },
)

test('JSON lines of a preset that lose the consent column remove no person from a do-not-reach list', async () => {
  await using engine = await engineUnderTest()
  const list = 'destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }\n'
  engine.pipeline('list', `source: { url: "{folder}/crm.jsonl" }\npreset: hubspot\n${list}`)
  const write = (fields: object) =>
    engine.write('crm.jsonl', [0, 1, 2].map((i) => `${JSON.stringify({ 'Record ID': `C${i}`, Email: address(i), ...fields })}\n`).join(''))
  write({ 'Unsubscribed from all email': true })
  expect(await engine.run('list')).toMatchObject({ status: 'succeeded', counts: { confirmed: 3 } })
  write({ 'First Name': 'Jane' })
  expect(await engine.run('list')).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_CONSENT_UNKNOWN' }] })
  expect((await engine.sandbox.control.audience('2dnr')).members).toBe(3)
})

test('the file of non-subscribed members of Mailchimp withholds the run, also if a pattern found it', async () => {
  await using engine = await engineUnderTest()
  const text = 'Email Address,MEMBER_RATING,OPTIN_TIME,LEID,EUID\np1@example.com,2,,1,a\n'
  const run = (file: string, name: string, more = '') => {
    engine.write(name, text)
    engine.pipeline('crm', `source: { url: "{folder}/${file}" }\n${more}${audience}`)
    return engine.run('crm')
  }
  const held = {
    status: 'withheld',
    guards: [{ code: 'GUARD_CONSENT_UNKNOWN', hint: expect.stringContaining('read the file of subscribed people') }],
  }
  const [non, sub] = ['nonsubscribed_email_audience_export_a1.csv', 'subscribed_email_audience_export_a1.csv']
  expect(await run(non, non)).toMatchObject(held)
  expect(await run('*subscribed_*.csv', non)).toMatchObject(held)
  expect(await run(non, non, 'map: { key: EUID, email: "Email Address" }\nignore: [OPTIN_TIME]\n')).toMatchObject(held)
  expect(await members(engine)).toEqual([])
  expect(await run(non, non, 'consent: none\n')).toMatchObject({ status: 'succeeded', counts: { confirmed: 1 } })
  expect(await run(sub, sub)).toMatchObject({ status: 'succeeded' })
})

describe('a column that decides nothing', () => {
  const people = [
    { id: 'C0', email: address(0), newsletter: 'yes' },
    { id: 'C1', email: address(1), newsletter: 'no' },
  ]
  test.for(['ignore: [newsletter]', 'consent: none'])('is declared irrelevant by %s', async (line) => {
    await using engine = await engineUnderTest()
    expect(await crm(engine, people, `${line}\n`)).toMatchObject({ status: 'succeeded', counts: { valid: 2 } })
  })

  test('is not required if it is about texts and only emails are sent', async () => {
    await using engine = await engineUnderTest()
    const report = await crm(engine, [{ id: 'C0', email: address(0), 'Accepts SMS Marketing': 'no' }])
    expect(report).toMatchObject({ status: 'succeeded', counts: { valid: 1 } })
  })
})

test('a further consent column needs a setting beside the configured test', async () => {
  await using engine = await engineUnderTest()
  const people = [{ id: 'C0', email: address(0), ok: 'yes', unsubscribed: 'true' }]
  const held = await crm(engine, people, 'consent: { column: ok, values: ["yes"] }\n')
  expect(parse(lineOf(held.guards[0]?.hint ?? ''))).toEqual({
    consent: [
      { column: 'ok', values: ['yes'] },
      { column: 'unsubscribed', values: ['false'] },
    ],
  })
})

describe('a column of emails that nothing maps', () => {
  const people = [0, 1, 2].map((i): Fields => ({ Kundnr: `C${i}`, Mobil: i === 0 ? '+1-202-555-0110' : '', 'E-post': address(i) }))
  const run = async (engine: EngineUnderTest, settings: string) => {
    engine.write('crm.csv', csvOf(people))
    engine.pipeline('crm', `source: { url: "{folder}/crm.csv" }\n${settings}guards: { max_reject_percent: 100 }\n${audience}`)
    return engine.run('crm')
  }

  test('stops the run, and the hint is the `map:` with it', async () => {
    await using engine = await engineUnderTest()
    const held = await run(engine, 'map: { key: Kundnr, phone_number: Mobil }\n')
    expect(held).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_IDENTIFIER_UNMAPPED' }] })
    const hint = held.guards[0]?.hint ?? ''
    expect(hint).toContain('map: { email: "E-post" }; or, for columns that are not the customer\'s: ignore: ["E-post"]')
    await run(engine, 'map: { key: Kundnr, phone_number: Mobil, email: "E-post" }\n')
    expect(await identifiers(engine)).toHaveLength(4)
  })

  test('in several sources is one note, which counts the rows of all', async () => {
    await using engine = await engineUnderTest()
    for (const [i, name] of ['a', 'b', 'c'].entries()) {
      engine.write(`${name}.csv`, csvOf([{ Kundnr: `C${i}`, Mobil: `+1-202-555-011${i}`, 'E-post': address(i) }]))
    }
    engine.pipeline(
      'crm',
      `source: [{ url: "{folder}/a.csv" }, { url: "{folder}/b.csv" }, { url: "{folder}/c.csv" }]\nmap: { key: Kundnr, phone_number: Mobil }\n${audience}`,
    )
    const { warnings, guards } = await engine.run('crm')
    expect(warnings?.filter(({ code }) => code === 'IDENTIFIER_UNMAPPED')).toMatchObject([{ field: 'E-post', count: 3 }])
    expect(guards).toMatchObject([{ code: 'GUARD_IDENTIFIER_UNMAPPED', examples: ['line 2', 'line 2', 'line 2'] }])
  })

  test.each([
    ['few rows have one', (i: number) => (i < 2 ? `colleague${i}@example.com` : 'none')],
    ['all rows have the same one', () => 'shop@example.com'],
  ])('does not stop a run in which few rows changed, if %s', async (_, note) => {
    await using engine = await engineUnderTest()
    const rows = Array.from({ length: 200 }, (_, i): Fields => ({ id: `C${i}`, email: address(i), Notes: note(i), country: 'US' }))
    engine.pipeline('crm', `source: { url: "{folder}/crm.csv" }\nmap: { key: id, email: email }\n${audience}`)
    engine.write('crm.csv', csvOf(rows))
    expect(await engine.run('crm')).toMatchObject({ status: 'succeeded' })
    engine.write('crm.csv', csvOf(rows.map((row, i) => (i === 0 ? { ...row, email: address(1000) } : row))))
    expect(await engine.run('crm')).toMatchObject({ status: 'succeeded', guards: [] })
  })

  test.each(['info@a-shop-with-a-name-of-more-than-forty-letters.example.com', 'shop@example.com'])(
    'does not stop the run if all rows have one address: %s',
    async (same) => {
      await using engine = await engineUnderTest()
      engine.write('crm.csv', csvOf([0, 1, 2, 3].map((i): Fields => ({ id: `C${i}`, email: address(i), Kontakt: same }))))
      engine.pipeline('crm', `source: { url: "{folder}/crm.csv" }\nmap: { key: id, email: email }\n${audience}`)
      expect(await engine.run('crm')).toMatchObject({ status: 'succeeded' })
    },
  )

  test('is not sent if it is declared irrelevant', async () => {
    await using engine = await engineUnderTest()
    const report = await run(engine, 'map: { key: Kundnr, phone_number: Mobil }\nignore: [E-post]\n')
    expect(report).toMatchObject({ status: 'succeeded', counts: { valid: 1, rejected: 2 } })
  })
})

describe('one export with consent for emails and for texts', () => {
  const header = { 'First Name': 'J', 'Last Name': 'D' }
  const person = (i: number, email: string, sms: string): Fields => ({
    ...header,
    Email: address(i),
    'Accepts Email Marketing': email,
    'Default Address Phone': `+1-202-555-01${10 + i}`,
    Phone: '',
    'Accepts SMS Marketing': sms,
  })

  test('an email is sent by its own consent, a phone number only by both', async () => {
    await using engine = await engineUnderTest()
    engine.write('shop.csv', csvOf([person(0, 'yes', 'yes'), person(1, 'yes', 'no'), person(2, 'no', 'yes'), person(3, 'no', 'no')]))
    engine.pipeline('shop', `source: { url: "{folder}/shop.csv" }\n${audience}`)
    expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { valid: 2, suppressed: 2 } })
    expect(await identifiers(engine)).toEqual(
      [`email\t${digest(address(0))}`, `email\t${digest(address(1))}`, `phone_number\t${digest('+12025550110')}`].toSorted(),
    )
  })
})

describe('one identifier on a row that opted out and on one that consented', () => {
  const consent = 'consent: { column: ok, values: ["yes"] }\n'
  const both = { country: 'US' }
  const row = (id: number, email: number, phone: string, ok: string): Fields => ({
    id: `C${id}`,
    email: address(email),
    phone,
    ok,
    ...both,
  })
  const mapped = (engine: EngineUnderTest, rows: readonly Fields[]) => {
    engine.write('crm.csv', csvOf(rows))
    engine.pipeline(
      'crm',
      `source: { url: "{folder}/crm.csv" }\nmap: { key: id, email: email, phone_number: phone }\n${consent}${audience}`,
    )
    return engine.run('crm')
  }
  const phone = '+12025550143'
  const [p0, p1, p2] = [0, 1, 2].map((i) => `email\t${digest(address(i))}`)
  const ofPhone = `phone_number\t${digest(phone)}`

  test('is not sent, whichever row comes first, and the other identifiers stay', async () => {
    await using engine = await engineUnderTest()
    const rows = [row(0, 0, phone, 'yes'), row(1, 1, phone, 'no'), row(2, 1, '', 'yes'), row(3, 2, '', 'yes')]
    const report = await mapped(engine, rows)
    expect(report).toMatchObject({ status: 'succeeded', counts: { read: 4, valid: 2, suppressed: 2, rejected: 0 } })
    expect(report.warnings?.find(({ code }) => code === 'IDENTIFIER_OPTED_OUT')).toMatchObject({ count: 2 })
    expect(await identifiers(engine)).toEqual([p0, p2].toSorted())
    expect((await mapped(engine, [...rows].reverse())).counts).toMatchObject({ valid: 2, updates: 0, creates: 0, deletes: 0 })
  })

  test('is deleted when a new row opts it out, and sent again without that row', async () => {
    await using engine = await engineUnderTest()
    const stay = [row(0, 0, phone, 'yes'), row(3, 2, '', 'yes')]
    await mapped(engine, stay)
    expect(await identifiers(engine)).toEqual([p0, p2, ofPhone].toSorted())
    // The unchanged rows are known by their bytes: only the new one is read.
    await mapped(engine, [...stay, row(1, 1, phone, 'no')])
    expect(await identifiers(engine)).toEqual([p0, p2].toSorted())
    await mapped(engine, [...stay, row(1, 1, phone, 'no'), row(4, 1, '', 'yes')])
    expect(await identifiers(engine)).toEqual([p0, p2].toSorted())
    await mapped(engine, [...stay, row(4, 1, '', 'yes')])
    expect(await identifiers(engine)).toEqual([p0, p1, p2, ofPhone].toSorted())
  })

  test('is deleted although the own row of its record is rejected meanwhile', async () => {
    await using engine = await engineUnderTest()
    await mapped(engine, [row(0, 0, phone, 'yes'), row(3, 2, '', 'yes')])
    await mapped(engine, [{ ...row(0, 0, 'none yet', 'yes'), email: 'p0@' }, row(1, 1, phone, 'no'), row(3, 2, '', 'yes')])
    expect(await identifiers(engine)).toEqual([p2])
  })

  test('is a phone number that one row withholds by its SMS consent', async () => {
    await using engine = await engineUnderTest()
    const header = 'First Name,Last Name,Email,Accepts Email Marketing,Default Address Phone,Phone,Accepts SMS Marketing'
    const line = (i: number, sms: string) => `J,D,${address(i)},yes,,${phone},${sms}`
    engine.pipeline('shop', `source: { url: "{folder}/shop.csv" }\n${audience}`)
    engine.write('shop.csv', `${[header, line(0, 'yes'), line(1, 'no')].join('\n')}\n`)
    await engine.run('shop')
    expect(await identifiers(engine)).toEqual([p0, p1].toSorted())
    engine.write('shop.csv', `${[header, line(0, 'yes'), line(1, 'no'), line(2, 'yes')].join('\n')}\n`)
    await engine.run('shop')
    expect(await identifiers(engine)).toEqual([p0, p1, p2].toSorted())
  })
})

test('consent by dates: only a date in between is one', async () => {
  await using engine = await engineUnderTest()
  const people = ['2024-12-31', '2025-06-01', '', 'soon', '2026-02-01T10:00:00Z'].map((until, i) => ({
    id: `C${i}`,
    email: address(i),
    until,
  }))
  await crm(engine, people, 'consent: { column: until, after: "2025-01-01", before: "2026-01-01" }\n')
  expect(await members(engine)).toEqual([digest(address(1))])
})

async function crm(engine: EngineUnderTest, rows: readonly Fields[], more = '') {
  engine.write('crm.csv', csvOf(rows))
  engine.pipeline('crm', `source: { url: "{folder}/crm.csv" }\nmap: { key: id, email: email }\n${more}${audience}`)
  return engine.run('crm')
}

/** The `consent:` line at the end of a hint. */
function lineOf(hint: string): string {
  const [line = ''] = /consent: .*$/.exec(hint) ?? []
  return line
}

async function identifiers(engine: EngineUnderTest): Promise<string[]> {
  const text = await (await fetch(`${engine.sandbox.url}/_sandbox/audiences/1nmth/identifiers`)).text()
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t').slice(0, 2).join('\t'))
    .toSorted()
}

async function members(engine: EngineUnderTest): Promise<string[]> {
  return (await identifiers(engine)).map((line) => line.split('\t')[1] ?? '').toSorted()
}

test('a state that no setting reads stops the run, also as a later text of a cell', async () => {
  await using engine = await engineUnderTest()
  const people = [0, 1, 2].map((i) => ({ id: `C${i}`, email: address(i), labels: i === 2 ? ['vip', 'unsubscribed'] : ['vip'] }))
  engine.write('crm.json', JSON.stringify(people))
  engine.pipeline('crm', `source: { url: "{folder}/crm.json" }\nmap: { key: id, email: email }\n${audience}`)
  expect(await engine.run('crm')).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_LEFT_UNMAPPED' }] })
})

test('JSON without the consent column withholds the run, because a test of an empty cell may pass', async () => {
  await using engine = await engineUnderTest()
  const yaml = (more: string) =>
    `source: { url: "{folder}/people.jsonl" }\nmap: { key: id, email: mail }\nconsent: { column: unsubscribed, not_values: ["true"] }\n${more}destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n`
  const write = (cells: (i: number) => object) =>
    engine.write(
      'people.jsonl',
      Array.from({ length: 30 }, (_, i) => `${JSON.stringify({ id: i, mail: `p${i}@example.com`, ...cells(i) })}\n`).join(''),
    )
  const withheld = {
    status: 'withheld',
    guards: [
      {
        code: 'GUARD_CONSENT_UNKNOWN',
        message: 'no row has the column "unsubscribed", by which consent: decides who may be reached: nothing of this read was sent',
      },
    ],
  }
  engine.pipeline('people', yaml(''))
  write(() => ({}))
  expect(await engine.run('people')).toMatchObject(withheld)
  // The first row may omit it.
  write((i) => (i < 25 ? {} : { unsubscribed: true }))
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { valid: 25, suppressed: 5 } })
  // Most rows are skipped, because they are unchanged.
  write((i) => (i < 24 ? {} : { unsubscribed: true }))
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { valid: 24, suppressed: 6 } })
  // The unchanged rows, which are skipped, never had the column, and the others no longer have it.
  write(() => ({}))
  expect(await engine.run('people')).toMatchObject({
    status: 'withheld',
    guards: expect.arrayContaining([expect.objectContaining({ code: 'GUARD_CONSENT_UNKNOWN' })]),
  })
  // Every row changes, and none has the column any more.
  write((i) => ({ Unsubscribe_state: i > 24 }))
  expect((await engine.run('people')).guards.map(({ code }) => code)).toContain('GUARD_CONSENT_UNKNOWN')
  write(() => ({ note: '' }))
  expect(await engine.run('people')).toMatchObject(withheld)
  expect((await engine.sandbox.control.audience()).members).toBe(24)
  engine.pipeline('people', yaml('guards: { accept: [CONSENT_UNKNOWN] }\n'))
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { valid: 30 } })
})

test.for(['consent', 'remove', 'file'])('the hint for a missing column "%s" of a consent test is about this test', async (column) => {
  await using engine = await engineUnderTest()
  engine.write('people.jsonl', Array.from({ length: 30 }, (_, i) => `${JSON.stringify({ id: i, mail: address(i) })}\n`).join(''))
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.jsonl" }\nmap: { key: id, email: mail }\nconsent: { column: ${column}, not_values: ["no"] }\n${audience}`,
  )
  expect(await engine.run('people')).toMatchObject({
    status: 'withheld',
    guards: [{ code: 'GUARD_CONSENT_UNKNOWN', hint: expect.stringContaining('if the export omits this column for people who agreed') }],
  })
})

test('an export without its consent column removes no one from a do-not-reach list, and withholds the run', async () => {
  await using engine = await engineUnderTest()
  const yaml = (more: string) =>
    `source: { url: "{folder}/contacts.csv" }\npreset: hubspot\n${more}destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }\n`
  const contacts = Array.from({ length: 4 }, (_, i) => ({ 'Record ID': `${i}`, Email: address(i), 'Email hard bounce reason': '' }))
  const listed = async () => (await engine.sandbox.control.audience('2dnr')).members
  engine.pipeline('optouts', yaml(''))
  engine.write('contacts.csv', csvOf(contacts.map((cells, i) => ({ ...cells, 'Unsubscribed from all email': i < 2 ? 'true' : 'false' }))))
  expect(await engine.run('optouts')).toMatchObject({ status: 'succeeded' })
  expect(await listed()).toBe(2)
  engine.write('contacts.csv', csvOf(contacts))
  expect(await engine.run('optouts')).toMatchObject({
    status: 'withheld',
    guards: [
      {
        code: 'GUARD_CONSENT_UNKNOWN',
        message: 'the export has no column "Unsubscribed from all email", which says who may be reached: nothing of this read was sent',
        hint: 'write in pipeline optouts: guards: { accept: [CONSENT_UNKNOWN] }, if every person of the file belongs on the list; else export the file with that column',
      },
    ],
  })
  expect(await listed()).toBe(2)
  engine.pipeline('optouts', yaml('guards: { accept: [CONSENT_UNKNOWN] }\n'))
  expect(await engine.run('optouts')).toMatchObject({ status: 'succeeded' })
  expect(await listed()).toBe(4)
})

test.for([
  ['without a key', { id: '', email: address(0) }],
  ['with several addresses in a cell', { id: 'C2', email: `${address(2)}; Jane <${address(0)}>` }],
] as const)('an identifier of a row that opted out is not sent for another row: a row %s', async ([, row]) => {
  await using engine = await engineUnderTest()
  const people = [
    { id: 'C0', email: address(0), ok: 'yes' },
    { id: 'C1', email: address(1), ok: 'yes' },
    { ...row, ok: 'no' },
  ]
  expect(await crm(engine, people, 'consent: { column: ok, values: ["yes"] }\n')).toMatchObject({
    status: 'succeeded',
    counts: { rejected: 0, suppressed: 2, valid: 1 },
  })
  expect(await members(engine)).toEqual([digest(address(1))])
  // Without that row, the other one decides.
  await crm(engine, people.slice(0, 2), 'consent: { column: ok, values: ["yes"] }\n')
  expect(await members(engine)).toEqual([digest(address(0)), digest(address(1))].toSorted())
})

describe('a phone number that a rejected row withholds', () => {
  const phoneOf = (i: number) => `+1202555010${i}`
  const person = (id: string, email: number, phone: number, sms: string, more: Fields = {}): Fields => ({
    id,
    email: address(email),
    phone: phoneOf(phone),
    sms_ok: sms,
    ...more,
  })
  const yaml = (key: string, more = '') =>
    `source: { url: "{folder}/crm.csv" }
map: { key: ${key}, email: { column: email, transform: { split: "|" } }, phone_number: phone${more} }
consent: [{ column: sms_ok, values: ["yes"], for: phone_number }]
guards: { max_reject_percent: 100 }
${audience}`

  test('is not sent for another row, whatever the row is rejected for', async () => {
    await using engine = await engineUnderTest()
    const many = Array.from({ length: 51 }, (_, i) => `many${i}@example.com`).join('|')
    const next = new Date().getUTCFullYear() + 1
    const times = { from: '', until: '' }
    engine.write(
      'crm.csv',
      csvOf([
        person('', 0, 0, 'no', times),
        person('01.02.2025', 1, 1, 'no', { from: '', until: '2024-01-01' }),
        person('02.02.2025', 2, 2, 'no', { ...times, email: many }),
        person('03.02.2025', 3, 3, 'no', { from: `${next}-02-01`, until: `${next}-01-01` }),
        person('a', 4, 4, 'no', times),
        ...[0, 1, 2, 3, 4, 5].map((i) => person(`1${i}.02.2025`, 10 + i, i, 'yes', times)),
      ]),
    )
    engine.pipeline('crm', yaml('{ column: id, transform: { date: { form: DD.MM.YYYY } } }', ', effective_at: from, expires_at: until'))
    expect((await engine.run('crm')).counts).toMatchObject({ read: 11, rejected: 5, valid: 6 })
    const emails = [0, 1, 2, 3, 4, 5].map((i) => `email\t${digest(address(10 + i))}`)
    expect(await identifiers(engine)).toEqual([...emails, `phone_number\t${digest(phoneOf(5))}`].toSorted())
  })

  test('is deleted when the row is new, and sent again without that row', async () => {
    await using engine = await engineUnderTest()
    engine.pipeline('crm', yaml('id'))
    const stay = [0, 1, 2].map((i) => person(`C${i}`, i, i, 'yes'))
    const all = [0, 1, 2].flatMap((i) => [`email\t${digest(address(i))}`, `phone_number\t${digest(phoneOf(i))}`]).toSorted()
    const read = async (rows: readonly Fields[]) => {
      engine.write('crm.csv', csvOf(rows))
      const { counts } = await engine.run('crm')
      return [counts.rejected, await identifiers(engine)] as const
    }
    expect(await read(stay)).toEqual([0, all])
    // The unchanged rows are known by their bytes: only the new one is read.
    const without = all.filter((one) => !one.endsWith(digest(phoneOf(0))))
    expect(await read([...stay, person('', 3, 0, 'no')])).toEqual([1, without])
    expect(await read([...stay, person('', 4, 0, 'no')])).toEqual([1, without])
    expect(await read(stay)).toEqual([0, all])
  })
})

describe('a consent column whose values are written in another way', () => {
  const yaml = (test: string, more = '') =>
    `source: { url: "{folder}/people.csv" }\nmap: { key: id, email: mail }\nconsent: { column: unsubscribed, ${test} }\n${more}${audience}`
  const write = (engine: EngineUnderTest, rows: number, cell: (i: number) => string) =>
    engine.write(
      'people.csv',
      `id,mail,unsubscribed\n${Array.from({ length: rows }, (_, i) => `${i},${address(i)},${cell(i)}\n`).join('')}`,
    )

  test.for(['not_values: ["1"]', 'not_values: ["1.00"]', 'values: ["0"]'])('with decimals means the same: %s', async (values) => {
    await using engine = await engineUnderTest()
    engine.pipeline('people', yaml(values))
    write(engine, 60, (i) => (i < 15 ? '1' : '0'))
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { valid: 45, suppressed: 15 } })
    write(engine, 60, (i) => (i < 15 ? '1.0' : '0.0'))
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { valid: 45, suppressed: 15, creates: 0, deletes: 0 } })
  })

  test('withholds the run, if many people who opted out would be sent', async () => {
    await using engine = await engineUnderTest()
    engine.pipeline('people', yaml('not_values: ["1"]'))
    write(engine, 200, (i) => (i < 50 ? '1' : '0'))
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { valid: 150, suppressed: 50 } })
    // A new row is read alone.
    write(engine, 201, (i) => (i < 50 ? '1' : '0'))
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { valid: 151, suppressed: 50 } })
    write(engine, 201, (i) => (i < 30 ? 'out' : i < 50 ? '1' : '0'))
    expect(await engine.run('people')).toMatchObject({
      status: 'withheld',
      guards: [
        {
          code: 'GUARD_OPT_OUTS_FELL',
          message: '20 rows opt out, last time 50, and 30 more people would be sent: nothing of this read was sent',
          hint: expect.stringMatching(/values of the consent column.*accept: \[OPT_OUTS_FELL\]/) as string,
        },
      ],
    })
    expect((await engine.sandbox.control.audience()).members).toBe(151)
    // A definition that reverses the test.
    engine.pipeline('people', yaml('not_values: ["yes"]'))
    write(engine, 201, (i) => (i < 50 ? '1' : '0'))
    expect((await engine.run('people')).guards.map(({ code }) => code)).toEqual(['GUARD_OPT_OUTS_FELL'])
    engine.pipeline('people', yaml('not_values: ["yes"]', 'guards: { accept: [OPT_OUTS_FELL] }\n'))
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { valid: 201 } })
  })

  test('does not withhold the run, if the export no longer has the rows that opted out', async () => {
    await using engine = await engineUnderTest()
    engine.pipeline('people', yaml('not_values: ["1"]'))
    write(engine, 200, (i) => (i >= 150 ? '1' : '0'))
    await engine.run('people')
    write(engine, 160, (i) => (i >= 150 ? '1' : '0'))
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { valid: 150, suppressed: 10 } })
  })
})

test('of several rows of a joined file that differ, one no is enough', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv", join: { url: "{folder}/consents.csv", on: { source: id, file: person } } }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
map: { key: id, email: email }
consent: { column: marketing, values: ["yes"] }
guards: { min_rows: 0, max_reject_percent: 100, max_delete_count: 10 }
`,
  )
  engine.write('people.csv', 'id,email\n1,ann@example.com\n2,bob@example.com\n3,ann@example.com\n4,cat@example.com\n')
  const consents = (...rows: readonly string[]) => engine.write('consents.csv', `person,marketing\n${rows.join('\n')}\n`)
  consents('1,yes', '2,yes', '3,yes', '4,yes')
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { valid: 4 } })
  expect(await members(engine)).toEqual(['ann', 'bob', 'cat'].map((name) => digest(`${name}@example.com`)).toSorted())
  // Ann said no in a second entry of one of her rows, and Bob has two entries that both say yes.
  consents('1,yes', '1,no', '2,yes', '2,yes', '3,yes', '4,yes')
  expect(await engine.run('people')).toMatchObject({ rejectCodes: [{ code: 'JOIN_ROW_CONFLICT', count: 1 }] })
  expect(await members(engine)).toEqual(['bob', 'cat'].map((name) => digest(`${name}@example.com`)).toSorted())
})

test('a no in a row without a match in the joined file also removes the addresses that the person had before', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv", join: { url: "{folder}/tiers.csv", on: { source: id, file: person } } }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
map: { key: id, email: email }
consent: { column: marketing, values: ["yes"] }
only: { tier: [gold] }
guards: { min_rows: 0, max_reject_percent: 100, max_delete_count: 10 }
`,
  )
  const people = (...rows: readonly string[]) => engine.write('people.csv', `id,email,marketing\n${rows.join('\n')}\n`)
  people('1,ann@example.com,yes', '2,bob@example.com,yes', '3,cat@example.com,yes', '4,dan@example.com,yes')
  engine.write('tiers.csv', 'person,tier\n1,gold\n2,gold\n3,gold\n4,gold\n')
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { valid: 4 } })
  // Ann has a new address, Bob has none. Both say no. Cat says yes. None of them is in the joined file.
  people('1,new@example.com,no', '2,,no', '3,cat@example.com,yes', '4,dan@example.com,yes')
  engine.write('tiers.csv', 'person,tier\n4,gold\n')
  expect(await engine.run('people')).toMatchObject({ rejectCodes: [{ code: 'JOIN_ROW_MISSING', count: 3 }] })
  expect(await members(engine)).toEqual(['cat', 'dan'].map((name) => digest(`${name}@example.com`)).toSorted())
})

import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { guardResultsOfWarnings } from '../../../src/sync/plan/qualityGuard.ts'
import { audience, csvOf, through, type Fields, type Settings } from '../../support/through.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const mail = (text: string) => `email ${sha256(text)}`
const phone = (text: string) => `phone_number ${sha256(text)}`
const map = {
  key: 'id',
  email: ['email', 'second'],
  phone_number: { columns: ['phone', 'mobile'], default_country: 'country' },
  device_id: 'device',
  handle: 'handle',
  service_id: 'service',
  partner_user_id: 'partner',
  effective_at: 'from',
  expires_at: 'until',
}
const unguarded = {
  name: 'crm',
  file: 'pipelines/crm.yaml',
  guards: { minRows: 1, maxDeleteCount: 10, maxDeletePercent: 10, maxRejectPercent: 50 },
}
const settings: Settings = { name: 'crm.csv', destination: audience, map }
const blank: Fields = {
  id: 'C-1',
  email: '',
  second: '',
  phone: '',
  mobile: '',
  country: '',
  device: '',
  handle: '',
  service: '',
  partner: '',
  from: '',
  until: '',
}

interface Expected {
  readonly reject?: string
  /** Identifiers that are sent, in order. */
  readonly sent?: readonly string[]
  readonly says?: readonly string[]
  readonly desired?: boolean
}
type Case = readonly [name: string, fields: Fields, expected: Expected, more?: Settings]

const R = (reject: string): Expected => ({ reject })
const sends = (sent: readonly string[], ...says: string[]): Expected => ({ sent, says })
const allow = (...names: string[]): Settings => ({ options: { allow: names } })
const hashed: Settings = { map: { ...map, email: { column: 'email', hashed: true } } }
const jane = 'jane@example.com'
const hex = sha256(jane)
const us = '+12025550143'

const cases: readonly Case[] = [
  ['case 100: a row without any identifier is rejected', {}, R('NO_IDENTIFIER')],
  ['case 101: one bad identifier of several is left out', { email: 'jane@', second: jane }, sends([mail(jane)], 'IDENTIFIER_DROPPED')],
  ...['null', 'NULL', 'undefined', 'N/A', 'none', '0', '-', '""'].map((email): Case => [
    `case 102: ${email} is not an email`,
    { email },
    R('NO_IDENTIFIER'),
  ]),
  ['case 102: the digest of an empty text is rejected', { email: sha256('') }, R('HASH_OF_PLACEHOLDER')],
  ['case 103: spaces of every kind are removed', { email: '\u00a0\u200b Jane@Example.COM \ufeff' }, sends([mail(jane)])],
  ...['\u200ejane@example.com', '\u202ajane@example.com\u202c', 'ja\u00adne@exam\u00adple.com', '\u2066jane@example.com'].map(
    (email): Case => [`case 103: ${JSON.stringify(email)} is read without its invisible characters`, { email }, sends([mail(jane)])],
  ),
  ...[
    'jane.example.com',
    'jane@x@example.com',
    'jane@example',
    'ja ne@example.com',
    'jane@example.com.',
    'ja..ne@example.com',
    `${'x'.repeat(250)}@example.com`,
    'mailto:jane@example.com',
    'Jane <jane@example.com>',
    'jane@example.com;joe@example.com',
  ].map((email): Case => [`case 104: ${email.slice(0, 40)} is not an email`, { email }, R('EMAIL_INVALID')]),
  ['case 104: mailto: is read if allowed', { email: 'mailto:jane@example.com' }, sends([mail(jane)]), allow('wrapped_email')],
  ['case 104: a name in front is read if allowed', { email: 'Jane <jane@example.com>' }, sends([mail(jane)]), allow('wrapped_email')],
  [
    'case 104: two addresses in a cell are split if allowed',
    { email: 'jane@example.com;joe@example.com' },
    sends([mail('jane@example.com'), mail('joe@example.com')].toSorted()),
    allow('split_lists'),
  ],
  [
    'case 105: quoted local parts, tags and dots stay',
    { email: '"jane doe"@example.com', second: 'j.ane+shop@example.com' },
    sends([mail('"jane doe"@example.com'), mail('j.ane+shop@example.com')].toSorted()),
  ],
  ['case 106: an international domain is hashed as written', { email: 'jane@bücher.example' }, sends([mail('jane@bücher.example')])],
  [
    'case 106: an international domain is hashed in ASCII if the setting is on',
    { email: 'jane@bücher.example' },
    sends([mail('jane@xn--bcher-kva.example')]),
    allow('idn_to_ascii'),
  ],
  ...['jane@bücher.example', 'Jane@BÜCHER.example', 'jane@xn--bcher-kva.example', 'JANE@XN--BCHER-KVA.EXAMPLE'].map((email): Case => [
    `case 106: ${email} is hashed in both forms if the setting is on`,
    { email },
    sends([mail('jane@bücher.example'), mail('jane@xn--bcher-kva.example')].toSorted()),
    allow('both_idn_forms'),
  ]),
  ['case 106: an address of ASCII has one form', { email: jane }, sends([mail(jane)]), allow('both_idn_forms')],
  [
    'case 106: an invalid ASCII form of a domain has one form',
    { email: 'jane@xn--0.example' },
    sends([mail('jane@xn--0.example')]),
    allow('both_idn_forms'),
  ],
  [
    'case 106: a do-not-reach list has both forms with any setting',
    { email: 'jane@bücher.example' },
    sends([mail('jane@bücher.example'), mail('jane@xn--bcher-kva.example')].toSorted()),
    {
      destination: { kind: 'do-not-reach', account_id: '18ce54d4x5t', list_id: '2dnr' },
      map: { email: 'email' },
      ...allow('idn_to_ascii'),
    },
  ],
  [
    'case 107: a Cyrillic look-alike is kept with a warning',
    { email: 'аdam@example.com' },
    sends([mail('аdam@example.com')], 'EMAIL_MIXED_SCRIPT'),
  ],
  ['case 107: a full-width @ is not an email', { email: 'jane＠example.com' }, R('EMAIL_INVALID')],
  [
    'case 108: composed and decomposed letters are one email',
    { email: 'jose\u0301@example.com', second: 'josé@example.com' },
    sends([mail('josé@example.com')]),
  ],
  [
    'case 109: a dotted capital I is converted to lower case without a locale',
    { email: 'İpek@example.com' },
    sends([mail('i̇pek@example.com')]),
  ],
  [
    'case 110: an address of a role is sent with a warning',
    { email: 'noreply@example.com' },
    sends([mail('noreply@example.com')], 'EMAIL_ROLE'),
  ],
  ['case 110: a placeholder address is rejected', { email: 'test@test.com' }, R('EMAIL_INVALID')],
  ['case 112: an email among phones is rejected', { phone: jane }, R('PHONE_INVALID')],
  ['case 112: a phone among emails is rejected', { email: '+1 202 555 0143' }, R('EMAIL_INVALID')],
  ['case 113: a declared digest is passed through', { email: hex }, sends([`email ${hex}`]), hashed],
  ...[hex.toUpperCase(), `0x${hex}`, ` ${hex} `, `'${hex}'`].map((email): Case => [
    `case 114: the digest spelling ${email.slice(0, 6)}… is accepted`,
    { email },
    sends([`email ${hex}`]),
    hashed,
  ]),
  ...[hex.slice(0, 32), hex.slice(0, 40), hex + hex, hex.slice(1), `${hex}0`, 'z'.repeat(64)].map((email): Case => [
    `case 115: ${email.length} characters ${email.slice(0, 2)}… are not a digest`,
    { email },
    R('HASH_INVALID'),
    hashed,
  ]),
  [
    'case 115: a base64 digest is read if allowed',
    { email: Buffer.from(hex, 'hex').toString('base64') },
    sends([`email ${hex}`]),
    { ...hashed, ...allow('base64_hash') },
  ],
  ['case 116: a digest in a raw column is never hashed again', { email: hex.toUpperCase() }, sends([`email ${hex}`], 'ALREADY_HASHED')],
  ['case 117: a raw value in a hashed column is rejected', { email: jane }, R('HASH_EXPECTED'), hashed],
  ['case 118: the digest of test@test.com is rejected', { email: sha256('test@test.com') }, R('HASH_OF_PLACEHOLDER')],
  ['case 118: the digest of null is rejected', { email: sha256('null') }, R('HASH_OF_PLACEHOLDER')],
  ...['#N/A', 'Null', 'False', 'UNKNOWN', 'Test@Test.com', '\n', '\r\n', 'null\n'].map((text): Case => [
    `case 118: the digest of ${JSON.stringify(text)} is rejected`,
    { email: sha256(text) },
    R('HASH_OF_PLACEHOLDER'),
  ]),
  ['case 120: a national number with its country is E.164', { phone: '(202) 555-0143', country: 'us' }, sends([phone(us)])],
  ['case 120: an international prefix is E.164', { phone: '0012025550143', country: 'DE' }, sends([phone(us)])],
  ['case 120: a national number without country is rejected', { phone: '202-555-0143' }, R('PHONE_COUNTRY_MISSING')],
  ['case 120: the (0) of a trunk is removed', { phone: '+44 (0) 20 7946 0018' }, sends([phone('+442079460018')])],
  ...['+1 202 CALL-NOW', '+1555', '+11111111111', '1.41556E+10'].map((number): Case => [
    `case 120: ${number} is not a phone number`,
    { phone: number },
    R('PHONE_INVALID'),
  ]),
  ['case 121: a phone number is hashed with its plus', { phone: us }, sends([phone(us)])],
  [
    'case 121: a phone number is hashed with and without its plus if the setting is on',
    { phone: '+1 (202) 555-0143' },
    sends([phone(us), phone('12025550143')].toSorted()),
    allow('both_phone_forms'),
  ],
  ['case 121: a value that is hashed already keeps its form', { phone: hex }, sends([`phone_number ${hex}`]), allow('both_phone_forms')],
  ['case 122: Arabic digits are digits of a phone', { phone: '+١٢٠٢٥٥٥٠١٤٣' }, sends([phone(us)])],
  [
    'case 123: a device id is hashed in lower case',
    { device: 'AEBE52E7-03EE-455A-B3C4-E57283966239' },
    sends([`device_id ${sha256('aebe52e7-03ee-455a-b3c4-e57283966239')}`]),
  ],
  ['case 123: an Android id is accepted', { device: '9774d56d682e549c' }, sends([`device_id ${sha256('9774d56d682e549c')}`])],
  ['case 123: a device id without dashes is rejected', { device: 'aebe52e703ee455ab3c4e57283966239' }, R('DEVICE_ID_INVALID')],
  ['case 123: a device id of zeros is rejected', { device: '00000000-0000-0000-0000-000000000000' }, R('DEVICE_ID_INVALID')],
  ['case 124: a handle loses its @ and capitals', { handle: '@Jack ' }, sends([`handle ${sha256('jack')}`])],
  ['case 124: a handle in direction marks is read', { handle: '\u2066@ja\u00adck\u2069' }, sends([`handle ${sha256('jack')}`])],
  [
    'case 123: a device id is read without its invisible characters',
    { device: 'aebe52e7\u00ad-03ee-455a-b3c4-e57283966239\u200e' },
    sends([`device_id ${sha256('aebe52e7-03ee-455a-b3c4-e57283966239')}`]),
  ],
  ['case 125: a service id in direction marks is read', { service: '\u200e0017\u200e' }, sends([`service_id ${sha256('0017')}`])],
  ['case 213: a partner id is sent without its invisible characters', { partner: 'L\u00ad-\u200b17' }, sends(['partner_user_id L-17'])],
  ...['https://social.example.com/jack', 'x'.repeat(16), 'ja🙂ck'].map((handle): Case => [
    `case 124: ${handle} is not a handle`,
    { handle },
    R('HANDLE_INVALID'),
  ]),
  ['case 125: the zeros of a service id stay', { service: '0012345678901234567' }, sends([`service_id ${sha256('0012345678901234567')}`])],
  ...['1e18', '12.0', 'u17'].map((service): Case => [`case 125: ${service} is not a service id`, { service }, R('SERVICE_ID_INVALID')]),
  ...[jane, '+1 202 555 0143'].map((partner): Case => [
    `case 126: a partner id like ${partner.slice(0, 4)}… is rejected`,
    { partner },
    R('PARTNER_ID_PERSONAL'),
  ]),
  [
    'case 127: more than fifty identifiers reject the row',
    { email: Array.from({ length: 51 }, (_, i) => `p${i}@example.com`).join(';') },
    R('TOO_MANY_IDENTIFIERS'),
    allow('split_lists'),
  ],
  [
    'case 127: both forms of an identifier count',
    { phone: Array.from({ length: 26 }, (_, i) => `+1202555${String(100 + i).padStart(4, '0')}`).join('/') },
    R('TOO_MANY_IDENTIFIERS'),
    { ...allow('both_phone_forms'), map: { ...map, phone_number: { column: 'phone', transform: { split: '/' } } } },
  ],
  ['case 128: an end before the start rejects the row', { email: jane, from: '2026-02-01', until: '2026-01-01' }, R('TIMES_CONTRADICT')],
  [
    'case 128: a start behind the end that expires_in gives rejects the row',
    { email: jane, from: new Date(Date.now() + 400 * 86_400_000).toISOString() },
    R('TIMES_CONTRADICT'),
  ],
  [
    'case 128: a start before that end is kept',
    { email: jane, from: new Date(Date.now() + 390 * 86_400_000).toISOString() },
    sends([mail(jane)]),
  ],
  ['case 128: an end without zone rejects the row', { email: jane, until: '2026-02-01T10:00' }, R('EXPIRES_AT_INVALID')],
  ['case 128: a start without zone is left out', { email: jane, from: '2026-02-01T10:00' }, sends([mail(jane)], 'EFFECTIVE_AT_DROPPED')],
  ...['no', '', '0', 'false '].map((ok): Case => [
    `case 131: consent ${JSON.stringify(ok)} is none`,
    { email: jane, ok },
    { desired: false },
    { consent: { column: 'ok', values: ['yes', '1', 'true'] } },
  ]),
  [
    'case 131: consent YES is given',
    { email: jane, ok: ' YES ' },
    { desired: true },
    { consent: { column: 'ok', values: ['yes', '1', 'true'] } },
  ],
  ['case 132: an age of twelve is never sent', { email: jane, age: '12' }, { desired: false }],
  ['case 132: a birth date of this decade is never sent', { email: jane, date_of_birth: '2024-05-01' }, { desired: false }],
  ['case 132: a birth month of this decade is never sent', { email: jane, date_of_birth: '2024-05' }, { desired: false }],
  ...['12.0', '12,5', '7.00'].map((age): Case => [`case 132: an age of ${age} is never sent`, { email: jane, age }, { desired: false }]),
  ...[
    '2024.0',
    '20240501',
    '5/1/2024 0:00',
    '1 May 2024',
    '2024/05/01',
    '01.05.2024 00:00:00',
    '16062020',
    '06162020',
    '20102020',
    '062020',
    '20',
  ].map((date_of_birth): Case => [
    `case 132: the birth date ${date_of_birth} of this decade is never sent`,
    { email: jane, date_of_birth },
    { desired: false },
  ]),
  ...['1990.0', '19900501', '5/1/1990 0:00', '1 May 1990', '16061990', '06161990', '20101990', '061990', '199006', '90', '16 May 1990'].map(
    (date_of_birth): Case => [
      `case 132: an adult with the birth date ${date_of_birth} is sent`,
      { email: jane, age: '31.0', date_of_birth },
      { desired: true },
    ],
  ),
  ...[
    '12 years',
    '12y',
    '0-12',
    '5 – 17',
    'under 13',
    '<13',
    '１２',
    '012',
    "'12",
    'U13',
    '12½',
    '6 à 12 ans',
    'de 6 à 12 ans',
    '6 a 12 años',
    'Entre 6 et 12 ans',
    'Ages 6-12',
    'up to 12',
    'bis 12 Jahre',
    'hasta 12 años',
    '17 and under',
    '12 ans et moins',
    '17 or younger',
    '10+',
    '6+ years',
    'child',
    'Kids (5-12)',
    'Kinder',
  ].map((age): Case => [`case 132: an age of ${age} is never sent`, { email: jane, age }, { desired: false }]),
  ...['age_group', 'Age Range', 'Altersgruppe', "Tranche d'âge", 'Leeftijdscategorie', 'Grupa wiekowa'].flatMap((column): Case[] => [
    [`case 132: 0-12 in the column ${column} is never sent`, { email: jane, [column]: '0-12' }, { desired: false }],
    [`case 132: Kids in the column ${column} are never sent`, { email: jane, [column]: 'Kids' }, { desired: false }],
    [`case 132: 25-34 in the column ${column} is sent`, { email: jane, [column]: '25-34' }, { desired: true }],
    [`case 132: the code 3 in the column ${column} is sent`, { email: jane, [column]: '3' }, { desired: true }],
  ]),
  [`case 132: an age below the path of a person is never sent`, { email: jane, 'profile.age': '12' }, { desired: false }],
  [`case 132: the age of a subscription is not that of the person`, { email: jane, 'subscription.age': '12' }, { desired: true }],
  ...[
    '31 years',
    '18-24',
    '25 to 34',
    '65+',
    'under 25',
    '031',
    'U25',
    '130',
    '25 à 34 ans',
    'up to 25',
    '25 and under',
    '18 to under 25',
    '65 and over',
    '18+',
    'adult',
    'Kindergärtnerin',
  ].map((age): Case => [`case 132: an adult with the age ${age} is sent`, { email: jane, age }, { desired: true }]),
  // 43998 is a day number of a spreadsheet, the last two are Unix times.
  ...[
    '06/16/20',
    '16.6.20',
    '16-JUN-20',
    '16-JUN-20 00:00',
    '20-06-16',
    "'20-06-16",
    '43998',
    '43998.0',
    '1592265600',
    '1592265600000',
    '1592265600.0',
    '1592265600000.0',
  ].map((dob): Case => [`case 132: the birth date ${dob} of this decade is never sent`, { email: jane, dob }, { desired: false }]),
  ...['06/16/85', '16.6.85', '16-JUN-85', '85-06-16', '31214', '487728000', '487728000.0', '487728000000', '06/16'].map((dob): Case => [
    `case 132: an adult with the birth date ${dob} is sent`,
    { email: jane, dob },
    { desired: true },
  ]),
  ...[
    'dateOfBirth',
    'Customer Birthday',
    'Date of Birth (DD/MM/YYYY)',
    'Geburtsdatum [TT.MM.JJJJ]',
    'Date of birth (D/M/YYYY)',
    'Birthday (optional)',
    'Birth Year (YYYY)',
    'Date of birth (day/month/year)',
    'Fecha de nacimiento (día/mes/año)',
    'Date of birth (YYYY-MM-DD HH:MM:SS)',
    'DOB (DD-MON-YYYY)',
    '生年月日(西暦)',
    'Geburtsdatum (Format TT.MM.JJJJ)',
    'DOB (ISO 8601)',
    'Birthdate__c',
    'Date de naissance',
    'fecha_nacimiento',
    'Data di nascita',
    'Geboortedatum',
    'Data urodzenia',
    'Födelsedatum',
    'Fødselsdato',
    'Syntymäaika',
    'Doğum Tarihi',
    'Doğum Yılı',
    'DOĞUM YILI',
    'Дата рождения',
    '生年月日',
    '생년월일',
    'profile.birthdate',
    'attributes.properties.Birthday',
    'customer.profile.date_of_birth',
    'person/@birthday',
    'dateofbirth',
    'D.O.B.',
    'bday',
    'Geb.-Datum',
    'Jahrgang',
    'Né(e) le',
    'fecha_nac',
    'dt_nasc',
    'Nato il',
    'Born',
    'What is your date of birth?',
    'GBDAT',
    'BIRTHDT',
    'BRTHDT',
    'BirthDateUTC',
    'birthdate_date',
    'OXBIRTHDATE',
    'customers_dob',
    'CUST_DOB',
    'dGeburtstag',
    'birthdayAt',
    'Date_of_Birth__pc',
    'Date of Birth - Required',
    'When were you born?',
    'When is your birthday?',
    'Geboren am',
    'Date de naiss.',
    'DateNaiss',
    'fec_nac',
    'Nascimento',
    'DTNASC',
    'Data ur.',
    'Birth',
  ].map((column): Case => [
    `case 132: a birth date of this decade in the column ${column} is never sent`,
    { email: jane, [column]: '2020-06-16' },
    { desired: false },
  ]),
  ...[
    'Child date of birth',
    'Birthday email sent',
    'Dog birthday',
    'Stage',
    'Birthday (child)',
    'Geburtsdatum (Kind)',
    'Date of birth (dog)',
    'Date de naissance (enfant)',
    'Birthday [spouse]',
    'Birth Year (pet)',
    'Birthday (dad)',
    'Birthday (reminder sent)',
    'child.birthdate',
    'children.dob',
    'spouse.profile.birthday',
    'account.birthday',
    'Newborn',
    'Place of birth',
    'Birth weight',
    'When was your child born?',
    'Birthday coupon at',
  ].map((column): Case => [
    `case 132: the column ${column} does not show the age of the customer`,
    { email: jane, [column]: '2020-06-16' },
    { desired: true },
  ]),
  ...[
    'Alder (år)',
    'Ålder (år)',
    'Věk (let)',
    'Возраст (лет)',
    '年齢(歳)',
    'Wiek (lata)',
    'Edad (en años)',
    'Idade (em anos)',
    'Age (years)',
  ].map((column): Case => [
    `case 132: an age of 9 in the column ${column} is never sent`,
    { email: jane, [column]: '9' },
    { desired: false },
  ]),
  ...['Age (days)', 'Age (months)', 'Contact age', 'Member age', 'User age', 'Age (Auto)', 'Age [account]', 'Age (membership)'].map(
    (column): Case => [
      `case 132: the column ${column} does not show the age of the customer`,
      { email: jane, [column]: '3' },
      { desired: true },
    ],
  ),
  ...['平成27年6月30日', '令和元年5月1日', '٣٠/٠٦/٢٠١٥', '30/06/2558'].map((date_of_birth): Case => [
    `case 132: a birth date ${date_of_birth} of a child is never sent`,
    { email: jane, date_of_birth },
    { desired: false },
  ]),
  ...['平成7年6月30日', '昭和60年6月30日', '٣٠/٠٦/١٩٨٥', '30/06/2528'].map((date_of_birth): Case => [
    `case 132: a birth date ${date_of_birth} of an adult is sent`,
    { email: jane, date_of_birth },
    { desired: true },
  ]),
  ...['3 months', '3 days', '11 Wochen', '0-6 months', '3 mois'].map((age): Case => [
    `case 132: the duration ${age} is not an age of the customer`,
    { email: jane, 'Customer age': age },
    { desired: true },
  ]),
  ...[
    'customerAge',
    'Customer age',
    'Age (years)',
    'Alter (in Jahren)',
    'Âge',
    'Età',
    'Ikä',
    'Your age',
    'Leeftijd',
    'Возраст',
    '年齢',
  ].map((column): Case => [
    `case 132: an age of nine in the column ${column} is never sent`,
    { email: jane, [column]: '9' },
    { desired: false },
  ]),
  ['case 132: an adult is sent', { email: jane, age: '31', date_of_birth: '01.05.1990' }, { desired: true }],
  [
    'case 133: one of two consents missing is not consent',
    { email: jane, ads: 'yes', transfer: 'no' },
    { desired: false },
    {
      consent: [
        { column: 'ads', values: ['yes'] },
        { column: 'transfer', values: ['yes'] },
      ],
    },
  ],
  [
    'case 133: all consents given are consent',
    { email: jane, ads: 'yes', transfer: 'yes' },
    { desired: true },
    {
      consent: [
        { column: 'ads', values: ['yes'] },
        { column: 'transfer', values: ['yes'] },
      ],
    },
  ],
  ['case 191: two addresses in a cell are rejected', { email: 'jane@example.com ::: joe@example.com' }, R('EMAIL_INVALID')],
  [
    'case 191: two addresses in a cell are split if allowed',
    { email: 'jane@example.com ::: joe@example.com' },
    sends([mail(jane), mail('joe@example.com')].toSorted()),
    allow('split_lists'),
  ],
  ['case 193: an apostrophe before a phone is removed', { phone: "'+12025550143" }, sends([phone(us)])],
  ['case 193: a prefix p: before a phone is removed', { phone: 'p:+12025550143' }, sends([phone(us)])],
  ['case 194: if the phone is empty, the mobile is read', { mobile: us }, sends([phone(us)])],
  [
    'case 195: international digits without plus are left out',
    { email: jane, phone: '12025550143' },
    sends([mail(jane)], 'IDENTIFIER_DROPPED'),
  ],
  ...['DEU', 'deu', 'Germany', 'Deutschland', 'de'].map((country): Case => [
    `case 195: a national number is read with its country as ${country}`,
    { phone: '030 901820', country },
    sends([phone('+4930901820')]),
  ]),
  [
    'case 195: international digits without plus are read with a configured country',
    { phone: '12025550143', country: 'US' },
    sends([phone(us)]),
  ],
  ['case 196: no-break hyphens, dots and spaces in a phone number are removed', { phone: '+1\u2011202.555\u00a00143' }, sends([phone(us)])],
  ['case 196: direction marks around a phone number are removed', { phone: '\u202a+1 202\u2011555\u20110143\u202c' }, sends([phone(us)])],
  ['case 197: a plus alone is not a phone', { phone: '+', email: jane }, sends([mail(jane)])],
  ['case 197: a country code alone is not a phone', { phone: '+49' }, R('NO_IDENTIFIER')],
  ['case 199: a card number is not a phone', { phone: '4111111111111111' }, { reject: 'PHONE_COUNTRY_MISSING' }],
  ['case 199: a card number is not a partner id', { partner: '4111 1111 1111 1111' }, R('PARTNER_ID_PERSONAL')],
  ['case 202: one person in another case is one identifier', { email: 'JANE@example.com', second: jane }, sends([mail(jane)])],
  ['case 211: two equal phones are one identifier', { phone: us, mobile: '+1 (202) 555-0143' }, sends([phone(us)])],
  ['case 212: a row with only a name is rejected', { name: 'Jane' }, R('NO_IDENTIFIER')],
  ['case 213: a numeric record id is a partner id as text', { partner: '00017' }, sends(['partner_user_id 00017'])],
  ['case 214: an impossible national number is left out', { email: jane, phone: '123', country: 'US' }, sends([mail(jane)])],
  ['case 215: dots in a mailbox stay', { email: 'j.a.n.e@example.com' }, sends([mail('j.a.n.e@example.com')])],
  ['case 216: a trunk zero behind the country code is left out', { phone: '+490301234567' }, sends([phone('+49301234567')])],
  ['case 216: Italy keeps its zero', { phone: '06 698 12345', country: 'IT' }, sends([phone('+390669812345')])],
  ['case 217: a phone number of spaces counts as missing', { phone: ' ( ) ', email: jane }, sends([mail(jane)])],
  ['case 218: @Jack is jack', { handle: '@Jack' }, sends(['handle 31611159e7e6ff7843ea4627745e89225fc866621cfcfdbd40871af4413747cc'])],
  ['case 219: a digest is never hashed again', { email: hex }, sends([`email ${hex}`])],
  ['case 219: a value without @ is not a digest', { email: 'janeexample' }, R('EMAIL_INVALID')],
  [
    'case 220: the parts of a comma list are trimmed',
    { email: 'jane@example.com , joe@example.com' },
    sends([mail(jane), mail('joe@example.com')].toSorted()),
    allow('split_lists'),
  ],
  [
    'case 222: a letter that lowers to two is brought to one form',
    { email: '\u0386\u0345x@example.com' },
    sends([mail('\u0386\u0345x@example.com'.normalize('NFC').toLowerCase().normalize('NFC'))]),
  ],
]

describe('rows of people (sections 6, 8.2 and 8.3)', () => {
  test.for(cases)('%s', async ([, fields, expected, more]) => {
    const outcome = await through(csvOf([{ ...blank, ...fields }]), { ...settings, ...more })
    expect([outcome.refused, outcome.rejects[0]?.code]).toEqual([undefined, expected.reject])
    if (expected.sent !== undefined) expect(outcome.members[0]?.identifiers).toEqual(expected.sent)
    if (expected.desired !== undefined) expect(outcome.members[0]?.desired).toBe(expected.desired)
    for (const code of expected.says ?? []) expect(outcome.codes).toContain(code)
    const said = JSON.stringify([outcome.rejects, outcome.notes])
    expect(said).not.toContain(jane)
    expect(said).not.toContain('2025550143')
  })
})

const crm = (rows: readonly Fields[], more: Settings = {}) =>
  through(csvOf(rows), { name: 'crm.csv', destination: audience, map: { key: 'id', email: 'email' }, ...more })
const people = (count: number, change: (index: number) => Fields = () => ({})) =>
  Array.from({ length: count }, (_, i): Fields => ({ id: `C-${i}`, email: `p${i}@example.com`, ...change(i) }))

describe('whole exports', () => {
  test('case 110: role addresses on more than one row in a hundred are reported for the file', async () => {
    expect((await crm(people(200, (i) => (i < 3 ? { email: `info@shop${i}.example.com` } : {})))).notes.map(({ code }) => code)).toEqual([
      'EMAIL_ROLE_SHARE',
    ])
    expect((await crm(people(200, (i) => (i < 2 ? { email: `info@shop${i}.example.com` } : {})))).notes).toEqual([])
  })
  test('case 111: one email on more than fifty rows is reported', async () => {
    expect((await crm(people(400, (i) => (i < 60 ? { email: 'family@example.com' } : {})))).notes.map(({ code }) => code)).toEqual([
      'IDENTIFIER_REPEATED',
    ])
  })
  test('case 112: emails in more than a twentieth of the phones reject the file', async () => {
    const mapped = { map: { key: 'id', phone_number: 'phone', email: 'email' } }
    expect(
      (
        await crm(
          people(100, (i) => ({ phone: i < 6 ? `p${i}@example.com` : '+12025550143' })),
          mapped,
        )
      ).refused,
    ).toBe('FILE_MAPPING')
    expect(
      (
        await crm(
          people(100, (i) => ({ phone: i < 5 ? `p${i}@example.com` : '+12025550143' })),
          mapped,
        )
      ).refused,
    ).toBeUndefined()
  })
  test('case 126: partner ids that look like emails reject their rows and not the file, because no column is mapped wrongly', async () => {
    const rows = people(100, (i) => ({ email: '', partner: i < 10 ? `p${i}@example.com` : `loyal-${i}` }))
    const { refused, rejects } = await crm(rows, { map: { key: 'id', partner_user_id: 'partner' } })
    expect([refused, rejects.length]).toEqual([undefined, 10])
  })
  test.for(['case 119: one digest on more than 30 % of the rows is reported', 'case 221: one digest in every row is reported'] as const)(
    '%s',
    async (name) => {
      const digest = sha256('the whole file')
      const { notes } = await crm(people(120, (i) => (name.includes('every') || i < 40 ? { email: digest } : {})))
      expect(notes.map(({ code }) => code)).toContain('IDENTIFIER_SHARE')
    },
  )
  test('case 131: a missing column of consent rejects the file', async () => {
    expect((await crm(people(1), { consent: { column: 'ok', values: ['yes'] } })).refused).toBe('FILE_COLUMN_MISSING')
  })
  test.for([
    ['case 134: card numbers in an unmapped column are reported with its name', 'card', '4111 1111 1111 1111', 'card numbers'],
    [
      'case 134: bank accounts in an unmapped column are reported with its name',
      'account',
      'DE89 3704 0044 0532 0130 00',
      'bank account numbers',
    ],
  ] as const)('%s', async ([, column, value, what]) => {
    const { notes, members } = await crm(people(3, () => ({ [column]: value })))
    expect(members).toHaveLength(3)
    expect(notes).toEqual([
      { code: 'PERSONAL_COLUMN', field: column, message: `the column "${column}" contains what looks like ${what}`, count: 1, lines: [] },
    ])
    expect(JSON.stringify(notes)).not.toContain(value)
  })
  test('case 190: an address of a colleague beside that of the contact is not read', async () => {
    const { members } = await crm(people(1, () => ({ 'Contact owner email': 'rep@example.com' })))
    expect(members[0]?.identifiers).toEqual([mail('p0@example.com')])
  })
  test('case 192: repeated headers are rejected, and read by position', async () => {
    const text = 'id,email,email,email\nC-1,a@example.com,b@example.com,\n'
    expect((await through(text, { name: 'crm.csv', destination: audience, map: { key: 'id', email: 'email' } })).refused).toBe(
      'FILE_DUPLICATE_COLUMN',
    )
    const source = { csv: { header_row: 1, columns: ['id', 'email_1', 'email_2', 'email_3'] } }
    const { members } = await through(text, {
      name: 'crm.csv',
      destination: audience,
      source,
      map: { key: 'id', email: ['email_1', 'email_2', 'email_3'] },
    })
    expect(members[0]?.identifiers).toEqual([mail('a@example.com'), mail('b@example.com')].toSorted())
  })
  test('case 200: a user name is never a handle, and a file without other identifiers is rejected', async () => {
    expect((await through('id,username\nC-1,jack\n', { name: 'crm.csv', destination: audience })).refused).toBe('FILE_COLUMN_MISSING')
  })
  test('case 201: unsubscribed people are opted out if the column is mapped', async () => {
    const { members, codes } = await crm(
      people(2, (i) => ({ Unsubscribed: i === 0 ? 'true' : 'false' })),
      { consent: { column: 'Unsubscribed', values: ['false'] } },
    )
    expect(members.map(({ desired }) => desired)).toEqual([false, true])
    expect(codes).not.toContain('CONSENT_UNMAPPED')
  })
  test.for([
    'UNSUB_TIME',
    'Unsubscribed At',
    'hard_bounced',
    'blacklisted',
    'CLEAN_TIME',
    'opted_out',
    'Do Not Contact',
    'Email Suppressions',
  ])('case 201: an unmapped consent column %s withholds the run', async (column) => {
    const { codes } = await crm(people(1, () => ({ [column]: 'x' })))
    expect(codes).toContain('CONSENT_UNMAPPED')
    expect(guardResultsOfWarnings(unguarded, [{ code: 'CONSENT_UNMAPPED', field: column, message: '', count: 1, lines: [] }])).toHaveLength(
      1,
    )
  })
  test.for([
    ['state', 'Unsubscribed'],
    ['status', 'hard_bounce'],
    ['list', 'cleaned'],
  ] as const)('case 201: an opt-out column %s is recognized by its words and withholds the run', async ([column, word]) => {
    const { codes } = await crm(people(3, (i) => ({ [column]: i === 2 ? word : 'active' })))
    expect(codes).toContain('LEFT_UNMAPPED')
    expect(guardResultsOfWarnings(unguarded, [{ code: 'LEFT_UNMAPPED', field: column, message: '', count: 1, lines: [] }])).toHaveLength(1)
    const harmless = await crm(people(3, () => ({ state: 'NY', status: 'customer' })))
    expect(harmless.codes).not.toContain('LEFT_UNMAPPED')
    const read = await crm(
      people(3, () => ({ [column]: word })),
      { consent: { column, values: ['active'] } },
    )
    expect(read.codes).not.toContain('LEFT_UNMAPPED')
  })
  test('case 203: UTF-16 with mark and no final line end', async () => {
    const { members } = await through(Buffer.from(`\ufeff${csvOf(people(2)).trimEnd()}`, 'utf16le'), {
      name: 'crm.csv',
      destination: audience,
      map: { key: 'id', email: 'email' },
    })
    expect(members).toHaveLength(2)
  })
  test('case 208: IP addresses and coordinates are not sent', async () => {
    const { members, codes } = await crm(people(1, () => ({ ip: '203.0.113.7', latitude: '52.5' })))
    expect(members[0]?.identifiers).toHaveLength(1)
    expect(codes.filter((code) => code === 'COLUMN_UNKNOWN')).toHaveLength(2)
  })
  test('case 210: headers in another language are rejected, and read with a mapping', async () => {
    const rows = [{ Kundennummer: '1', 'E-Mail-Adresse': jane }]
    expect((await crm(rows)).refused).toBe('FILE_COLUMN_MISSING')
    expect((await crm(rows, { map: { key: 'Kundennummer', email: 'E-Mail-Adresse' } })).members[0]?.identifiers).toEqual([mail(jane)])
  })
  test('case 206: digests without header are read if the column is named', async () => {
    const text = people(3)
      .map((_, i) => `${sha256(`p${i}@example.com`)}\n`)
      .join('')
    const { members } = await through(text, {
      name: 'crm.csv',
      destination: audience,
      source: { csv: { columns: ['email'] } },
      map: { key: 'email', email: { column: 'email', hashed: true } },
    })
    expect(members.map(({ identifiers }) => identifiers[0])).toEqual(people(3).map((_, i) => mail(`p${i}@example.com`)))
  })
})

import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import examples from 'libphonenumber-js/examples.mobile.json' with { type: 'json' }
import { getCountries, getExampleNumber, parsePhoneNumberFromString, type CountryCode } from 'libphonenumber-js/max'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hashIdentifier, packPlain } from '../../../src/mapping/identifiers/packIdentifier.ts'
import { fastPhone } from '../../../src/mapping/identifiers/phoneFast.ts'
import { normalizePhone } from '../../../src/mapping/identifiers/phone.ts'
import { normalizeIdentifier } from '../../../src/mapping/identifiers/normalize.ts'
import type { IdentifierType } from '../../../src/model/record.ts'

const vectors = readFileSync(new URL('../../fixtures/identifier-vectors.tsv', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('kind\t'))
  .map((line) => line.split('\t') as [IdentifierType, string, string, string, string])

/** Returns the digest in hex that is sent, or the bytes of a `partner_user_id`. Undefined for a value that is not usable. */
function digestOf(kind: IdentifierType, input: string, country: string | undefined): string | undefined {
  const result = normalizeIdentifier(kind, input, country)
  if ('code' in result) return undefined
  const packed = kind === 'partner_user_id' ? packPlain(result.text) : hashIdentifier(kind, result.text)
  return packed.toString('hex', 1)
}

describe('published vectors', () => {
  test('has enough vectors', () => expect(vectors.length).toBeGreaterThan(260))

  test.for(vectors)('%s %s (%s) becomes %s', ([kind, input, country, normalized, sha256]) => {
    const result = normalizeIdentifier(kind, input, country === '' ? undefined : country)
    const isInvalid = normalized === '(invalid)'
    expect('text' in result ? result.text : undefined).toBe(isInvalid ? undefined : normalized)
    expect(digestOf(kind, input, country === '' ? undefined : country)).toBe(isInvalid ? undefined : sha256)
  })

  test.for([
    ['email', '  Jane.Doe+News@Example.COM ', undefined, 'dbf1912b4cad4df9823f627874244e64b50a6ac550b9cb33b17df671a26679db'],
    ['email', ' Foo@Example.COM ', undefined, '321ba197033e81286fedb719d60d4ed5cecaed170733cb4a92013811afc0e3b6'],
    ['phone_number', '(202) 555-0143', 'US', '54af34308301e43f00650baaeb6cf4925b942201d74191b26d48292cfec907fd'],
    ['phone_number', '+1 (415) 555-2671', undefined, 'cb6880e416769253645cb9c6b8989154bf66a56a77fc14c81fb1019663cbb928'],
    ['handle', '@SampleHandle', undefined, 'f7bcb963bc6ffbea5e35162f7cd172c8038c50184ddb5ee5c6e0ceb0bed73da1'],
    ['handle', '@Jack ', undefined, '31611159e7e6ff7843ea4627745e89225fc866621cfcfdbd40871af4413747cc'],
    ['service_id', '1001', undefined, 'fe675fe7aaee830b6fed09b64e034f84dcbdaeb429d9cccd4ebb90e15af8dd71'],
    ['device_id', '00112233-4455-6677-8899-AABBCCDDEEFF', undefined, 'e34f7b59834d35a6dcb646f99b7d856df3ffbc955cece7c90714d13705703680'],
  ] as const)('%s %s hashes as the specification companion prints it', ([kind, input, country, sha256]) => {
    expect(digestOf(kind, input, country)).toBe(sha256)
  })
})

describe('phones', () => {
  const countries = getCountries()
  const spellings = (country: CountryCode): string[] => {
    const example = getExampleNumber(country, examples)
    if (example === undefined) return []
    const national = example.formatNational()
    const digits = national.replace(/\D/g, '')
    const significant = String(example.nationalNumber)
    return [
      example.number,
      example.formatInternational(),
      national,
      digits,
      significant,
      national.replace(/[ ()-]/g, '.'),
      `(${significant.slice(0, 3)}) ${significant.slice(3)}`,
      `00${example.number.slice(1)}`,
      example.number.slice(1),
      `+${example.countryCallingCode}${digits}`,
      `+${example.countryCallingCode} 0${significant}`,
      `0${significant}`,
      `1${significant}`,
      `8${significant}`,
      significant.slice(0, -1),
      `${significant}1`,
      `${digits}5`,
      significant.replace(/\d$/, '9'),
      significant.replace(/^\d/, '7'),
      significant.replace(/^\d/, '2'),
      significant.replace(/^\d\d/, '90'),
      significant.replace(/^\d/, '0'),
      `+${example.countryCallingCode}${significant.replace(/^\d/, '2')}`,
      `+${example.countryCallingCode}${significant.replace(/^\d/, '8')}`,
      `+${example.countryCallingCode}${significant.slice(0, -2)}`,
      `+${example.countryCallingCode}${significant}00`,
      ...Array.from(
        { length: 40 },
        (_, i) =>
          `${significant.slice(0, 2)}${String((i * 7919 + 104729) % 10 ** Math.max(1, significant.length - 2)).padStart(Math.max(1, significant.length - 2), '0')}`,
      ),
      ...Array.from(
        { length: 40 },
        (_, i) =>
          `+${example.countryCallingCode}${String((i * 982_451_653 + 57_885_161) % 10 ** significant.length).padStart(significant.length, '3')}`,
      ),
      ...Array.from(
        { length: 40 },
        (_, i) => `0${String((i * 982_451_653 + 57_885_161) % 10 ** significant.length).padStart(significant.length, '4')}`,
      ),
    ]
  }
  const library = (text: string, country: CountryCode): string | undefined => {
    const parsed = parsePhoneNumberFromString(text, { defaultCountry: country, extract: false })
    return parsed?.isValid() === true ? parsed.number : undefined
  }

  test('the fast path never differs from the library in any country', () => {
    let answered = 0
    let asked = 0
    const wrong: unknown[] = []
    for (const country of countries) {
      for (const text of spellings(country)) {
        for (const home of [country, 'US', 'DE', 'BR', 'IT'] as const) {
          asked += 1
          const quick = fastPhone(text, home)
          if (quick === undefined) continue
          answered += 1
          const slow = library(text, home)
          if (quick !== slow) wrong.push({ text, home, quick, slow })
        }
      }
    }
    expect(asked).toBeGreaterThan(100_000)
    expect(answered).toBeGreaterThan(20_000)
    expect(wrong).toEqual([])
  })

  test('texts that are not countries take no memory', () => {
    setFlagsFromString('--expose-gc')
    const collectGarbage = runInNewContext('gc') as () => void
    const heapMebibytes = () => {
      collectGarbage()
      return process.memoryUsage().heapUsed / 1024 ** 2
    }
    const before = heapMebibytes()
    for (let i = 0; i < 1000; i++) fastPhone('0171 2345678', String(i).padEnd(50_000, 'x'))
    // The texts have 48 MiB.
    expect(heapMebibytes() - before).toBeLessThan(24)
  })

  test('the fast path handles the usual spellings of most countries', () => {
    const usual = countries.flatMap((country) => {
      const example = getExampleNumber(country, examples)
      return example === undefined
        ? []
        : ([
            [example.number, country],
            [example.formatInternational(), country],
            [example.formatNational(), country],
          ] as const)
    })
    const answered = usual.filter(([text, country]) => fastPhone(text, country) !== undefined)
    expect(answered.length / usual.length).toBeGreaterThan(0.85)
  })

  test.for([
    ['+44 (0) 20 7946 0958', undefined, '+442079460958'],
    ['(+44) 20 7946 0958', undefined, '+442079460958'],
    ['(+44)(0)20 7946 0958', 'GB', '+442079460958'],
    ['(+1) 202-555-0143', 'DE', '+12025550143'],
    ['+490171 2345678', undefined, '+491712345678'],
    ['0171 2345678', 'DE', '+491712345678'],
    ['+39 06 1234 5678', undefined, '+390612345678'],
    ["'+57 301 2345678", undefined, '+573012345678'],
    ['p:+15555550100', undefined, undefined],
    ['p:+12025550143', undefined, '+12025550143'],
    ['+1\u2011202\u2011555\u20110143', undefined, '+12025550143'],
    ['+1.202.555.0143', undefined, '+12025550143'],
    ['+1\u00a0202\u00a0555\u00a00143', undefined, '+12025550143'],
    ['٠٠٤٩١٧١٢٣٤٥٦٧٨', 'DE', '+491712345678'],
    ['2134567890 ext 123', 'US', '+12134567890'],
    ['2134567890 x12', 'US', '+12134567890'],
    ['202-555-0143', undefined, undefined],
    ['12025550143', undefined, undefined],
    ['1.20256E+10', 'US', undefined],
    ['1111111111', 'US', undefined],
    ['666 666 666', 'ES', undefined],
    ['8888888888', 'US', undefined],
    ['+33333333333', undefined, undefined],
    ['+77777777777', undefined, undefined],
    ['+44 7911 12CALL', undefined, undefined],
    ['jane@example.com', 'US', undefined],
    ['12345', 'US', undefined],
    ['4111111111111111', 'US', undefined],
    ['202-555-0143', 'ZZ', undefined],
    // Valid as a national number, and as an international one without +.
    ['491712345678', 'DE', undefined],
    ['49 171 2345678', 'DE', undefined],
    ['0491712345678', 'DE', '+49491712345678'],
    ['00491712345678', 'DE', '+491712345678'],
    ['12134567890', 'US', '+12134567890'],
    ['33612345678', 'FR', '+33612345678'],
    ['44 (0)20 7946 0958', 'GB', '+442079460958'],
    ['31 0612345678', 'NL', '+31612345678'],
    ['54 11 15-2345-6789', 'AR', '+5491123456789'],
  ] as const)('%s (%s) is %s', ([text, country, expected]) => {
    const result = normalizePhone(text, country)
    expect('text' in result ? result.text : undefined).toBe(expected)
  })
})

describe('emails', () => {
  test.for([
    ['a@example.com, b@example.com', 'contains more than one address, or characters that no address has'],
    ['a@example.com ::: b@example.com', 'contains more than one address, or characters that no address has'],
    ['a @example.com', 'contains a space'],
    ['example.com', 'has no @'],
    ['@example.com', 'has no text before the @'],
  ] as const)('%s: %s', ([text, message]) => {
    expect(normalizeIdentifier('email', text, undefined)).toEqual({ code: 'EMAIL_INVALID', message })
  })

  const email = (text: string) => {
    const result = normalizeIdentifier('email', text, undefined)
    return 'text' in result ? result.text : result.code
  }

  test.for([
    ['josé@example.com'.normalize('NFD'), 'josé@example.com'],
    ['\u200b Jane@Example.com\ufeff', 'jane@example.com'],
    ['j.a.n.e+tag@example.com', 'j.a.n.e+tag@example.com'],
    ['"jane doe"@example.com', '"jane doe"@example.com'],
    ['a@bücher.example', 'a@bücher.example'],
    ['A@XN--BCHER-KVA.example', 'a@xn--bcher-kva.example'],
    ['İ@example.com', 'i̇@example.com'],
    ["o'neil@example.com", "o'neil@example.com"],
    ['Name <a@b.example>', 'EMAIL_INVALID'],
    ['mailto:a@b.example', 'EMAIL_INVALID'],
    ['a@b.example;c@d.example', 'EMAIL_INVALID'],
    ['a@b.example ::: c@d.example', 'EMAIL_INVALID'],
    ['a.example.com', 'EMAIL_INVALID'],
    ['a@b@c.example', 'EMAIL_INVALID'],
    ['a@localhost', 'EMAIL_INVALID'],
    ['a b@c.example', 'EMAIL_INVALID'],
    ['a@b.example.', 'EMAIL_INVALID'],
    ['a..b@c.example', 'EMAIL_INVALID'],
    ['.a@c.example', 'EMAIL_INVALID'],
    ['a.@c.example', 'EMAIL_INVALID'],
    ['a@-b.example', 'EMAIL_INVALID'],
    ['a@b-.example', 'EMAIL_INVALID'],
    ['a@b.1', 'EMAIL_INVALID'],
    [`${'a'.repeat(65)}@b.example`, 'EMAIL_INVALID'],
    [`a@${'b.'.repeat(130)}example`, 'EMAIL_INVALID'],
    ['a＠b.example', 'EMAIL_INVALID'],
    ['test@test.com', 'EMAIL_INVALID'],
    ['@b.example', 'EMAIL_INVALID'],
    ['a@', 'EMAIL_INVALID'],
  ] as const)('%s is %s', ([text, expected]) => expect(email(text)).toBe(expected))

  test('normalizing twice changes nothing', () => {
    let seen = 0
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (local) => {
        const first = email(`${local}@example.com`)
        if (first === 'EMAIL_INVALID') return true
        seen += 1
        return email(first) === first
      }),
      { numRuns: 5000 },
    )
    expect(seen).toBeGreaterThan(100)
  })

  test('the second normalization is applied', () => {
    expect(email('\u0386\u0345@example.com')).toBe(email(email('\u0386\u0345@example.com')))
  })

  test('look-alikes of other alphabets get a warning', () => {
    expect(normalizeIdentifier('email', 'аdmin@example.com', undefined)).toMatchObject({ note: 'EMAIL_MIXED_SCRIPT' })
    expect(normalizeIdentifier('email', 'noreply@example.com', undefined)).toMatchObject({ note: 'EMAIL_ROLE' })
  })
})

test.for([
  ['handle', 'https://example.com/jack', 'HANDLE_INVALID'],
  ['handle', 'a'.repeat(16), 'HANDLE_INVALID'],
  ['handle', 'jack😀', 'HANDLE_INVALID'],
  ['service_id', '1e18', 'SERVICE_ID_INVALID'],
  ['service_id', '12.0', 'SERVICE_ID_INVALID'],
  ['device_id', '00112233445566778899AABBCCDDEEFF', 'DEVICE_ID_INVALID'],
  ['device_id', '00000000-0000-0000-0000-000000000000', 'DEVICE_ID_INVALID'],
  ['partner_user_id', 'jane@example.com', 'PARTNER_ID_PERSONAL'],
  ['partner_user_id', '+12025550143', 'PARTNER_ID_PERSONAL'],
  ['partner_user_id', '(202) 555-0143', 'PARTNER_ID_PERSONAL'],
  ['partner_user_id', '202-555-0143', 'PARTNER_ID_PERSONAL'],
  ['partner_user_id', '4111 1111 1111 1111', 'PARTNER_ID_PERSONAL'],
  ['partner_user_id', 'jane%40example.com', 'PARTNER_ID_PERSONAL'],
  ['partner_user_id', 'jane (at) example.com', 'PARTNER_ID_PERSONAL'],
  ['partner_user_id', 'jane @ example.com', 'PARTNER_ID_PERSONAL'],
  ['partner_user_id', 'jane&#64;example.com', 'PARTNER_ID_PERSONAL'],
  ['partner_user_id', '0049301234567', 'PARTNER_ID_PERSONAL'],
  ['partner_user_id', 'tel:+12025550143', 'PARTNER_ID_PERSONAL'],
  ['partner_user_id', 'p:+12025550143', 'PARTNER_ID_PERSONAL'],
  ['partner_user_id', 'whatsapp:12025550143', 'PARTNER_ID_PERSONAL'],
  ['partner_user_id', '\uff0b1 202 555 0143', 'PARTNER_ID_PERSONAL'],
  ['partner_user_id', '+\u0661\u0662\u0660\u0662\u0665\u0665\u0665\u0660\u0661\u0664\u0663', 'PARTNER_ID_PERSONAL'],
] as const)('%s %s is rejected as %s', ([kind, text, code]) => expect(normalizeIdentifier(kind, text, undefined)).toMatchObject({ code }))

test.for([
  ['partner_user_id', '000123', '000123'],
  ['partner_user_id', 'LOY-12-34', 'LOY-12-34'],
  ['service_id', "'0042", '0042'],
  ['partner_user_id', '2025550143', '2025550143'],
  ['partner_user_id', 'p:2025550143', 'p:2025550143'],
  ['partner_user_id', '\uff11\uff12\uff13', '\uff11\uff12\uff13'],
] as const)('%s %s stays %s', ([kind, text, expected]) =>
  expect(normalizeIdentifier(kind, text, undefined)).toMatchObject({ text: expected }),
)

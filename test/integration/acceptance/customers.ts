/** Customer exports with the messy values of real shops, and their expected identifiers, from one seed. All data is invented. */
import { email, phone, plain, type Identifier } from '../../support/digests.ts'

/** Country, calling code, start of a mobile number, digits that follow it, trunk prefix. */
const countries = [
  ['US', '1', '202555', 4, ''],
  ['CA', '1', '416555', 4, ''],
  ['GB', '44', '740012', 4, '0'],
  ['DE', '49', '17139200', 2, '0'],
  ['ES', '34', '61100', 4, ''],
  ['IT', '39', '31200', 5, ''],
  ['NL', '31', '61000', 4, '0'],
  ['BE', '32', '47000', 4, '0'],
  ['AT', '43', '66400', 5, '0'],
  ['CH', '41', '78000', 4, '0'],
  ['SE', '46', '70174', 4, '0'],
  ['NO', '47', '4061', 4, ''],
  ['DK', '45', '2012', 4, ''],
  ['FI', '358', '41200', 4, '0'],
  ['PL', '48', '51200', 4, ''],
  ['PT', '351', '91200', 4, ''],
  ['IE', '353', '85012', 4, '0'],
  ['AU', '61', '49157', 4, '0'],
  ['JP', '81', '90120', 5, '0'],
  ['IN', '91', '81234', 5, '0'],
] as const

export interface Customer {
  readonly key: string
  /** Cells as the export has them. */
  readonly cells: readonly [email: string, secondEmail: string, phone: string, country: string, loyalty: string]
  readonly identifiers: readonly Identifier[]
}

/** Source and map of a pipeline of customers. */
export const customersMap = `source: { url: "{folder}/crm.csv" }
map:
  key: customer_id
  email: [email, second_email]
  phone_number: { column: phone, default_country: country }
  partner_user_id: loyalty_no
`

export const customersYaml = `${customersMap}destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`

/** Numbers from 0 to 1, the same for the same seed. */
export function chance(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export function customers(count: number, seed: number, from = 0): Customer[] {
  const random = chance(seed)
  return Array.from({ length: count }, (_, i) => customer(from + i, random))
}

/** A person with an address of their own, and random further identifiers. Every tenth shares the address or phone of a family. */
export function customer(n: number, random: () => number): Customer {
  const pick = (below: number) => Math.floor(random() * below)
  const own = `${['ada', 'émile', 'o’neil', 'li+news', 'j.doe'][pick(5)] ?? ''}.${n}@example.com`
  const identifiers: Identifier[] = [email(own)]
  let second = ''
  if (pick(10) === 0) {
    const family = `family.${pick(200)}@example.org`
    second = messyEmail(family, pick)
    identifiers.push(email(family))
  } else if (pick(20) === 0) second = ['n/a', 'NULL', '-'][pick(3)] ?? ''
  let cell = ''
  const [country, code, start, digits, trunk] = countries[n % countries.length] ?? countries[0]
  if (pick(3) > 0) {
    const number = `${start}${String(pick(10 ** digits)).padStart(digits, '0')}`
    cell = messyPhone(code, number, trunk, pick)
    identifiers.push(phone(`+${code}${number}`))
  }
  const loyalty = pick(4) === 0 ? `L-${n}-x` : ''
  if (loyalty !== '') identifiers.push(plain(loyalty))
  return { key: `C${n}`, cells: [messyEmail(own, pick), second, cell, country, loyalty], identifiers }
}

function messyEmail(text: string, pick: (below: number) => number): string {
  const forms = [
    text,
    text.toUpperCase(),
    ` ${text}  `,
    `\u00a0${text}\u200b`,
    text.normalize('NFD'),
    `\t${text.replace('example', 'Example')}`,
  ]
  return forms[pick(forms.length)] ?? text
}

function messyPhone(code: string, number: string, trunk: string, pick: (below: number) => number): string {
  const spaced = number.replace(/(\d{3})(\d{3})(?=\d)/, '$1 $2-')
  const forms = [
    `+${code}${number}`,
    `+${code} ${spaced}`,
    `+${code} (${number.slice(0, 2)}) ${number.slice(2)}`,
    `${trunk}${number}`,
    `${trunk}${spaced}`,
    `'+${code}.${number}`,
  ]
  return forms[pick(forms.length)] ?? number
}

export function crm(rows: readonly Customer[]): string {
  const lines = rows.map(({ key, cells }) =>
    [key, ...cells].map((cell) => (/[",\s]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(','),
  )
  return `customer_id,email,second_email,phone,country,loyalty_no\n${lines.join('\n')}\n`
}

export const identifiersOf = (rows: readonly Customer[]): Identifier[] => rows.flatMap(({ identifiers }) => identifiers)

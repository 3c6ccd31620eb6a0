/**
 * Writes pipelines/data/customers.csv: 2,000 invented customers as a CRM would export them, with typical faults. Writes the same file every
 * time. Emails have example domains, and phone numbers are from ranges that are reserved for fiction.
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'

const firstNames = [
  'Ada',
  'Björn',
  'Chloé',
  'Dávid',
  'Elif',
  'Fatma',
  'Giulia',
  'Hüseyin',
  'Inês',
  'José',
  'Kaito',
  'Łucja',
  'Mehmet',
  'Núria',
  'Olaf',
  'Paola',
  'Quinn',
  'Renée',
  'Søren',
  'Tomáš',
  'Ufuk',
  'Vera',
  'Wanda',
  'Ximena',
  'Yara',
  'Zoë',
]
const lastNames = [
  'Álvarez',
  'Brandt',
  'Çelik',
  'Dupont',
  'Eriksen',
  'Ferrari',
  'Grünwald',
  'Horvat',
  'Ivanova',
  'Jansen',
  'Kowalski',
  'Lindqvist',
  'Moreau',
  'Novák',
  "O'Neil",
  'Pereira',
  'Quiroga',
  'Rossi',
  'Šimić',
  'Tanaka',
]
const domains = ['example.com', 'mail.example.org', 'post.example.net', 'shop-customer.example']
const areas = ['202', '213', '305', '312', '415', '512', '617', '702', '808', '917']

// A fixed linear congruence: the file must not change from one run to the next.
let state = 20_261_121
const random = (below: number): number => {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
  return Math.floor((state / 2_147_483_648) * below)
}
const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)] as Item
const two = (n: number) => String(n).padStart(2, '0')
const plain = (text: string) =>
  text
    .normalize('NFD')
    .replace(/[^A-Za-z]/g, '')
    .toLowerCase()
const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

function phone(country: string): string {
  const last = two(random(100))
  const area = pick(areas)
  if (country === 'DE') return pick([`0171 39200${last}`, `+49 171 39200${last}`, `0049 (171) 39200${last}`])
  return pick([
    `(${area}) 555-01${last}`,
    `${area}-555-01${last}`,
    `+1 ${area} 555 01${last}`,
    `1.${area}.555.01${last}`,
    `+1\u2011${area}\u2011555\u201101${last}`,
  ])
}

const lines = ['customer_id,first_name,last_name,email,second_email,phone,country,loyalty_no,marketing_ok,joined_at,notes']
const emails: string[] = []
for (let i = 1; i <= 1990; i++) {
  const first = pick(firstNames)
  const last = pick(lastNames)
  const country = pick(['US', 'US', 'US', 'CA', 'DE', 'DE'])
  const address = `${plain(first)}.${plain(last)}${i}@${pick(domains)}`
  emails.push(address)
  const dirt = i % 97
  const email =
    dirt === 1
      ? ` ${address.toUpperCase()} `
      : dirt === 2
        ? createHash('sha256').update(address).digest('hex')
        : dirt === 3
          ? address.replace('@', ' at ')
          : dirt === 4
            ? ''
            : dirt === 5
              ? 'n/a'
              : dirt === 6
                ? `\u200b${address}`
                : dirt === 7
                  ? (emails[i - 20] ?? address)
                  : address
  const number = dirt === 4 || dirt === 3 ? '' : dirt === 8 ? '555-01' : dirt === 9 ? '+' : i % 4 === 0 ? '' : phone(country)
  const second = i % 13 === 0 ? `${plain(first)}${i}@post.example.net` : ''
  const consent = i % 11 === 0 ? 'no' : pick(['yes', 'yes', 'Yes', 'true', '1'])
  const note = i % 29 === 0 ? 'asked about "gift wrap", twice' : ''
  lines.push(
    [
      `C${String(i).padStart(5, '0')}`,
      first,
      last,
      email,
      second,
      number,
      country,
      i % 3 === 0 ? `L-${100_000 + i}` : '',
      consent,
      `2025-${two(1 + random(12))}-${two(1 + random(28))}`,
      note,
    ]
      .map(quoted)
      .join(','),
  )
}
// Ten invented people of a public example file. pipelines/data/README.md names its origin.
const [, ...people] = readFileSync(new URL('../pipelines/data/people.csv', import.meta.url), 'utf8')
  .trim()
  .split(/\r?\n/)
for (const person of people) {
  const [id = '', first = '', last = '', email = ''] = person.split(',')
  lines.push([`P${id.padStart(5, '0')}`, first, last, email, '', '', 'US', '', 'yes', '2025-06-01', ''].map(quoted).join(','))
}
writeFileSync(new URL('../pipelines/data/customers.csv', import.meta.url), `${lines.join('\n')}\n`)

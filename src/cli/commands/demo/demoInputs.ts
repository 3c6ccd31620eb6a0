import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Writes the inputs of day two. A second export of the feed, with new descriptions, replaces the first. One customer in 100 is removed,
 * about one in 33 gets a new phone number, and 40 are added. Deterministic. `folder`: folder of the demo's sources.
 */
export function makeDayTwo(folder: string): void {
  renameSync(join(folder, 'catalog-day-two.xml'), join(folder, 'catalog.xml'))
  const file = join(folder, 'customers.csv')
  const [header = '', ...rows] = readFileSync(file, 'utf8').trimEnd().split(/\r?\n/)
  const columns = header.split(',')
  const phone = columns.indexOf('phone')
  const keptRows = rows.filter((_, i) => i % 100 !== 50)
  const changed = keptRows.map((row, i) =>
    i % 33 === 7 && !row.includes('"') ? row.split(',').with(phone, phoneNumber(i)).join(',') : row,
  )
  const added = Array.from({ length: 40 }, (_, i) => newCustomer(columns, i))
  writeFileSync(file, `${[header, ...changed, ...added].join('\n')}\n`)
}

/** Writes the inputs of day three: one price in 40 rises by 1, and one customer of day two is removed. */
export function makeDayThree(folder: string): void {
  const feed = join(folder, 'catalog.xml')
  let nth = 0
  writeFileSync(
    feed,
    readFileSync(feed, 'utf8').replace(/(<(?:g:)?price\b[^>]*>\s*(?:<!\[CDATA\[)?\s*)(\d+)/g, (whole, open: string, amount: string) =>
      nth++ % 40 === 0 ? `${open}${Number(amount) + 1}` : whole,
    ),
  )
  const customers = join(folder, 'customers.csv')
  writeFileSync(customers, readFileSync(customers, 'utf8').replace(/^N00001,.*\n/m, ''))
}

/** Returns the CSV line of a new customer; columns that are not listed here are empty. */
function newCustomer(columns: readonly string[], i: number): string {
  const values: Readonly<Record<string, string>> = {
    customer_id: `N${String(i + 1).padStart(5, '0')}`,
    first_name: 'Nova',
    last_name: 'Example',
    email: `nova.${i + 1}@example.com`,
    phone: phoneNumber(i),
    country: 'US',
    marketing_ok: 'yes',
  }
  return columns.map((column) => values[column] ?? '').join(',')
}

const areaCodes = ['202', '212', '303', '404', '415', '512', '617'] as const

/** Returns an invented phone number: 555-0100 to 555-0199 are reserved for fiction in every area code. */
function phoneNumber(i: number): string {
  return `+1-${areaCodes[i % areaCodes.length]}-555-01${String(i % 100).padStart(2, '0')}`
}

/**
 * Expected digests of the service (docs/sandbox.md), computed from the data of the test. Normalization and hashing are written
 * again here, so that an error of Sluice is not compared with itself.
 */
import { createHash } from 'node:crypto'

export type Identifier = readonly [type: string, value: string]

export function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}

/** Returns an identifier as the service stores it. */
export const hashed = (type: string, text: string): Identifier => [type, sha256(text)]
export const email = (text: string): Identifier => hashed('email', text)
export const phone = (e164: string): Identifier => hashed('phone_number', e164)
export const plain = (text: string): Identifier => ['partner_user_id', text]

export function audienceDigest(identifiers: Iterable<Identifier>): string {
  return digestOf(new Set(Array.from(identifiers, ([type, value]) => `${type}\t${value}\n`)))
}

/** Products as the fields that the service stores. */
export function catalogDigest(products: Iterable<Readonly<Record<string, unknown>>>): string {
  const lines = Array.from(products, (product) => {
    const { product_key: _, item_group_key: __, ...written } = product
    const fields = Object.entries(written).filter(([, value]) => value !== undefined && value !== null)
    fields.sort(([a], [b]) => (a < b ? -1 : 1))
    return `${String(product['id'])}\t${JSON.stringify(Object.fromEntries(fields))}\n`
  })
  return digestOf(lines)
}

function digestOf(lines: Iterable<string>): string {
  const sorted = Array.from(lines, (line) => Buffer.from(line)).sort(Buffer.compare)
  const digest = createHash('sha256')
  for (const line of sorted) digest.update(line)
  return digest.digest('hex')
}

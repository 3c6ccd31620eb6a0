/**
 * Measures the sandbox: signed requests of 25 products, batches of 2,500 users, and the memory of many memberships. The client that signs
 * runs in a separate process.
 */
import { createHash } from 'node:crypto'
import { Pool } from 'undici'
import { Memberships } from '../src/sandbox/audiences/memberships.ts'
import { authorization } from '../test/support/signer.ts'
import { inChild } from './child.ts'
import { seconds, type Bench } from './figure.ts'
import { startSandboxProcess } from './sandboxProcess.ts'

export const bench: Bench = async ({ small, large, report }) => {
  const sandbox = await startSandboxProcess()
  try {
    await sandbox.control('PUT', 'switches', { rate_limits: 'off' })
    const products = await inChild('./sandbox.ts', 'client', { kind: 'products', url: sandbox.url, total: small ? 1_000 : 6_000 })
    const perSecond = Number(products['requests']) / products.seconds
    report({
      figure: 'signed requests of 25 products',
      measured: `${Math.round(perSecond)}/s, ${String(products['refused'])} refused`,
      ratio: `${Math.round(perSecond * 25)} products/s`,
      target: '2,000/s',
      met: perSecond >= 2_000 && products['refused'] === 0,
    })
    const users = await inChild('./sandbox.ts', 'client', { kind: 'users', url: sandbox.url, total: small ? 40 : 400 })
    report({
      figure: `${String(users['requests'])} batches of 2,500 users`,
      measured: `${seconds(users.seconds)}, ${String(users['refused'])} refused`,
      ratio: `${Math.round((Number(users['requests']) * 2_500) / users.seconds / 1000)} k users/s`,
      target: small ? '30 s for 400' : '30 s',
      met: users.seconds <= 30 && users['refused'] === 0,
    })
    const started = performance.now()
    const audience = (await sandbox.control('GET', 'audiences/1nmth')) as { readonly members: number }
    report({
      figure: 'count and digest of the members',
      measured: `${seconds((performance.now() - started) / 1000)} for ${audience.members} members`,
    })
  } finally {
    await sandbox.close()
  }
  const millions = large ? 10 : 1
  const filled = await inChild('./sandbox.ts', 'memberships', { millions })
  report({
    figure: `${millions},000,000 memberships`,
    measured: `${filled.megabytes} MB, ${seconds(filled.seconds)}`,
    ratio: `${Math.round((filled.megabytes * 1_048_576) / millions / 1_000_000)} bytes each`,
    target: large ? '2,048 MB' : '2,048 MB at 10,000,000 (--large)',
    met: filled.megabytes <= 2_048,
  })
}

/** Fills an audience with `millions` million identifiers, two per user. */
export async function memberships({ millions }: { readonly millions: number }): Promise<object> {
  const members = new Memberships()
  const key = Buffer.alloc(32)
  const times = { effectiveAt: 1_800_000_000, expiresAt: 1_830_000_000 }
  const started = performance.now()
  for (let n = 0; n < millions * 1_000_000; n += 2) {
    createHash('sha256').update(String(n)).digest().copy(key)
    const email = members.put(0, key, times)
    members.mergeUsers(email, members.put(4, key, times))
  }
  return { seconds: (performance.now() - started) / 1000 }
}

export async function client({
  kind,
  url,
  total,
}: {
  readonly kind: string
  readonly url: string
  readonly total: number
}): Promise<object> {
  const pool = new Pool(url, { connections: 8 })
  const path = kind === 'products' ? '/12/product_catalogs/4001/products' : '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users'
  const method = kind === 'products' ? 'PUT' : 'POST'
  const body = kind === 'products' ? productBody : userBody
  // Rendered before the measurement, so that only the sandbox is measured.
  const bodies = Array.from({ length: kind === 'products' ? 200 : 100 }, (_, n) => body(n))
  let next = 0
  let refused = 0
  const started = performance.now()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (next < total) {
        const n = next++
        const answer = await pool.request({
          method,
          path,
          body: bodies[n % bodies.length] ?? '',
          headers: { 'content-type': 'application/json', authorization: authorization({ method, url: url + path }) },
        })
        if (answer.statusCode !== 200) refused++
        await answer.body.dump()
      }
    }),
  )
  const spent = (performance.now() - started) / 1000
  await pool.close()
  return { seconds: spent, requests: total, refused }
}

function productBody(n: number): string {
  return JSON.stringify({
    products: Array.from({ length: 25 }, (_, i) => ({
      id: `SKU-${n * 25 + i}`,
      title: `A mug, number ${n * 25 + i}`,
      description: 'Stoneware, 0.3 l, dishwasher safe. '.repeat(6),
      availability: 'in stock',
      condition: 'new',
      price: '12.90 EUR',
      link: `https://shop.example/mugs/${n * 25 + i}`,
      image_link: `https://shop.example/mugs/${n * 25 + i}.jpg`,
      brand: 'Acme',
      inventory: 1 + (i % 9),
      google_product_category: 'Home & Garden > Kitchen & Dining',
      item_group_id: `G${n}`,
      color: 'blue',
    })),
  })
}

function userBody(n: number): string {
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex')
  return JSON.stringify(
    Array.from({ length: 2500 }, (_, i) => ({
      operation_type: 'Update',
      params: { users: [{ email: [digest(`e${n} ${i}`)], phone_number: [digest(`p${n} ${i}`)] }], expires_at: '2027-12-01T00:00:00Z' },
    })),
  )
}

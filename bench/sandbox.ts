/**
 * The sandbox's speed and size (docs/benchmarks.md): signed requests of 25 products, user batches of 2,500, and the memory
 * of many memberships. Ratios against the figures to reach are printed; nothing is asserted. The signing client runs in
 * a process of its own.
 *
 *   node bin/node24.js bench/sandbox.ts [members in millions, default 10]
 */
import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { Memberships } from '../src/sandbox/audiences/memberships.ts'
import { startSandbox } from '../src/sandbox/start.ts'
import { authorization } from '../test/support/signer.ts'

interface Result {
  readonly requests: number
  readonly seconds: number
  readonly refused: number
}

if (process.argv[2] === 'client') await client(process.argv[3] ?? '', process.argv[4] ?? '')
else await main(Number(process.argv[2] ?? 10))

async function main(millions: number): Promise<void> {
  const sandbox = await startSandbox()
  await fetch(`${sandbox.url}/_sandbox/switches`, { method: 'PUT', body: JSON.stringify({ rate_limits: 'off' }) })
  const products = await load('products', sandbox.url)
  print('signed PUT of 25 products', `${Math.round(products.requests / products.seconds)} requests/s`, 'reach 2,000', products.refused)
  const users = await load('users', sandbox.url)
  print('400 batches of 2,500 users', `${users.seconds.toFixed(1)} s`, 'reach 30 s', users.refused)
  const before = performance.now()
  const audience = await (await fetch(`${sandbox.url}/_sandbox/audiences/1nmth`)).json() as { members: number }
  print('count and digest of them', `${((performance.now() - before) / 1000).toFixed(1)} s for ${audience.members} members`, '', 0)
  await sandbox.close()
  memory(millions)
}

function print(what: string, figure: string, reach: string, refused: number): void {
  process.stdout.write(`${what.padEnd(32)} ${figure.padEnd(34)} ${reach}${refused > 0 ? `  ${refused} REFUSED` : ''}\n`)
}

/** RSS of an audience of so many million identifiers, two a user. */
function memory(millions: number): void {
  const members = new Memberships()
  const key = Buffer.alloc(32)
  const times = { effectiveAt: 1_800_000_000, expiresAt: 1_830_000_000 }
  const started = performance.now()
  for (let n = 0; n < millions * 1_000_000; n += 2) {
    createHash('sha256').update(String(n)).digest().copy(key)
    const email = members.put(0, key, times)
    members.join(email, members.put(4, key, times))
  }
  const seconds = (performance.now() - started) / 1000
  print(`${millions} M memberships`, `${Math.round(process.memoryUsage().rss / 1_048_576)} MB RSS, ${seconds.toFixed(1)} s`, 'reach 2,048 MB', 0)
}

function load(kind: string, url: string): Promise<Result> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), ['client', kind, url])
    child.on('message', (result) => resolve(result as Result))
    child.on('exit', (code) => code !== 0 && reject(new Error(`the client ended with ${code}`)))
  })
}

async function client(kind: string, url: string): Promise<void> {
  const total = kind === 'products' ? 6000 : 400
  const pool = new Pool(url, { connections: 8 })
  const path = kind === 'products' ? '/12/product_catalogs/4001/products' : '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users'
  const method = kind === 'products' ? 'PUT' : 'POST'
  const body = kind === 'products' ? productBody : userBody
  // Made beforehand: the client's own work is not what is measured.
  const bodies = Array.from({ length: kind === 'products' ? 200 : 100 }, (_, n) => body(n))
  let next = 0
  let refused = 0
  const started = performance.now()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (next < total) {
        const n = next++
        const answer = await pool.request({
          method, path, body: bodies[n % bodies.length] ?? '',
          headers: { 'content-type': 'application/json', authorization: authorization({ method, url: url + path }) },
        })
        if (answer.statusCode !== 200) refused++
        await answer.body.dump()
      }
    }),
  )
  const seconds = (performance.now() - started) / 1000
  process.send?.({ requests: total, seconds, refused } satisfies Result)
  await pool.close()
  process.disconnect()
}

function productBody(n: number): string {
  return JSON.stringify({
    products: Array.from({ length: 25 }, (_, i) => ({
      id: `SKU-${n * 25 + i}`, title: `A mug, number ${n * 25 + i}`, description: 'Stoneware, 0.3 l, dishwasher safe. '.repeat(6), availability: 'in stock', condition: 'new',
      price: '12.90 EUR', link: `https://shop.example/mugs/${n * 25 + i}`, image_link: `https://shop.example/mugs/${n * 25 + i}.jpg`, brand: 'Acme', inventory: 1 + (i % 9),
      google_product_category: 'Home & Garden > Kitchen & Dining', item_group_id: `G${n}`, color: 'blue',
    })),
  })
}

function userBody(n: number): string {
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex')
  return JSON.stringify(
    Array.from({ length: 2500 }, (_, i) => ({ operation_type: 'Update', params: { users: [{ email: [digest(`e${n} ${i}`)], phone_number: [digest(`p${n} ${i}`)] }], expires_at: '2027-12-01T00:00:00Z' } })),
  )
}

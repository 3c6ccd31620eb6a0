/** Measures how users are rendered and packed into request bodies: the time should grow linearly. */
import { randomBytes } from 'node:crypto'
import { destinationOf } from '../src/destinations/index.ts'
import { Packer } from '../src/destinations/requestBodies.ts'
import { renderUserOperation } from '../src/destinations/renderUserOperation.ts'
import { median, type Bench } from './figure.ts'

const sizes = [250, 500, 1_000, 2_000, 4_000]

export const bench: Bench = async ({ report }) => {
  const all = users(4_000)
  packAll(all)
  const spent = sizes.map((size) => median(Array.from({ length: 15 }, () => packAll(all.slice(0, size)))))
  const perUser = spent.map((ms, i) => (ms / (sizes[i] ?? 1)) * 1000)
  sizes.forEach((size, i) => {
    const ms = spent[i] ?? Number.NaN
    report({
      figure: `packing ${size} users`,
      measured: `${ms.toFixed(2)} ms`,
      ratio: `${(perUser[i] ?? 0).toFixed(2)} µs per user`,
      ...(size === 2_000 ? { target: '10 ms', met: ms <= 10 } : {}),
    })
  })
  const growth = (spent[4] ?? 0) / (spent[1] ?? 1)
  report({
    figure: '4,000 users against 500',
    measured: `${growth.toFixed(1)} x the time`,
    ratio: '8 x the users',
    target: 'linear',
    met: growth <= 12,
  })
}

/** Returns invented users with two packed identifiers each, in hex. */
export function users(count: number): readonly (readonly string[])[] {
  return Array.from({ length: count }, () => [`01${randomBytes(32).toString('hex')}`, `05${randomBytes(32).toString('hex')}`])
}

/** Packs users into request bodies of an audience. Returns the time in milliseconds. */
export function packAll(all: readonly (readonly string[])[]): number {
  const destination = destinationOf('audience')
  const started = performance.now()
  const packer = new Packer<{ readonly bytes: Buffer }>(destination.frame('upsert'), destination.limits)
  let bodies = 0
  for (const keys of all) {
    if (
      packer.add({
        bytes: renderUserOperation({ op: 'update', users: [[...keys]], effectiveAtMs: 1_800_000_000_000, expiresAtMs: 1_830_000_000_000 }),
      })
    )
      bodies++
  }
  if (packer.flush()) bodies++
  if (bodies !== Math.ceil(all.length / 2_500)) throw new Error(`${bodies} bodies`)
  return performance.now() - started
}

/** The digests of a read are collected in chunks whose memory is reused. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { connectionOf, inTransaction } from '../../../src/db/database.ts'
import { digestTablesSql, StagedDigests } from '../../../src/db/digests.ts'
import { testDatabase } from '../../support/postgres.ts'

test('the staged digests are those that were added, in order, also after earlier chunks were stored', async () => {
  await using fresh = await testDatabase()
  const client = await fresh.db.connect()
  try {
    const total = 150_000
    const added = { digests: createHash('sha256'), featureSets: createHash('sha256'), keys: createHash('sha256') }
    const stored = { digests: createHash('sha256'), featureSets: createHash('sha256'), keys: createHash('sha256') }
    let ends: readonly number[] = []
    const tx = connectionOf(client)
    await tx.query(digestTablesSql)
    await inTransaction(tx, async () => {
      const staged = new StagedDigests()
      const digest = Buffer.alloc(16)
      for (let n = 0; n < total; n++) {
        digest.writeUInt32BE(n, 12)
        const key = Buffer.from(`key ${n}`)
        const featureSet = Buffer.of(n % 7, n % 256)
        staged.add(digest, featureSet.readUInt16BE(), key)
        added.digests.update(digest)
        added.featureSets.update(featureSet)
        added.keys.update(key)
        if (staged.full) await staged.store(tx, { isLast: false })
      }
      await staged.store(tx, { isLast: true })
      expect(staged.count).toBe(total)
      const { rows } = await client.query<{ digests: Buffer; feature_sets: Buffer; keys: Buffer; key_ends: number[] }>(
        'select digests, feature_sets, keys, key_ends from staged_digest order by chunk',
      )
      for (const row of rows) {
        stored.digests.update(row.digests)
        stored.featureSets.update(row.feature_sets)
        stored.keys.update(row.keys)
      }
      ends = rows.map(({ keys, key_ends }) => (key_ends.at(-1) ?? keys.length) - keys.length)
    })
    for (const part of ['digests', 'featureSets', 'keys'] as const) expect(stored[part].digest('hex')).toBe(added[part].digest('hex'))
    expect(ends).toEqual(ends.map(() => 0))
  } finally {
    client.release(true)
  }
})

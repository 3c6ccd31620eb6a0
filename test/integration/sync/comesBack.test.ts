/**
 * A person is removed while their update is unresolved, and added again with the same bytes. (The file has the times of memberships.) No
 * rule on order may confuse the new update with the older one (docs/guarantees.md#key-order, docs/guarantees.md#suppression-wins).
 */
import { expect, test } from 'vitest'
import { audienceDigest, email, sha256 } from '../../support/digests.ts'
import { engineUnderTest } from '../../support/engine.ts'
import { outOfOrder } from '../../support/attemptOrder.ts'
import { interruptedRun } from '../../support/interrupted.ts'

const ann = 'ann@example.com'
const bob = 'bob@example.com'
const members = (...some: string[]) => audienceDigest(some.map(email))

test.for([
  ['alone', 1],
  ['with an unlisted person in the same operation', 2],
] as const)(
  'a person who was removed while their update was unresolved is added again with the same bytes, %s',
  { tags: ['long'] },
  async ([, packed]) => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    await control.switches({ ledger_keys: 'on' })
    engine.pipeline(
      'people',
      `source: { url: "{folder}/people.csv" }
map: { key: id, email: email, effective_at: begins, expires_at: ends }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth, users_per_operation: ${packed} }
`,
    )
    engine.pipeline(
      'optouts',
      `source: { url: "{folder}/optouts.csv" }
map: { email: email, remove: { column: status, values: ["back"] } }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
`,
    )
    const now = Date.now()
    const [begins, ends] = [now - 60_000, now + 90 * 86_400_000].map((ms) => new Date(ms).toISOString())
    engine.write('people.csv', `id,email,begins,ends\nk1,${ann},${begins},${ends}\nk2,${bob},${begins},${ends}\n`)
    const list = (status: 'out' | 'back') => engine.write('optouts.csv', `email,status\n${ann},${status}\nzoe@example.com,out\n`)

    await control.fault({ path: '/custom_audiences/' }, { kind: 'commit_then_reset' })
    await interruptedRun(engine, 'people', 'stop')
    expect((await control.audience()).digest).toBe(members(ann, bob))
    list('out')
    await engine.run('optouts')
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded' })
    expect((await control.audience()).digest).toBe(members(bob))
    list('back')
    await engine.run('optouts')
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded' })
    expect((await control.audience()).digest).toBe(members(ann, bob))

    const sent: readonly { readonly key: string; readonly value: string }[] = (await control.ledger())
      .filter(({ endpoint }) => endpoint === 'audiences.users')
      .flatMap(({ keys }) => keys)
    const valuesOf = (address: string) => sent.flatMap(({ key, value }) => (key.endsWith(sha256(address)) ? [value] : []))
    // Update, erasure, update again, with the same bytes. With other bytes the test would check nothing.
    for (const address of packed === 1 ? [ann] : [ann, bob]) {
      const [before, erased, ...rest] = valuesOf(address)
      expect(rest).toEqual([erased, before])
      expect(erased).not.toBe(before)
    }
    expect(await control.violations()).toEqual([])
    expect(await outOfOrder(engine.db)).toEqual([])
  },
)

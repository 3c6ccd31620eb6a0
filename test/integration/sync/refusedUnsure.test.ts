/**
 * An update that was refused after a lost answer may have been applied. Once no row has its members, they are deleted, as if the update
 * had been confirmed. Its products are sent again (docs/guarantees.md#nothing-lost, docs/guarantees.md#suppression-wins).
 */
import { expect, test } from 'vitest'
import { audienceDigest, email } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { goodProduct, item, rss } from '../acceptance/products.ts'

const guards = 'guards: { max_delete_count: 1000, max_delete_percent: 0, min_rows: 0 }\n'

/** The first attempt is applied and its answer is lost; the second one is refused. */
async function lose(engine: EngineUnderTest, name: string, path: string): Promise<void> {
  const { control } = engine.sandbox
  await control.fault({ path, nth: 1 }, { kind: 'commit_then_reset' })
  await control.fault({ path, nth: 2 }, { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } })
  expect(await engine.run(name)).toMatchObject({ status: 'partial', counts: { creates: 1, requests: 2, refused: 1, confirmed: 0 } })
  await control.clearFaults()
}

test.for(['listed', 'gone from the file'])('a member who is %s later is deleted', async (how) => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }
map: { key: id, email: email }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
${guards}`,
  )
  engine.pipeline(
    'optouts',
    `source: { url: "{folder}/optouts.csv" }
map: { email: email }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
`,
  )
  engine.write('people.csv', 'id,email\nk1,ann@example.com\n')
  engine.write('optouts.csv', 'email\nann@example.com\n')
  await lose(engine, 'people', '/custom_audiences/')
  if (how === 'listed') await engine.run('optouts')
  else engine.write('people.csv', 'id,email\nk2,bob@example.com\n')
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { deletes: 1 } })
  expect((await control.audience()).digest).toBe(audienceDigest(how === 'listed' ? [] : [email('bob@example.com')]))
  expect(await engine.run('people')).toMatchObject({ counts: { requests: 0 } })
})

test('a finally refused product converges, whether or not its first attempt was applied', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', `${catalogYaml('feed.xml')}${guards}`)
  engine.write('feed.xml', rss([item(goodProduct(1, 100))]))
  await lose(engine, 'shop', '/products')
  engine.write('feed.xml', rss([item(goodProduct(2, 100))]))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { creates: 1, deferred: 0 } })
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { requests: 0 } })
})

test('a product whose refused update may have been applied is sent again when its source has the former content', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('shop', `${catalogYaml('feed.xml')}${guards}`)
  const former = rss([item(goodProduct(1, 100))])
  engine.write('feed.xml', former)
  await engine.run('shop')
  const before = await control.catalog()
  engine.write('feed.xml', rss([item(goodProduct(1, 9_900))]))
  await control.fault({ path: '/products', nth: 1 }, { kind: 'commit_then_reset' })
  const refused = { warnings: [], errors: ['no'], product_key: null, id: goodProduct(1, 100).id, status: 'ERROR' }
  await control.fault({ path: '/products', nth: 2 }, { kind: 'status', status: 200, body: { data: { products_response: [refused] } } })
  expect(await engine.run('shop')).toMatchObject({ status: 'partial', counts: { updates: 1, refused: 1 } })
  expect(await control.catalog()).not.toEqual(before)
  engine.write('feed.xml', former)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { updates: 1, confirmed: 1 } })
  expect(await control.catalog()).toEqual(before)
  expect(await engine.run('shop')).toMatchObject({ counts: { requests: 0 } })
})

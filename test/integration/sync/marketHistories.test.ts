/**
 * Random days of a file with markets, each with its own catalog, credentials and price file. Markets are added, removed, renamed, and get
 * another catalog. Files are cut, and requests fail. In the end the catalog of each market has its products and prices. A catalog without a
 * market stays as it was.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { engineUnderTest } from '../../support/engine.ts'
import { emptyDatabase, histories } from '../../support/histories.ts'
import { shortenWaits } from '../../support/shortWaits.ts'
import { sluiceHere } from '../cli/support.ts'

const currencies = ['EUR', 'CHF', 'SEK']
const ids = Array.from({ length: 14 }, (_, i) => `P${i}`)

const day = fc.record({
  titles: fc.array(fc.tuple(fc.constantFrom(...ids), fc.integer({ min: 0, max: 2 })), { maxLength: 4 }),
  prices: fc.array(fc.tuple(fc.constantFrom(...ids), fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 30 })), { maxLength: 6 }),
  markets: fc.constantFrom('same', 'same', 'add', 'remove', 'rename', 'swap'),
  cut: fc.constantFrom('nothing', 'nothing', 'nothing', 'feed', 'prices'),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  fault: fc.constantFrom('none', 'commit_then_reset', 'truncate', 'short', 'html', 'unavailable', 'reset', 'partial_apply'),
  nth: fc.integer({ min: 1, max: 3 }),
  how: fc.constantFrom('run', 'run', 'approve', 'full', 'apply'),
})

test('after any history, each catalog has the products and prices of its market', { tags: ['model'], timeout: 240_000 }, async () => {
  await using engine = await engineUnderTest()
  await shortenWaits(engine.db)
  const { sandbox, env, folder } = engine
  const { control } = sandbox
  const sluice = (...args: string[]) => sluiceHere([...args, '--json'], { cwd: folder, env })
  await fc.assert(
    fc.asyncProperty(fc.array(day, { minLength: 2, maxLength: 6 }), async (days) => {
      await control.reset()
      await control.switches({ rate_limits: 'off' })
      await emptyDatabase(engine.db)
      const catalogs = [{ id: '4001', credentials: '' }]
      let project = 'credentials:\n'
      for (const name of ['swiss', 'swedish']) {
        const { body: user } = await control.request('POST', 'users', { screen_name: name })
        const credentials = { ...sandbox.credentials, accessToken: user.oauth_token, accessTokenSecret: user.oauth_token_secret }
        const made = await sandbox.call('POST', '/12/product_catalogs', { query: { name }, credentials })
        catalogs.push({ id: made.body.data.id, credentials: `credentials: ${name}, ` })
        project += `  ${name}: { base_url: "${sandbox.url}", consumer_key: "${credentials.consumerKey}", consumer_secret: "${credentials.consumerSecret}", access_token: "${credentials.accessToken}", access_token_secret: "${credentials.accessTokenSecret}" }\n`
      }
      engine.write('sluice.yaml', project)
      const titles = new Map(ids.slice(0, 10).map((id) => [id, 1]))
      /** Prices of each catalog by product. */
      const prices = catalogs.map((_, i) => new Map(ids.map((id) => [id, i + 1])))
      /** Place of the catalog by name of the market. */
      const markets = new Map([
        ['de', 0],
        ['ch', 1],
      ])
      const feed = () =>
        `id,title,description,availability,condition,price,link,image_link,brand\n${Array.from(
          titles,
          ([id, n]) =>
            `${id},Shirt ${n},All about it,in stock,new,99.00 EUR,https://shop.example.com/${id},https://shop.example.com/${id}.jpg,Acme\n`,
        ).join('')}`
      const priceFile = (place: number) =>
        `sku,price\n${Array.from(prices[place] ?? [], ([id, price]) => (price === 0 ? '' : `${id},${price}.00 ${currencies[place]}\n`)).join('')}`
      const write = () => {
        engine.write('feed.csv', feed())
        for (const place of catalogs.keys()) engine.write(`prices${place}.csv`, priceFile(place))
        const lines = Array.from(
          markets,
          ([name, place]) =>
            `  ${name}: { ${catalogs[place]?.credentials}destination: { kind: catalog, catalog_id: "${catalogs[place]?.id}" }, join: { url: "{folder}/prices${place}.csv", on: { source: id, file: sku }, columns: [price] } }\n`,
        )
        engine.pipeline(
          'shop',
          `source: { url: "{folder}/feed.csv" }\nguards: { max_price_change_percent: 10000 }\nmarkets:\n${lines.join('')}`,
        )
      }
      const held = async (place: number) =>
        (await control.products(catalogs[place]?.id)).map(({ id, title, price }) => `${id} ${title} ${price}`)
      /** Content of the catalogs that no market has any more. */
      const left = new Map<number, readonly string[]>()
      write()
      for (const one of days) {
        for (const [id, n] of one.titles) n === 0 ? titles.delete(id) : titles.set(id, n)
        for (const [id, place, price] of one.prices) prices[place]?.set(id, price)
        const [first = ['', 0], second] = [...markets]
        const free = [...catalogs.keys()].find((place) => ![...markets.values()].includes(place))
        const newName = ['de', 'ch', 'se', 'no'].find((name) => !markets.has(name)) ?? ''
        if (one.markets === 'add' && free !== undefined) {
          markets.set(newName, free)
          left.delete(free)
        } else if (one.markets === 'remove' && second !== undefined) {
          markets.delete(first[0])
          left.set(first[1], await held(first[1]))
        } else if (one.markets === 'rename') {
          markets.delete(first[0])
          markets.set(newName, first[1])
        } else if (one.markets === 'swap' && second !== undefined) {
          markets.set(first[0], second[1])
          markets.set(second[0], first[1])
        }
        write()
        if (one.cut === 'feed') engine.write('feed.csv', feed().slice(0, one.at * feed().length))
        if (one.cut === 'prices') engine.write('prices0.csv', priceFile(0).slice(0, one.at * priceFile(0).length))
        if (one.fault !== 'none')
          await control.fault(
            { path: '/12/product_catalogs', nth: one.nth },
            one.fault === 'unavailable' ? { kind: 'status', status: 503 } : { kind: one.fault },
          )
        const [name = ''] = markets.keys()
        if (one.how === 'approve') await sluice('run', `shop-${name}`, '--approve-deletes', '5')
        else if (one.how === 'apply') {
          const { planId } = JSON.parse((await sluice('plan', `shop-${name}`)).stdout)
          if (planId !== undefined) await sluice('apply', planId)
        } else await sluice('run', 'shop', ...(one.how === 'full' ? ['--full'] : []))
        await control.clearFaults()
      }
      // Every product has a price, so that no row is rejected and keeps its earlier content.
      for (const some of prices) for (const id of ids) if (some.get(id) === 0) some.set(id, 5)
      write()
      // Unresolved requests are resolved before newer values are sent.
      for (let i = 0; i < 3; i++) for (const name of markets.keys()) await sluice('run', `shop-${name}`, '--approve-deletes', '100')
      for (const place of markets.values())
        expect(await held(place)).toEqual(
          Array.from(titles, ([id, n]) => `${id} Shirt ${n} ${prices[place]?.get(id)}.00 ${currencies[place]}`).toSorted(),
        )
      for (const [place, content] of left) expect(await held(place)).toEqual(content)
      const after = await engine.mark()
      expect(await sluice('run', 'shop')).toMatchObject({ code: 0 })
      expect(await engine.writes(after)).toEqual([])
      expect((await control.violations()).filter(({ rule }) => rule !== 'same_body_at_once')).toEqual([])
    }),
    histories(2),
  )
})

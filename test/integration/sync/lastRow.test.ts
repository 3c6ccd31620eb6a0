/** `duplicates: last` from day to day, with the record gate: the same result as for a file without the other rows. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { catalogYaml, engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { forgetAll, histories } from '../../support/histories.ts'

interface Line {
  readonly id: number
  readonly price: number
  readonly broken: boolean
}

const line = fc.record({ id: fc.nat(5), price: fc.nat(2), broken: fc.boolean() })
const days = fc.array(fc.array(line, { minLength: 1, maxLength: 9 }), { minLength: 2, maxLength: 5 })

const file = (lines: readonly Line[]) =>
  [
    'id,title,description,availability,condition,price,link,image_link,brand',
    ...lines.map(
      ({ id, price, broken }) =>
        `SKU-${id},Cup,A cup,in stock,new,${isBroken({ id, broken }) ? `dear ${price}` : `1${price}.00 EUR`},https://shop.example.com/cup,https://shop.example.com/cup.png,Acme`,
    ),
    '',
  ].join('\n')

const isBroken = ({ id, broken }: Pick<Line, 'id' | 'broken'>) => broken && id % 2 === 0

/** Expected rows: every broken row, and the last good one of an id. */
const standing = (lines: readonly Line[]) =>
  lines.filter((one, at) => isBroken(one) || !lines.some((other, later) => later > at && other.id === one.id && !isBroken(other)))

const guards = 'guards: { max_delete_count: 1000, max_reject_percent: 100 }\n'

async function state({ db, sandbox }: EngineUnderTest): Promise<unknown> {
  return {
    records: await db.query(`select convert_from(key, 'UTF8') as key, status, body from sluice.record order by key`),
    digest: (await sandbox.control.catalog()).digest,
  }
}

test('the last row of an id is used, whether the other rows are known or not', { tags: ['model'], timeout: 240_000 }, async () => {
  let gatedReadings = 0
  await using whole = await engineUnderTest()
  await using clean = await engineUnderTest()
  whole.pipeline('shop', `${catalogYaml('feed.csv')}${guards}duplicates: last\n`)
  clean.pipeline('shop', `${catalogYaml('feed.csv')}${guards}`)
  await fc.assert(
    fc.asyncProperty(days, async (history) => {
      await forgetAll(whole, clean)
      for (const lines of history) {
        const rows = standing(lines)
        whole.write('feed.csv', file(lines))
        clean.write('feed.csv', file(rows))
        // The oracle reads every record.
        await clean.db.execute('delete from sluice.record_digest')
        const [known] = await whole.db.query<{ n: number }>('select count(*)::int as n from sluice.record_digest')
        gatedReadings += known?.n ?? 0
        const [{ counts }, oracle] = [await whole.run('shop'), await clean.run('shop')]
        expect(imbalance(counts)).toEqual([])
        const gone = lines.length - rows.length
        expect(counts).toEqual({ ...oracle.counts, read: oracle.counts.read + gone, duplicates: oracle.counts.duplicates + gone })
        expect(await state(whole)).toEqual(await state(clean))
      }
    }),
    {
      ...histories(5),
      examples: [
        // A known row is after, then before a new row of its id; then the new one is known.
        [
          [
            [
              { id: 1, price: 0, broken: false },
              { id: 3, price: 0, broken: false },
            ],
            [
              { id: 1, price: 1, broken: false },
              { id: 1, price: 0, broken: false },
              { id: 3, price: 0, broken: false },
            ],
            [
              { id: 1, price: 0, broken: false },
              { id: 1, price: 1, broken: false },
              { id: 3, price: 1, broken: false },
            ],
            [
              { id: 1, price: 1, broken: false },
              { id: 3, price: 1, broken: false },
              { id: 1, price: 0, broken: false },
            ],
          ],
        ],
      ],
    },
  )
  expect(gatedReadings, 'the gate must have been open').toBeGreaterThan(0)
})

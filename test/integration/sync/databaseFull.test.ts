import { expect, test } from 'vitest'
import { examineDisk } from '../../../src/cli/commands/doctor/database.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'
import { item, products, rss } from '../acceptance/products.ts'

test('a run reports that the database has no disk space left, and the next run is complete', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(2).map((row) => item(row))))
  // The error of the server if it cannot extend a file, at the first row to write.
  await engine.db.execute(`create function full_disk() returns trigger language plpgsql as
    $$ begin raise exception using errcode = '53100', message = 'could not extend file'; end $$`)
  await engine.db.execute('create trigger full_disk before insert on batch for each row execute function full_disk()')
  expect(await engine.run('shop')).toMatchObject({
    status: 'failed',
    error: { code: 'DISK_FULL', message: expect.stringContaining('the disk of the database is full') as string },
  })
  await engine.db.execute('drop trigger full_disk on batch')
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { confirmed: 2 } })
})

test.each([
  [50_000_000, 'failed'],
  [500_000_000, 'warning'],
  [5_000_000_000, 'ok'],
])('doctor: %i bytes free for the embedded server are %s', (bytes, state) => {
  const found: unknown[] = []
  examineDisk(bytes, (finding) => found.push(finding))
  expect(found).toEqual([expect.objectContaining({ check: 'disk', state })])
})

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

// Postgres executes these statements while later rows are read or frozen (docs/decisions/first-load-in-parts.md).
test.each([
  [
    'the stage is partitioned',
    `create event trigger full_disk on ddl_command_start when tag in ('CREATE TABLE') execute function full_disk()`,
    `if position('partitioned_stage' in current_query()) = 0 then return; end if;`,
    'event_trigger',
  ],
  [
    'the records of a later step are stored',
    `create trigger full_disk before insert on record for each statement execute function full_disk()`,
    `if not exists (select from record) then return null; end if;`,
    'trigger',
  ],
])('a first load reports a full disk while %s, and the next one is complete', async (_, trigger, unless, returns) => {
  // A step has five users.
  await using engine = await engineUnderTest({ settings: { usersInFirstPart: 1 } })
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }
map: { key: id, email: email }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { min_rows: 0 }
`,
  )
  engine.write('people.csv', `id,email\n${Array.from({ length: 40 }, (__, i) => `k${i},p${i}@example.com\n`).join('')}`)
  await engine.db.execute(`create function full_disk() returns ${returns} language plpgsql as
    $$ begin ${unless} raise exception using errcode = '53100', message = 'could not extend file'; end $$`)
  await engine.db.execute(trigger)
  expect(await engine.plan('people').catch((error: unknown) => error)).toMatchObject({ code: 'DISK_FULL' })
  expect(await engine.db.query('select from record union all select from batch')).toEqual([])
  await engine.db.execute('drop function full_disk cascade')
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { confirmed: 40 } })
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

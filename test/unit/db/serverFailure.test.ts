import { expect, test } from 'vitest'
import { serverFailure } from '../../../src/db/embedded/unavailable.ts'

const what = 'the embedded Postgres did not start'

test('a full disk is reported as such for every text of Postgres', () => {
  const log = `2026-11-22 01:26:48 UTC [9] FATAL:  could not write to file "pg_wal/xlogtemp.9": No space left on device
2026-11-22 01:26:48 UTC [7] LOG:  startup process (PID 9) exited with exit code 1
2026-11-22 01:26:48 UTC [7] LOG:  database system is shut down
`
  expect(serverFailure(what, log, '/data')).toMatchObject({ code: 'DISK_FULL', where: '/data', message: `the disk is full: ${what}` })
})

test('reports the cause, not its consequence', () => {
  const log = `2026-11-22 01:26:48 UTC [7] FATAL:  data directory "/data" has invalid permissions
2026-11-22 01:26:48 UTC [7] LOG:  database system is shut down
`
  expect(serverFailure(what, log, '/data').message).toBe(
    `${what}: 2026-11-22 01:26:48 UTC [7] FATAL:  data directory "/data" has invalid permissions`,
  )
  const stderr =
    'initdb: error: could not create directory "/data": Permission denied\ninitdb: removing contents of data directory "/data"\n'
  expect(serverFailure(what, stderr, '/data').message).toContain('Permission denied')
  expect(serverFailure(what, 'the last word\n', '/data').message).toBe(`${what}: the last word`)
})

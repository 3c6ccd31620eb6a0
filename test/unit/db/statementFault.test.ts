import { expect, test } from 'vitest'
import { connectionFault, isConnectionFault, statementFault } from '../../../src/db/connectionFault.ts'

const failed = (code: string) => Object.assign(new Error('row (ann@example.com)'), { code })

test('a failed statement names a cause that the doctor does not find, and never a value', () => {
  expect(statementFault(failed('53400'))).toMatchObject({
    code: 'DATABASE_FAILED',
    message: 'the database failed (53400): a limit of the server was exceeded, such as temp_file_limit; what was confirmed is kept',
    hint: 'raise temp_file_limit for the role, then the same command again',
  })
  expect(isConnectionFault(failed('53400'))).toBe(false)
  expect(statementFault(failed('25006')).hint).toContain('primary')
  expect(statementFault(failed('53100')).code).toBe('DISK_FULL')
  expect(statementFault(failed('XX000'))).toMatchObject({
    message: 'the database failed (XX000); what was confirmed is kept',
    hint: 'sluice doctor',
  })
  expect(statementFault(new Error('Connection terminated unexpectedly')).message).toContain('connection lost')
})

test('the hint for a missing database creates it on the server of the address, whatever its name', () => {
  const hintOf = (name: string) =>
    connectionFault(Object.assign(new Error('no'), { code: '3D000' }), `postgres://ops@db.example.com:5433/${encodeURIComponent(name)}`)
      .hint
  const create = 'correct the name in DATABASE_URL, or create it: psql -h db.example.com -p 5433 -d postgres -c'
  expect(hintOf('sluice')).toBe(`${create} 'create database "sluice"'`)
  expect(hintOf(`it's "mine"`)).toBe(`${create} 'create database "it'\\''s ""mine"""'`)
})

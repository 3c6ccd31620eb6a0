import { expect, test } from 'vitest'
import { presentError } from '../../../src/cli/present.ts'

const thrown = (code: string, message = 'x') => presentError(Object.assign(new Error(message), { code }))

test('a database that fails under a command is no fault of ours, and its text goes nowhere', () => {
  for (const code of ['57P01', '53300', '08006', '25006', '42501', '58P01', 'ECONNRESET', 'EPIPE'])
    expect(thrown(code, 'value "jane@example.com"')).toMatchObject({ code: 'DATABASE_FAILED', message: `the database failed (${code})` })
  expect(presentError(new Error('Connection terminated unexpectedly'))).toMatchObject({
    code: 'DATABASE_FAILED',
    message: 'the database failed (connection lost)',
  })
})

test('a statement that is wrong stays a fault of ours', () => {
  for (const code of ['42P01', '42601', '23505', '22P02']) expect(thrown(code).code).toBe('INTERNAL')
})

test('a disk that takes no writes is named as such', () => {
  expect(thrown('EROFS')).toMatchObject({ code: 'NO_PERMISSION', message: 'the disk is mounted read-only' })
})

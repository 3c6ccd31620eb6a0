/** What SFTP servers do that OpenSSH does not: other ways to log in, short answers, files of which they say little. */
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import type { SftpLies } from './sftpServer.ts'
import { sftpServer } from './sftpServer.ts'
import { readSource, sourceOf } from './support.ts'

const csv = Buffer.from(`id,title\n${Array.from({ length: 30_000 }, (_, at) => `${at},title ${at}\n`).join('')}`)

async function read(lies: SftpLies, password = 'open sesame') {
  await using server = await sftpServer(lies)
  const definition = sourceOf(server.uri, { credentials: { password: 'PASSWORD' }, hostKey: server.hostKey })
  return { ...(await readSource(definition, { env: { PASSWORD: password } })), logins: server.logins }
}

const question = { prompt: 'Password: ', echo: false }
const asked = 'keyboard-interactive'

test.each([
  ['as a password', { ways: ['password'] }, ['none', 'password']],
  ['as the answer to a question', { ways: [asked], questions: [question] }, ['none', asked]],
  ['in either way', { ways: [asked, 'password'], questions: [question] }, ['none', 'password']],
] as const)('a server that takes the password %s', async (_, lies, logins) => {
  const outcome = await read(lies)
  expect([outcome.code, outcome.logins]).toEqual(['read', logins])
})

test.each([
  ['as a password', { ways: ['password', asked], questions: [question] }, ['none', 'password']],
  ['as the answer to a question', { ways: [asked], questions: [question] }, ['none', asked]],
  ['by key only', { ways: ['publickey'] }, ['none']],
  ['with a second factor', { ways: [asked], questions: [question, { prompt: 'Code: ', echo: false }] }, ['none', asked]],
  ['in plain sight', { ways: [asked], questions: [{ prompt: 'Name: ', echo: true }] }, ['none', asked]],
] as const)('a wrong password, or one that is wanted otherwise (%s), is tried once and not shown', async (_, lies, logins) => {
  const outcome = await read(lies, 'canary')
  expect([outcome.code, outcome.logins]).toEqual(['SOURCE_DENIED', logins])
  expect(inspect(outcome.error, { depth: 9, showHidden: true })).not.toContain('canary')
})

test('a server that answers in small parts is read whole', async () => {
  const { rows, facts, error } = await read({ ways: ['password'], content: csv, most: 20_000 })
  expect([error, rows.length, facts?.bytes, facts?.completeness.complete]).toEqual([undefined, 30_000, csv.length, true])
})

test.each([
  ['a size that is too small', { mode: 0o100644, uid: 0, gid: 0, size: csv.length - 900, atime: 1, mtime: 1_000_000 }],
  ['a size that is too large', { mode: 0o100644, uid: 0, gid: 0, size: csv.length + 900, atime: 1, mtime: 1_000_000 }],
])('a server that names %s is not believed', async (_, attrs) => {
  const { code, facts } = await read({ ways: ['password'], content: csv, attrs })
  expect([code, facts]).toEqual(['SOURCE_CHANGED', undefined])
})

/** SFTP servers that differ from OpenSSH: other logins, short answers, missing or wrong attributes. */
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { readLimits } from '../../../src/formats/limits.ts'
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
] as const)('a server that accepts the password %s is read', async (_, lies, logins) => {
  const outcome = await read(lies)
  expect([outcome.code, outcome.logins]).toEqual(['read', logins])
})

test.each([
  ['as a password', { ways: ['password', asked], questions: [question] }, ['none', 'password']],
  ['as the answer to a question', { ways: [asked], questions: [question] }, ['none', asked]],
  ['as an answer, then as a password', { ways: [asked], laterWays: ['password'], questions: [question] }, ['none', asked]],
  ['by key only', { ways: ['publickey'] }, ['none']],
  ['with a second factor', { ways: [asked], questions: [question, { prompt: 'Code: ', echo: false }] }, ['none', asked]],
  ['in plain sight', { ways: [asked], questions: [{ prompt: 'Name: ', echo: true }] }, ['none', asked]],
] as const)('a wrong password, or one for another method (%s), is tried once and not shown', async (_, lies, logins) => {
  const outcome = await read(lies, 'canary')
  expect([outcome.code, outcome.logins]).toEqual(['SOURCE_DENIED', logins])
  expect(inspect(outcome.error, { depth: 9, showHidden: true })).not.toContain('canary')
})

test('a file in small parts is read whole', async () => {
  const { rows, facts, error } = await read({ ways: ['password'], content: csv, most: 20_000 })
  expect([error, rows.length, facts?.bytes, facts?.completeness.complete]).toEqual([undefined, 30_000, csv.length, true])
})

test.each([
  ['a size that is too small', { mode: 0o100644, uid: 0, gid: 0, size: csv.length - 900, atime: 1, mtime: 1_000_000 }],
  ['a size that is too large', { mode: 0o100644, uid: 0, gid: 0, size: csv.length + 900, atime: 1, mtime: 1_000_000 }],
])('the read of a file whose server reports %s fails', async (_, attrs) => {
  const { code, facts } = await read({ ways: ['password'], content: csv, attrs })
  expect([code, facts]).toEqual(['SOURCE_CHANGED', undefined])
})

test.each([
  ['a web server', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'the server uses HTTP, not SFTP', 1],
  ['a TLS server', '\x15\x03\x01\0\x02\x02F', 'the server uses TLS, not SFTP', 1],
  ['noise', '\0'.repeat(100_000), 'the SSH connection failed (Header line too long)', 1],
  ['an SSH of long ago', 'SSH-1.5-old\r\n', 'the SSH connection failed (Invalid identification string)', 1],
  ['SSH and then noise', `SSH-2.0-x\r\n${'x'.repeat(5_000)}`, 'the SSH connection failed (Bad packet length)', 1],
  ['FTP', undefined, 'the server uses FTP or SMTP, not SFTP', 1],
  ['an overloaded SSH', 'Exceeded MaxStartups\r\n', 'the SSH connection failed (Connection lost before handshake)', 4],
] as const)('the error says that %s answers instead of SFTP, and only overload is tried again', async (_, words, message, connections) => {
  let opened = 0
  const server = createServer((socket) => {
    opened++
    // Read, so that the end of the connection is noticed.
    socket.on('error', () => undefined).resume()
    if (words === undefined) socket.write('220 FTP ready\r\n')
    else socket.end(words, 'latin1')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const uri = `sftp://shop@127.0.0.1:${(server.address() as AddressInfo).port}/crm.csv`
  const definition = sourceOf(uri, { credentials: { password: 'PASSWORD' }, hostKey: 'SHA256:x' })
  const { error } = await readSource(definition, { env: { PASSWORD: 'canary' }, limits: { ...readLimits, idleMs: 50 } })
  expect([error?.code, error?.message, opened]).toEqual(['SOURCE_UNAVAILABLE', message, connections])
  await new Promise((resolve) => server.close(resolve))
})

/** Texts of errors for users. Each ends with a command. */
import { expect, test } from 'vitest'
import { RunError, UsageError } from '../../../src/errors.ts'
import { errorLines, presentError } from '../../../src/cli/terminal/present.ts'

const lines = (hint: string, command?: string) =>
  errorLines(presentError(new RunError('PORT_IN_USE', 'in use by another program', { where: 'port 4010', hint })), command)

test('a hint in words ends with the help command of the failed command', () => {
  expect(lines('choose another port with --port', 'sandbox')).toBe(
    'where  port 4010\nerror  PORT_IN_USE  in use by another program\nhint   choose another port with --port   (sluice help sandbox)\n',
  )
})

test('an address or port that cannot be used is named', () => {
  const facts = { address: '10.9.9.9', port: 8080 }
  expect(presentError(Object.assign(new Error('listen'), { code: 'EADDRNOTAVAIL', ...facts })).message).toBe(
    'this machine has no such address: 10.9.9.9',
  )
  expect(presentError(Object.assign(new Error('listen'), { code: 'EADDRINUSE', ...facts })).message).toBe(
    'in use by another program: port 8080',
  )
})

test('a hint that is a command is printed unchanged, for pasting', () => {
  expect(lines('sluice doctor', 'auth login')).toMatch(/\nhint {3}sluice doctor\n$/)
  expect(lines('choose another port')).toMatch(/\nhint {3}choose another port\n$/)
})

test('an internal error requests a report and names no help command', () => {
  expect(errorLines(presentError(new TypeError('x is not a function')), 'run')).toMatch(/INTERNAL[^]*report what it prints\n$/)
})

test('an email or phone number in the place of a name is masked', () => {
  for (const name of ['jane.canary@example.com', '+12025550123']) {
    const error = new UsageError('UNKNOWN_PIPELINE', `no pipeline "${name}" in pipelines/. Nothing was read or sent.`, {
      where: name,
      hint: 'sluice check',
    })
    expect(JSON.stringify(presentError(error))).not.toMatch(/canary|2025550/)
  }
  expect(
    presentError(new UsageError('UNKNOWN_PIPELINE', 'no pipeline "shpo" in pipelines/.', { where: 'pipelines/', hint: 'sluice run shop' })),
  ).toMatchObject({
    message: 'no pipeline "shpo" in pipelines/.',
    where: 'pipelines/',
  })
})

test('names a missing optional package, with the command that installs it', () => {
  const error = Object.assign(new Error("Cannot find package '@aws-sdk/client-s3' imported from s3.js"), { code: 'ERR_MODULE_NOT_FOUND' })
  expect(presentError(error)).toMatchObject({ code: 'PACKAGE_MISSING', hint: 'npm install @aws-sdk/client-s3' })
})

test('a connection that fails later names the address that the pool tried', () => {
  const refused = (facts: object) => presentError(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', ...facts }))
  expect(refused({ address: '192.0.2.7', port: 6543 })).toMatchObject({
    code: 'DATABASE_UNREACHABLE',
    message: 'no database server listens on 192.0.2.7:6543',
    where: '192.0.2.7:6543',
    hint: 'if DATABASE_URL is set, start its server; if not, run the same command again, which starts the embedded Postgres',
  })
  expect(refused({ address: '::1', port: 6543 }).message).toBe('no database server listens on [::1]:6543')
  expect(refused({}).message).toBe('no database server listens on DATABASE_URL')
})

test('a standby that accepts no statement of a command is named, with the primary as the hint', () => {
  const error = Object.assign(new Error('cannot execute LISTEN during recovery'), { code: '25006' })
  expect(presentError(error)).toMatchObject({
    code: 'DATABASE_FAILED',
    message: expect.stringContaining('read-only') as unknown,
    where: 'database',
    hint: 'point DATABASE_URL at the primary, then the same command again',
  })
})

test.for([
  ['EPERM', 'NO_PERMISSION', 'no permission: a/b'],
  ['ENOTDIR', 'FILE_MISSING', 'a folder of the path is a file: a/b'],
  ['ELOOP', 'FILE_MISSING', 'the symbolic links of the path form a loop: a/b'],
  ['ENAMETOOLONG', 'FILE_MISSING', 'the name is too long: a/b'],
  ['EEXIST', 'FILE_EXISTS', 'a file of this name exists already: a/b'],
])('a path that cannot be used (%s) is no internal error', ([code, shown, message]) => {
  expect(presentError(Object.assign(new Error(code), { code, path: 'a/b' }))).toMatchObject({ code: shown, message })
})

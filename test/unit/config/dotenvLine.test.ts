/** Lines of a `.env` have the value that they were written with. */
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'dotenv'
import { expect, test } from 'vitest'
import { storeUserToken } from '../../../src/cli/commands/auth/tokens.ts'
import { dotenvLine } from '../../../src/config/dotenvLine.ts'

test.for(['abc-123', 'a#b', 'a #b', '#', ' a ', "'a'", '"a"', '`a`', "it's #1", '"#\'', 'a=b', 'a$b', 'a\\nb#', 'http://127.0.0.1:4010'])(
  'the value %j is read as it was written',
  (value) => {
    expect(parse(`A=1\n${dotenvLine('NAME', value)}\nB=2\n`)).toEqual({ A: '1', NAME: value, B: '2' })
  },
)

test('a value that needs no quotes has none', () => {
  expect(dotenvLine('SLUICE_BASE_URL', 'http://127.0.0.1:4010')).toBe('SLUICE_BASE_URL=http://127.0.0.1:4010')
})

test('the tokens of a sign-in are read as they were stored', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'sluice-dotenv-')), '.env')
  storeUserToken([file], { token: '1001-a#b', secret: 'c #d' })
  expect(parse(readFileSync(file, 'utf8'))).toEqual({ SLUICE_ACCESS_TOKEN: '1001-a#b', SLUICE_ACCESS_TOKEN_SECRET: 'c #d' })
})

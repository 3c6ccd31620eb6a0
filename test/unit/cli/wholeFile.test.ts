import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openWholeFile } from '../../../src/cli/wholeFile.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-whole-file-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('an error of the final rename names the path of the user, and the temporary file is removed', () => {
  const path = join(folder, 'out.csv')
  const file = openWholeFile(path)
  file.write('a\n')
  mkdirSync(join(path, 'inside'), { recursive: true })
  expect(() => file.finish()).toThrow(expect.objectContaining({ path }))
  expect(readdirSync(folder)).toEqual(['out.csv'])
})

test('a private file that replaces a readable one has mode 0600', () => {
  const path = join(folder, 'tokens')
  writeFileSync(path, 'old\n', { mode: 0o644 })
  const file = openWholeFile(path, { private: true })
  file.finish()
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('a file that a killed process left behind does not change the mode of a new private file', () => {
  const path = join(folder, 'people.csv')
  const left = join(folder, `.people.csv.${process.pid}.part`)
  writeFileSync(left, 'old and longer\n', { mode: 0o644 })
  const file = openWholeFile(path, { private: true })
  file.write('new\n')
  expect(statSync(left).mode & 0o777).toBe(0o600)
  file.finish()
  expect([statSync(path).mode & 0o777, readFileSync(path, 'utf8')]).toEqual([0o600, 'new\n'])
})

test.skipIf(process.getuid?.() !== 0)(
  'a file of another user in a shared folder gets the new content, and keeps owner and mode (needs root)',
  () => {
    const shared = join(folder, 'shared')
    const path = join(shared, 'rejects.csv')
    mkdirSync(shared)
    chmodSync(folder, 0o711)
    chmodSync(shared, 0o777)
    writeFileSync(path, 'old and longer\n')
    chmodSync(path, 0o666)
    chownSync(path, 65_533, 0)
    process.seteuid?.(65_534)
    try {
      const file = openWholeFile(path)
      file.write('new\n')
      file.finish()
      // Another user could read a token.
      const token = openWholeFile(path, { private: true })
      expect(() => token.finish()).toThrow(expect.objectContaining({ code: 'EPERM', path }))
    } finally {
      process.seteuid?.(0)
    }
    const { uid, mode } = statSync(path)
    expect([uid, mode & 0o777, readFileSync(path, 'utf8'), readdirSync(shared)]).toEqual([65_533, 0o666, 'new\n', ['rejects.csv']])
  },
)

/** The journal of a sandbox on a disk that becomes full. */
import type * as Fs from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { Journal, type JournalEntry } from '../../../src/sandbox/state/journal.ts'
import { temporaryFolder } from '../../integration/sources/support.ts'

const disk = vi.hoisted(() => ({ freeBytes: Infinity }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof Fs>()
  const writeSync = (file: number, bytes: Buffer, done: number) => {
    const length = Math.min(disk.freeBytes, bytes.length - done)
    if (length === 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    disk.freeBytes -= length
    return fs.writeSync(file, bytes, done, length)
  }
  return { ...fs, writeSync }
})

const clockAt = (offsetMs: number): JournalEntry => ({ kind: 'clock', offsetMs })

test('a change that the full disk refused leaves no part of a line', async () => {
  await using folder = await temporaryFolder()
  const open = async () => {
    const journal = new Journal(join(folder.path, 'state'), () => [])
    const entries: JournalEntry[] = []
    await journal.open(
      () => undefined,
      async (entry) => void entries.push(entry),
    )
    return { journal, entries }
  }
  const { journal } = await open()
  journal.write(clockAt(1))
  disk.freeBytes = 5
  expect(() => journal.write(clockAt(2))).toThrow('no space left')
  disk.freeBytes = Infinity
  journal.write(clockAt(3))
  journal.close()
  const again = await open()
  again.journal.close()
  expect(again.entries).toEqual([clockAt(1), clockAt(3)])
})

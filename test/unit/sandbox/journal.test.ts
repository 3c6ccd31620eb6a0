/** The journal of a sandbox on a disk that becomes full, or whose file cannot be opened again. */
import type * as Fs from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import type { Journal, JournalEntry } from '../../../src/sandbox/state/journal.ts'
import { temporaryFolder, type Folder } from '../../integration/sources/support.ts'

const disk = vi.hoisted(() => ({ freeBytes: Infinity, lockedFile: '' }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof Fs>()
  const writeSync = (file: number, bytes: Buffer, done: number) => {
    const length = Math.min(disk.freeBytes, bytes.length - done)
    if (length === 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    disk.freeBytes -= length
    return fs.writeSync(file, bytes, done, length)
  }
  const openSync = (path: string, flags: string, mode: number) => {
    if (path === disk.lockedFile) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })
    return fs.openSync(path, flags, mode)
  }
  return { ...fs, writeSync, openSync }
})

// Another file of this process may have loaded the module with the original `node:fs`.
vi.resetModules()
const journalModule = await import('../../../src/sandbox/state/journal.ts')

const clockAt = (offsetMs: number): JournalEntry => ({ kind: 'clock', offsetMs })

async function openJournal(folder: Folder, compactAfterBytes?: number): Promise<{ journal: Journal; entries: JournalEntry[] }> {
  const journal = new journalModule.Journal(
    join(folder.path, 'state'),
    () => [{ name: 'part', bytes: Buffer.alloc(1_000) }],
    compactAfterBytes,
  )
  const entries: JournalEntry[] = []
  await journal.open(
    () => undefined,
    async (entry) => void entries.push(entry),
  )
  return { journal, entries }
}

test('a change that the full disk refused leaves no part of a line', async () => {
  await using folder = await temporaryFolder()
  const { journal } = await openJournal(folder)
  journal.write(clockAt(1))
  disk.freeBytes = 5
  expect(() => journal.write(clockAt(2))).toThrow('no space left')
  disk.freeBytes = Infinity
  journal.write(clockAt(3))
  journal.close()
  const again = await openJournal(folder)
  again.journal.close()
  expect(again.entries).toEqual([clockAt(1), clockAt(3)])
})

test('a compaction that the full disk refused keeps the lines, and is repeated once they have doubled', async () => {
  await using folder = await temporaryFolder()
  const { journal } = await openJournal(folder, 100)
  /** Writes changes of 30 bytes. Returns the size of the file after a compaction, if one is due. */
  const sizeAfter = async (changes: number) => {
    for (let at = 0; at < changes; at++) journal.write(clockAt(1))
    await setImmediate()
    return (await stat(join(folder.path, 'state'))).size
  }
  for (let at = 0; at < 4; at++) journal.write(clockAt(1))
  disk.freeBytes = 500
  await setImmediate()
  disk.freeBytes = Infinity
  expect(await readdir(folder.path)).not.toContain('state.new')
  expect(await sizeAfter(4)).toBe(31 + 8 * 30)
  expect(await sizeAfter(1)).toBeGreaterThan(1_000)
  journal.close()
})

test('a compaction does not need to open the file again, so changes after it are stored', async () => {
  await using folder = await temporaryFolder()
  const { journal } = await openJournal(folder)
  journal.write(clockAt(1))
  disk.lockedFile = join(folder.path, 'state')
  try {
    journal.compact()
    journal.write(clockAt(2))
  } finally {
    disk.lockedFile = ''
  }
  journal.close()
  const again = await openJournal(folder)
  again.journal.close()
  expect(again.entries).toEqual([clockAt(2)])
})

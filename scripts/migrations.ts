/**
 * Writes the migration of a changed schema with drizzle-kit: `npm run migrations [-- --name NAME]`. Then deletes the snapshots of earlier
 * migrations, because drizzle-kit compares the schema with the last one only. Git has the earlier ones.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const folder = join(import.meta.dirname, '../migrations/meta')
const missing = 'migrations/meta/ has no snapshot of the last migration: restore it from git'

/** Returns what is wrong with the stored snapshots; undefined if the last migration has one and no other has. */
export function snapshotsFault(): string | undefined {
  const { kept, other } = snapshots()
  if (kept === undefined) return missing
  return other.length === 0 ? undefined : `migrations/meta/ has snapshots of earlier migrations: ${other.join(', ')}`
}

/** Returns the names of the snapshot of the last migration, and of all others. */
function snapshots(): { readonly kept: string | undefined; readonly other: readonly string[] } {
  const journal = JSON.parse(readFileSync(join(folder, '_journal.json'), 'utf8')) as {
    readonly entries: readonly { readonly tag: string }[]
  }
  const last = `${journal.entries.at(-1)?.tag.split('_')[0]}_snapshot.json`
  const names = readdirSync(folder).filter((name) => name.endsWith('_snapshot.json'))
  return { kept: names.find((name) => name === last), other: names.filter((name) => name !== last) }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  // Without the snapshot, drizzle-kit would create every table again.
  if (snapshots().kept === undefined) throw new Error(missing)
  const { status } = spawnSync('drizzle-kit', ['generate', ...process.argv.slice(2)], { stdio: 'inherit' })
  const { kept, other } = snapshots()
  if (kept !== undefined) for (const name of other) rmSync(join(folder, name))
  process.exitCode = status ?? 1
}

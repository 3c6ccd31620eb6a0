/** Lints captured statements for schema-based sharding (docs/scale.md). */
import { readFileSync, readdirSync } from 'node:fs'
import { lintStatements, type Finding, type UniqueKeys } from './lint.ts'
import { readCaptured } from './read.ts'

/** Result of linting the statements of a folder. */
export interface StatementsReport {
  readonly statements: number
  /** Number of statements that join staging tables of their session. docs/scale.md has the reason why they are accepted. */
  readonly staging: number
  /** One line per finding. */
  readonly findings: readonly string[]
}

/** Temporary tables that a session creates for its own run or audit. A temporary table of any other name is a finding. */
const stagingTables = new Set([
  'audited',
  'audit_unresolved',
  'audit_began',
  'change',
  'contradiction',
  'delta',
  'exempt',
  'former',
  'pending_group',
  'shared_identifier_group',
  'allowed_delete',
  'staged_digest',
  'unseen_key',
  'omitted',
  'sharing_record',
  'opted_out',
  'own_times',
  'pending_product',
  'removal',
  'repeated',
  'repeated_row',
  'resync',
  'changed_times',
  'shared_identifier',
  'repeated_in_delta',
  'affected_row',
  'stage',
  'unresolved',
])

/** Lints the statements that processes recorded in `folder`. */
export async function statementsReport(folder: string): Promise<StatementsReport> {
  const captured = readCaptured(folder)
  const all = await lintStatements(captured, uniqueKeys())
  const accepted = all.filter((finding) => isStaging(finding))
  return {
    statements: captured.length,
    staging: accepted.length,
    findings: all
      .filter((finding) => !accepted.includes(finding))
      .map(({ sender, rule, detail, text }) => `${sender}  ${rule}: ${detail}\n    ${text.replaceAll(/\s+/g, ' ').trim().slice(0, 160)}`),
  }
}

function isStaging({ rule, temporary }: Finding): boolean {
  return rule === 'temporary' && temporary.every((name) => stagingTables.has(name) || partitionOfStage.test(name))
}

/** Partitions of the table `stage` (src/sync/read/stageTable.ts). */
const partitionOfStage = /^stage_\d+$/

interface SnapshotTable {
  readonly name: string
  readonly columns: Readonly<Record<string, { readonly name: string; readonly primaryKey: boolean }>>
  readonly indexes: Readonly<Record<string, { readonly isUnique: boolean; readonly columns: readonly { readonly expression: string }[] }>>
  readonly compositePrimaryKeys: Readonly<Record<string, { readonly columns: readonly string[] }>>
  readonly uniqueConstraints: Readonly<Record<string, { readonly columns: readonly string[] }>>
}

/** Reads the unique keys of all tables from the snapshot of the schema. */
export function uniqueKeys(): UniqueKeys {
  const folder = new URL('../../migrations/meta/', import.meta.url)
  const newest = readdirSync(folder)
    .filter((name) => name.endsWith('_snapshot.json'))
    .toSorted()
    .at(-1)
  const snapshot = JSON.parse(readFileSync(new URL(newest ?? '', folder), 'utf8')) as {
    readonly tables: Readonly<Record<string, SnapshotTable>>
  }
  return new Map(
    Object.values(snapshot.tables).map((table) => [
      table.name,
      [
        ...Object.values(table.columns).flatMap(({ name, primaryKey }) => (primaryKey ? [[name]] : [])),
        ...Object.values(table.compositePrimaryKeys).map(({ columns }) => columns),
        ...Object.values(table.uniqueConstraints).map(({ columns }) => columns),
        ...Object.values(table.indexes).flatMap(({ isUnique, columns }) => (isUnique ? [columns.map(({ expression }) => expression)] : [])),
      ],
    ]),
  )
}

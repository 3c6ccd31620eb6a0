/** Commands for the database. */
import type { CommandEntry } from './entry.ts'

export const dbCommands: readonly CommandEntry[] = [
  {
    name: 'db',
    summary: 'migrations; the embedded server',
    examples: ['sluice db status', 'psql "$(sluice db url)"'],
    commands: [
      {
        name: 'migrate',
        summary: 'bring the schema up to date',
        examples: ['sluice db migrate', 'sluice db migrate --sql > sluice.sql'],
        options: [{ flags: '--sql', meaning: 'print the SQL for a DBA, with grants; change nothing' }],
      },
      {
        name: 'status',
        summary: 'server, version, migrations',
        examples: ['sluice db status'],
      },
      {
        name: 'url',
        summary: 'address for psql; starts the embedded server and keeps it running',
        examples: ['sluice db url'],
      },
      {
        name: 'adopt',
        summary: 'send from this database, which was restored or copied',
        examples: ['sluice db adopt'],
        notes: ['Only if nothing sends from the other database any more. After a restore: docs/operations.md#backup-and-restore'],
      },
      { name: 'stop', summary: 'stop the embedded server', examples: ['sluice db stop'] },
    ],
  },
]

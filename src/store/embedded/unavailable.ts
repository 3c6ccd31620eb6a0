import { RunError } from '../../errors.ts'

/** The embedded server cannot be had here. Its mend is a server of one's own. */
export function unavailable(why: string): RunError {
  return new RunError('POSTGRES_UNAVAILABLE', why, {
    where: 'embedded Postgres',
    mend: 'set DATABASE_URL to a Postgres 15 or newer: DATABASE_URL=postgresql://user@host/database',
  })
}

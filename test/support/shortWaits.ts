import type { Database } from '../../src/db/database.ts'

/**
 * Makes each wait for a request that may arrive late a hundredth as long (docs/decisions/late-arrival-horizon.md). Applies to commands
 * too, where the wait is 10 seconds. For tests without late requests.
 */
export async function shortenWaits(db: Pick<Database, 'execute'>): Promise<void> {
  await db.execute(`create function sluice.sooner(at timestamptz) returns timestamptz language sql as
    $$ select case when at > statement_timestamp() then statement_timestamp() + (at - statement_timestamp()) / 100 else at end $$`)
  for (const [table, columns] of [
    ['batch', ['next_attempt_at', 'settled_at']],
    ['remote', ['late_until']],
  ] as const) {
    const sooner = columns.map((name) => `new.${name} := sluice.sooner(new.${name});`).join(' ')
    await db.execute(`create function sluice.sooner_${table}() returns trigger language plpgsql as $$ begin ${sooner} return new; end $$`)
    await db.execute(
      `create trigger sooner before insert or update of ${columns.join(', ')} on sluice.${table} for each row execute function sluice.sooner_${table}()`,
    )
  }
}

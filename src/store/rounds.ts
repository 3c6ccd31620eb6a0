/**
 * Rounds: how the plan finds what is not as wanted without an index that every answer would have to write. Whoever changes
 * what is wanted of a key notes the destination's current round with it; once everything of a round is as wanted, the
 * destination says so once, however many keys there are.
 */
import type { Database } from './database.ts'

/** Above every round of any destination: the key may be other than wanted, whatever was settled. */
export const openRound = 2_147_483_647

/** In this round plans write what they want. SQL with the destination as `$1`. */
export const currentRound = '(select settled_round + 1 from sluice.destination where id = $1)'

/** A key `m` that is not as wanted. */
export const unlikeWanted = '((m.held > 0 and m.desired_hash is distinct from m.synced_hash) or (m.held = 0 and m.synced_hash is not null))'

/** With more than this share of a round still open it is left as it is: the next plan looks at all of it again. */
const openShare = 0.1

/**
 * Ends the round when most of it is as wanted; what is not (refused, withheld) is marked open key by key. Safe to repeat, and
 * at any time: it changes nothing that is sent. Looks once at every key of the round: 0.3 s a million.
 *
 * The destination's row keeps plans out meanwhile. An answer settled just now may make a key other than wanted, if
 * something newer is wanted of it: such an answer marks it open itself.
 */
export async function endRound(db: Database, destinationId: number): Promise<void> {
  await db.transaction(async (tx) => {
    const [row] = await tx.query<{ settled_round: number }>('select settled_round from sluice.destination where id = $1 for update', [
      destinationId,
    ])
    const settled = row?.settled_round ?? 0
    const [found] = await tx.query<{ keys: number; open: number; marked: number }>(
      `select count(*)::int as keys, count(*) filter (where ${unlikeWanted})::int as open, count(*) filter (where round = ${openRound})::int as marked
       from sluice.remote m where destination_id = $1 and round > ${settled}`,
      [destinationId],
    )
    if (found === undefined || found.keys === 0 || found.open > 1_000 + found.keys * openShare) return
    if (found.keys > found.marked) {
      await tx.execute(
        `update sluice.remote m set round = ${openRound} where destination_id = $1 and round = ${settled + 1} and ${unlikeWanted}`,
        [destinationId],
      )
      await tx.execute('update sluice.destination set settled_round = settled_round + 1 where id = $1', [destinationId])
    }
    await tx.execute(
      `update sluice.remote m set round = ${settled} where destination_id = $1 and round = ${openRound} and not ${unlikeWanted}`,
      [destinationId],
    )
  })
}

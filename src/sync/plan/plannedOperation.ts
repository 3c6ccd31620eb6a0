import type pg from 'pg'
import { eachPortion } from '../../db/cursor.ts'
import type { Transaction } from '../../db/database.ts'
import type { FrozenEntry } from '../../db/entries/write.ts'
import type { Operation } from '../../destinations/destination.ts'
import type { DesiredContext } from './sharedDesiredSteps.ts'

/** Operation of a plan, before it is frozen (stored in the final body of a request). */
export interface PlannedOperation extends FrozenEntry {
  readonly bytes: Buffer
  readonly op: Operation
  /**
   * Operations of phase 2 wait until every delete of the plan is settled. So the old identifiers of a user, or the old spelling of a
   * product id, are deleted before the update.
   */
  readonly phase: 1 | 2
}

export type OperationContext = Pick<DesiredContext, 'tx' | 'destinationId'>

const rowsPerPortion = 5_000

/** Yields the rows of a query in portions, through a cursor. Portions, because a promise for each row would double the time. */
export function queryPortions<Row extends pg.QueryResultRow>(tx: Transaction, query: string): AsyncGenerator<Row[]> {
  return eachPortion(tx.client, 'operation_cursor', query, rowsPerPortion)
}

/**
 * Explains one record: its source line, rejects, batches, answers, state and expiry, in order of time. An email or phone number is hashed
 * before the search, and never stored.
 */
import { implyingBatch, plainTimes, recordMayImply } from '../../db/impliedKeys.ts'
import { ensureDestination } from '../../db/destinations.ts'
import { rowIdentifiers } from '../../db/identifiers.ts'
import type { Destination } from '../../destinations/destination.ts'
import { destinationOf } from '../../destinations/index.ts'
import { describeIdentifier } from '../../mapping/redactPersonalData.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { destinationKey } from '../destinationKey.ts'
import { findMember, findProduct, type ExplainDeps, type FoundRecords, type RecordSearch } from './explainedRecords.ts'
import { loadReadEvents, loadRejectEvents, loadSuppressionEvents, loadWithheldEvents } from './readEvents.ts'
import { digestsOf, identifierDigests, livenessOf, type RecordHistory } from './recordHistory.ts'
import { loadAttemptEvents, loadEntryEvents, loadStateEvents, type ExplainedKeys } from './sendingEvents.ts'

/**
 * Returns the history of the records that `text` names: a product id, a row key, or an identifier as it was typed. Without events if the
 * text is unknown. Creates the row of the destination if it does not exist.
 */
export async function explainKey(deps: ExplainDeps, pipeline: Pipeline, text: string): Promise<RecordHistory> {
  const { id } = await ensureDestination(deps.db, destinationKey(deps, pipeline))
  const type = destinationOf(pipeline.destination.kind)
  const explained = explainedTypes[type.keys]
  const { keys, extraEvents, names, identifiers } = await explained.find(deps, { destinationId: id, text, pipeline })
  const filterNote = filterNoteOf(pipeline)
  const events = [
    ...(type.appliesSuppression(pipeline.destination) ? await loadSuppressionEvents(deps.db, id, identifiers) : []),
    ...extraEvents,
    ...(await loadReadEvents(deps.db, id, keys, filterNote)),
    ...(await loadRejectEvents(deps.db, id, keys)),
    ...(await loadEntryEvents(deps.db, id, keys, { ...explained, filterNote })),
    ...(await loadAttemptEvents(deps.db, id, keys)),
    ...(await loadStateEvents(deps.db, id, keys, explained)),
    ...(await loadWithheldEvents(deps.db, id, keys)),
  ].toSorted((a, b) => a.at.localeCompare(b.at))
  const unknown = unknownKey(pipeline, filterNote)
  return {
    ...livenessOf(events, { ...explained, unknown: unknown.reason }),
    ...(events.length > 0 || unknown.hint === undefined ? {} : { hint: unknown.hint }),
    keys: names,
    identifiers: identifierDigests(identifiers),
    events,
  }
}

/**
 * Returns a text to append to messages on missing rows, such as `, or left out by only:`; empty for a pipeline without filters. Filtered
 * rows are not stored, so a missing row may be a filtered one.
 */
function filterNoteOf({ filters }: Pipeline): string {
  const names = [...new Set(filters.map(({ keep }) => (keep ? 'only:' : 'except:')))]
  return names.length === 0 ? '' : `, or left out by ${names.join(' or ')}`
}

/**
 * Returns the possible reasons why a key is unknown, and for people the commands that show which one applies. Rows that must not be sent are
 * not stored, so the reason is not known.
 */
function unknownKey(
  { name, destination, suppressedBy = [] }: Pipeline,
  filterNote: string,
): { readonly reason: string; readonly hint?: string } {
  const type = destinationOf(destination.kind)
  if (!type.reachesPeople) return { reason: 'unknown key. No row that may be sent has it, and nothing was sent for it' }
  const listed = type.appliesSuppression(destination) ? ' or is on a do-not-reach list' : ''
  const lists = listed === '' ? [] : suppressedBy.map((list) => `sluice explain ${list.name} EMAIL`)
  return {
    reason: `unknown key, and nothing was sent for it. No row has it, or its row opts out${listed}${filterNote}`,
    hint: [`look for the row in the source, and compare its consent: sluice check ${name}`, ...lists].join('; '),
  }
}

/** Search for the records of a text, and parts of their events. */
interface ExplainedType extends ExplainedKeys {
  readonly find: (deps: ExplainDeps, searched: RecordSearch) => Promise<FoundRecords>
}

/**
 * SQL of the state of the members' identifiers. An identifier without a row in `remote` (implied) has the state of its batch
 * (docs/decisions/implied-keys.md).
 */
const memberKeyStates = `
  select key, ref_count, desired_hash, synced_hash, synced_at, expires_at, remote_key, refused_code, refused_message, batch_id
  from remote where destination_id = $1 and group_key = any($2)
  union all
  select i.identifier, 1, ${plainTimes}, case when b.settled then ${plainTimes} end, null, case when b.settled then b.expires_at end,
    null, null, null, case when b.settled then b.id end
  from record r cross join ${implyingBatch('r')} b cross join lateral unnest(${rowIdentifiers('r')}) as i (identifier)
  where r.destination_id = $1 and r.key = any($2) and ${recordMayImply('r')}`

const explainedTypes: Readonly<Record<Destination['keys'], ExplainedType>> = {
  products: {
    find: findProduct,
    deletesRecord: true,
    states: 'select * from remote where destination_id = $1 and key = any($2)',
    nameOf: ({ remote_key }) => (remote_key === null ? 'the product' : `product_key ${remote_key}`),
    digestsOf: () => ({}),
  },
  identifiers: {
    find: findMember,
    deletesRecord: false,
    states: memberKeyStates,
    nameOf: ({ key }) => describeIdentifier(key),
    digestsOf,
  },
}

/** Statistics that all sources of a read share, and the form in which they are stored. */
import { FrequentValues, type StoredFrequent } from './frequentValues.ts'
import { FeatureSets, exactCodes, type StoredFeatureSets } from './featureSets.ts'

/** Maximum number of products of an item group without the note `GROUP_LARGE`. */
export const maxGroupRows = 100
/** Maximum number of rows with one identifier without the note `IDENTIFIER_REPEATED`. */
export const maxIdentifierRows = 50

/** Statistics over all sources of a read. */
export interface ReadStatistics {
  readonly featureSets: FeatureSets
  readonly groups: FrequentValues
  readonly identifiers: FrequentValues
}

/** Statistics of the rows that the next read may skip, stored as JSON. */
export interface StoredStatistics extends StoredFeatureSets {
  readonly groups: StoredFrequent
  readonly identifiers: StoredFrequent
  /** True if the next read must be a full read. The name stays, because workers of earlier versions read this field. */
  readonly due: boolean
}

/**
 * Creates the statistics of a read. `stored`: statistics of the last read. `gated`: true if the read skips unchanged rows
 * (docs/architecture.md#three-gates-work-that-is-skipped-safely). The feature sets and counts of skipped rows come from `stored`. A full
 * read only takes from `stored` which values to count exactly.
 */
export function createReadStatistics(
  stored?: StoredStatistics,
  { gated = false, sourceCount = 1 }: { readonly gated?: boolean; readonly sourceCount?: number } = {},
): ReadStatistics {
  const featureSets = new FeatureSets(gated ? stored : undefined)
  const shared = { gated, sourceCount }
  return {
    featureSets,
    groups: new FrequentValues(featureSets, { code: exactCodes.group, limit: maxGroupRows, stored: stored?.groups, ...shared }),
    identifiers: new FrequentValues(featureSets, {
      code: exactCodes.identifier,
      limit: maxIdentifierRows,
      stored: stored?.identifiers,
      ...shared,
    }),
  }
}

export function storedStatistics({ featureSets, groups, identifiers }: ReadStatistics): StoredStatistics {
  return {
    ...featureSets.stored(),
    groups: groups.stored(),
    identifiers: identifiers.stored(),
    due: groups.needsFullRead || identifiers.needsFullRead,
  }
}

import { FrequentValues, type StoredFrequent } from './frequentValues.ts'
import { FeatureSets, tracked, type StoredFeatureSets } from './rowStatistics.ts'

/** Maximum number of products in an item group without a note. */
export const groupRows = 100
/** Maximum number of rows with one identifier without a note. */
export const repeatedRows = 50

/** Statistics over all sources of a read. */
export interface QualityStatistics {
  readonly featureSets: FeatureSets
  readonly groups: FrequentValues
  readonly identifiers: FrequentValues
}

/** Statistics on the rows that the next read may skip; stored as JSON. */
export interface StoredQuality extends StoredFeatureSets {
  readonly groups: StoredFrequent
  readonly identifiers: StoredFrequent
  /** True if the next read must look at every row. */
  readonly due: boolean
}

/**
 * Creates the statistics of a read. In a gated read, `stored` has the feature sets and counts of the rows that are skipped. In a full
 * read, only the frequent values of `stored` are used.
 */
export function openStatistics(stored?: StoredQuality, gated = false): QualityStatistics {
  const featureSets = new FeatureSets(gated ? stored : undefined)
  return {
    featureSets,
    groups: new FrequentValues(featureSets, { code: tracked.group, limit: groupRows, before: stored?.groups, gated }),
    identifiers: new FrequentValues(featureSets, { code: tracked.identifier, limit: repeatedRows, before: stored?.identifiers, gated }),
  }
}

/** Returns the statistics in the form that the run stores. */
export function storeStatistics({ featureSets, groups, identifiers }: QualityStatistics): StoredQuality {
  return { ...featureSets.stored(), groups: groups.stored(), identifiers: identifiers.stored(), due: groups.due || identifiers.due }
}

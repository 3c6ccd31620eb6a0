import { FrequentValues, type StoredFrequent } from './frequentValues.ts'
import { FeatureSets, tracked, type StoredFeatureSets } from './rowStatistics.ts'

/** Limits of products in one item group and of rows with one identifier. Above them, a note is written. */
export const groupRows = 100
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
 * Opens the statistics of a read. If `gated`, the statistics of skipped rows come from `stored`. Otherwise only its list of
 * frequent values is used.
 */
export function openStatistics(stored?: StoredQuality, gated = false): QualityStatistics {
  const featureSets = new FeatureSets(gated ? stored : undefined)
  return {
    featureSets,
    groups: new FrequentValues(featureSets, { code: tracked.group, limit: groupRows, before: stored?.groups, gated }),
    identifiers: new FrequentValues(featureSets, { code: tracked.identifier, limit: repeatedRows, before: stored?.identifiers, gated }),
  }
}

export function storeStatistics({ featureSets, groups, identifiers }: QualityStatistics): StoredQuality {
  return { ...featureSets.stored(), groups: groups.stored(), identifiers: identifiers.stored(), due: groups.due || identifiers.due }
}
